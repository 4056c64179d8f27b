#include <string>

#include "hw/common/error.hpp"
#include "isa/asm/assembler.hpp"
#include "isa/program/container.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/isa/sample_program.hpp"

namespace tessera::fuzz {

std::vector<Input> seeds() {
  const std::string text = isa::disassemble(isa::sample_program());
  const std::string small = ".section s\n.queue 0.edp\n  nop cycles=3 wait=1:1\n.queue 0.load\n  nop signal=1:1\n";
  return {Input(text.begin(), text.end()), Input(small.begin(), small.end())};
}

}  // namespace tessera::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tessera;
  static const isa::ChipConfig chip = isa::load_chip("tiny");
  try {
    const isa::Program program =
        isa::assemble_text(std::string(reinterpret_cast<const char*>(data), size), "fuzz.s", chip);
    if (program.weights.size() < (1U << 20)) {
      const isa::Program again = isa::assemble_text(isa::disassemble(program), "again.s", chip);
      TESSERA_CHECK(isa::to_container(again) == isa::to_container(program), "no round trip");
    }
  } catch (const UserError& e) {
    TESSERA_CHECK(std::string(e.what()).find("fuzz.s:") == 0, "a message must name the file: ", e.what());
  }
  return 0;
}
