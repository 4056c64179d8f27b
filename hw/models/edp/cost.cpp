#include "hw/models/edp/cost.hpp"

#include "hw/models/edp/geometry.hpp"

namespace tessera::hw {

Cycles edp_cycles(const isa::Edp& edp, const isa::ChipConfig& chip) { return EdpGeometry(edp, chip).cycles(); }

std::int64_t edp_elements_issued(const isa::Edp& edp, const isa::ChipConfig& chip) {
  const EdpGeometry geometry(edp, chip);
  return geometry.steps() * geometry.line_cycles * chip.edp.lanes;
}

}  // namespace tessera::hw
