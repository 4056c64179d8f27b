// A verilated unit behind unit_api.hpp. Compiled once a unit and chip shape, by build_core.py.
#include <cstring>
#include <memory>

#include "Vtessera_unit_bench.h"
#include "hw/cosim/unit_api.hpp"
#include "hw/cosim/verilated_pins.hpp"
#include "rtl_parameters.hpp"

namespace tessera::cosim {
namespace {

constexpr std::size_t kLineBytes = parameter("sram.line_bytes");
static_assert(kLineBytes <= kMostLineBytes);

class Unit : public VerilatedModel<Vtessera_unit_bench> {
 public:
  void eval(const UnitInputs& in, UnitOutputs& out) {
    top_->start_i = in.start;
    top_->start_nop_i = in.start_nop;
    top_->gnt_i = in.granted;
    static_assert(sizeof top_->head_i <= sizeof in.head);
    std::memcpy(&top_->head_i, in.head.data(), sizeof top_->head_i);
    std::array<std::uint8_t, sizeof top_->data_i> data{};
    for (std::size_t r = 0; r < kUnitReads; ++r) std::memcpy(&data[r * kLineBytes], in.data[r].data(), kLineBytes);
    std::memcpy(&top_->data_i, data.data(), sizeof top_->data_i);
    settle();
    out.ready = top_->ready_o != 0;
    out.busy = top_->busy_o != 0;
    out.done = top_->done_o != 0;
    out.conflict = top_->conflict_o != 0;
    const auto banks = bytes_of(top_->bank_o);
    const auto lines = bytes_of(top_->line_o);
    const auto written = bytes_of(top_->data_o);
    const auto strobes = bytes_of(top_->strb_o);
    for (std::size_t p = 0; p < kUnitAccesses; ++p) {
      UnitAccess& access = out.accesses[p];
      access.valid = (top_->valid_o >> p & 1) != 0;
      access.write = (top_->write_o >> p & 1) != 0;
      if (!access.valid) continue;
      access.bank = static_cast<std::uint32_t>(bits(banks, 32 * p, 32));
      access.line = static_cast<std::uint32_t>(bits(lines, 32 * p, 32));
      if (!access.write) continue;
      std::memcpy(access.data.data(), &written[p * kLineBytes], kLineBytes);
      for (std::size_t i = 0; i < kLineBytes; i += 8) {
        const std::size_t count = kLineBytes - i < 8 ? kLineBytes - i : 8;
        access.strobes[i / 8] = static_cast<std::uint8_t>(bits(strobes, p * kLineBytes + i, count));
      }
    }
  }
};

Unit& unit(void* instance) { return *static_cast<Unit*>(instance); }

}  // namespace
}  // namespace tessera::cosim

extern "C" __attribute__((visibility("default"))) const tessera::cosim::UnitApi tessera_unit_api = {
    tessera::cosim::kUnitApiSize,
    tessera::cosim::kRtlShape,
    []() -> void* { return new tessera::cosim::Unit; },
    [](void* instance) { delete &tessera::cosim::unit(instance); },
    [](void* instance, const tessera::cosim::UnitInputs& in, tessera::cosim::UnitOutputs& out) {
      tessera::cosim::unit(instance).eval(in, out);
    },
    [](void* instance) { tessera::cosim::unit(instance).edge(); },
    [](void* instance) { return tessera::cosim::unit(instance).failure(); },
};
