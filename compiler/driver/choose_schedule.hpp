// The best of the schedules that can be made: fused ones and the layer schedule side by side, by what emission predicts
// of each: it runs the instructions (compiler/emit). Searches weigh layers and groups one by one; only the whole says
// what is hidden under what.
#pragma once

#include "compiler/ir/qgraph.hpp"
#include "compiler/schedule/scheduler.hpp"
#include "isa/chip.hpp"

namespace tessera::compiler {

/// `options.fused` of the result may be unset: nothing fused was better. UserError: no schedule fits, the layer
/// schedule's objection.
[[nodiscard]] Schedule choose_schedule(const QGraph& graph, const isa::ChipConfig& chip,
                                       const ScheduleOptions& options);

}  // namespace tessera::compiler
