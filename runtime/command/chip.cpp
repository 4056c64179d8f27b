// `chip`: named chips, one resolved, validation, every key.
#include "isa/chip.hpp"

#include <cstdio>

#include "runtime/command/command.hpp"

namespace tessera::runtime {

void add_chip_command(CLI::App& app) {
  struct Options {
    std::string chip;
    std::vector<std::string> sets;
    bool json = false;
  };
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("chip", "Chip files: the machines that programs are compiled for");
  command->require_subcommand(1);
  command->footer("Example: tessera chip show a1000 --set dram.channels=2");

  command->add_subcommand("list", "The built-in chips")->callback([] {
    for (const isa::BuiltinChip& chip : isa::builtin_chips()) {
      std::printf("%-8s %s\n", std::string(chip.name).c_str(), isa::load_chip(std::string(chip.name)).source.c_str());
    }
  });

  CLI::App* show = command->add_subcommand("show", "The resolved file of a chip");
  show->add_option("chip", o->chip, "Name or JSON file")->required();
  show->add_option("--set", o->sets, "PATH=VALUE, e.g. gemm.rows=32 (repeatable)");
  show->callback([o] { std::printf("%s\n", isa::chip_json(isa::load_chip(o->chip, o->sets)).c_str()); });

  CLI::App* check = command->add_subcommand("check", "Validates a chip file");
  check->add_option("file", o->chip, "JSON file or name")->required();
  check->callback([o] {
    const isa::ChipConfig chip = isa::load_chip(o->chip);
    std::printf("%s: legal; arch %016llx, timing %016llx\n", chip.name.c_str(),
                static_cast<unsigned long long>(isa::arch_hash(chip)),
                static_cast<unsigned long long>(isa::timing_hash(chip)));
  });

  CLI::App* keys = command->add_subcommand("keys", "Every key with type, range, unit and tag");
  keys->add_flag("--json", o->json, "JSON on standard output");
  keys->callback([o] {
    if (o->json) {
      std::printf("%s\n", isa::chip_keys_json().c_str());
      return;
    }
    for (const isa::KeyInfo& key : isa::chip_keys()) {
      std::printf("%-34s %-8s %-7s %-14s %s\n", key.path.c_str(), isa::to_string(key.type), isa::to_string(key.tag),
                  key.unit.c_str(), key.doc.c_str());
    }
  });
}

}  // namespace tessera::runtime
