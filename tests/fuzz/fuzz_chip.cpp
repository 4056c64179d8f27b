#include <string>

#include "hw/common/error.hpp"
#include "isa/chip.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace tessera::fuzz {

std::vector<Input> seeds() {
  std::vector<Input> out;
  for (const isa::BuiltinChip& chip : isa::builtin_chips()) {
    const std::string text = chip.json;
    out.emplace_back(text.begin(), text.end());
  }
  return out;
}

}  // namespace tessera::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tessera;
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    const isa::ChipConfig chip = isa::load_chip_text(text, "fuzz.json");
    const std::string resolved = isa::chip_json(chip);
    TESSERA_CHECK(isa::chip_json(isa::load_chip_text(resolved, "again.json")) == resolved, "no round trip");
  } catch (const UserError& e) {
    TESSERA_CHECK(std::string(e.what()).find("fuzz.json: ") == 0, "a message must name the file: ", e.what());
  }
  return 0;
}
