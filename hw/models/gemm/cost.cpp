#include "hw/models/gemm/cost.hpp"

#include "hw/common/error.hpp"
#include "hw/models/gemm/schedule.hpp"
#include "isa/semantics/legal.hpp"

namespace tessera::hw {

std::optional<std::string> gemm_check(const isa::Gemm& gemm, const isa::ChipConfig& chip) {
  const auto no = [](const auto&... parts) { return std::optional<std::string>(detail::concat(parts...)); };
  if (auto fault = semantics::find_shape_fault(gemm, chip)) return fault;
  if (gemm.trans_b && chip.gemm.rows != chip.gemm.cols) {
    return no("trans_b needs a square array: the chip has ", chip.gemm.rows, " x ", chip.gemm.cols);
  }
  if (gemm.trans_a && gemm.dataflow == isa::GemmDataflow::weight_stationary &&
      chip.gemm.accumulator_rows % chip.gemm.rows != 0) {
    return no("trans_a needs gemm.accumulator_rows to be a multiple of gemm.rows, found ", chip.gemm.accumulator_rows,
              " and ", chip.gemm.rows);
  }
  return std::nullopt;
}

Cycles gemm_cycles(const isa::Gemm& gemm, const isa::ChipConfig& chip) { return GemmSchedule(gemm, chip).cycles(); }

Cycles gemm_array_cycles(const isa::Gemm& gemm, const isa::ChipConfig& chip) {
  return GemmSchedule(gemm, chip).array_cycles();
}

std::int64_t gemm_macs_issued(const isa::Gemm& gemm, const isa::ChipConfig& chip) {
  return GemmSchedule(gemm, chip).macs_issued();
}

}  // namespace tessera::hw
