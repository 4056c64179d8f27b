#include "compiler/host/host_step.hpp"
#include "hw/common/error.hpp"
#include "isa/chip.hpp"

namespace tessera::compiler::host {
namespace {

__extension__ using Wide = __int128;

Cycles ceil_ratio(Wide numerator, Wide denominator) {
  return static_cast<Cycles>((numerator + denominator - 1) / denominator);
}

}  // namespace

Cycles host_step_cycles(const isa::ChipConfig& chip, std::int64_t elements, Bytes bytes) {
  TESSERA_CHECK(elements >= 0 && bytes >= 0, elements, " elements, ", bytes, " bytes");
  const Wide core_hz = chip.clock_hz;
  const Cycles start = ceil_ratio(core_hz * chip.host.start_ns, 1'000'000'000);
  const Cycles compute =
      ceil_ratio(core_hz * elements * chip.host.milli_cycles_per_element, Wide{1000} * chip.host.clock_hz);
  const Cycles move = ceil_ratio(core_hz * bytes, chip.host.bytes_per_second);
  return start + compute + move;
}

}  // namespace tessera::compiler::host
