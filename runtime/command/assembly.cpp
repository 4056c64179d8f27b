// `asm` and `disasm`: a complete program as text and back.
#include <cstdio>

#include "isa/asm/assembler.hpp"
#include "runtime/command/command.hpp"

namespace tessera::runtime {

void add_asm_command(CLI::App& app) {
  struct Options {
    std::string file, chip, out;
    std::vector<std::string> sets;
  };
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("asm", "Assembles a program from text");
  command->footer("Example: tessera asm copy.s --chip tiny -o out");
  command->add_option("file", o->file, "Assembly text (isa/asm/README.md)")->required();
  command->add_option("--chip", o->chip, "Name or JSON file")->required();
  command->add_option("--set", o->sets, "Overrides one chip value (repeatable)");
  command->add_option("-o,--output", o->out, "Folder of the program")->required();
  command->callback([o] { isa::write_program(isa::assemble(o->file, isa::load_chip(o->chip, o->sets)), o->out); });
}

void add_disasm_command(CLI::App& app) {
  auto dir = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("disasm", "A compiled program as assembly text");
  command->footer("Example: tessera disasm out > out.s");
  command->add_option("dir", *dir, "Folder of a compiled program")->required();
  command->callback(
      [dir] { std::fputs(isa::disassemble(isa::read_program(*dir, isa::Weights::optional)).c_str(), stdout); });
}

}  // namespace tessera::runtime
