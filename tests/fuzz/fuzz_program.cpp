#include <string>

#include "hw/common/error.hpp"
#include "hw/common/hash.hpp"
#include "isa/asm/assembler.hpp"
#include "isa/program/container.hpp"
#include "isa/program/semaphores.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/isa/sample_program.hpp"

namespace tessera::fuzz {
namespace {

void put(Input& bytes, std::size_t at, std::uint64_t value) {
  for (std::size_t i = 0; i < 8; ++i) {
    bytes[at + i] = static_cast<std::uint8_t>(value >> (8 * i));
  }
}

void check(const Input& bytes) {
  try {
    isa::WeightsFile weights;
    const isa::Program program = isa::from_container(bytes, "fuzz.bin", weights);
    isa::WeightsFile again;
    const Input written = isa::to_container(program);
    TESSERA_CHECK(isa::to_container(isa::from_container(written, "again.bin", again)) == written, "no round trip");
    static_cast<void>(isa::check_semaphores(program));
    static_cast<void>(isa::disassemble(program));
  } catch (const UserError& e) {
    TESSERA_CHECK(std::string(e.what()).find("fuzz.bin: offset ") == 0, "a message must say where: ", e.what());
  }
}

}  // namespace

std::vector<Input> seeds() { return {isa::to_container(isa::sample_program()), isa::to_container(isa::Program{})}; }

}  // namespace tessera::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tessera;
  fuzz::Input bytes(data, data + size);
  fuzz::check(bytes);
  if (size >= isa::kContainerHeaderBytes) {  // the same with right size and checksums
    fuzz::put(bytes, 16, size);
    Fnv64 payload;
    payload.add(bytes.data() + isa::kContainerHeaderBytes, size - isa::kContainerHeaderBytes);
    fuzz::put(bytes, 80, payload.value());
    Fnv64 header;
    header.add(bytes.data(), 88);
    fuzz::put(bytes, 88, header.value());
    fuzz::check(bytes);
  }
  return 0;
}
