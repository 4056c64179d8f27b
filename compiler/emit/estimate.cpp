#include "compiler/emit/estimate.hpp"

#include <algorithm>

#include "compiler/emit/section_run.hpp"
#include "compiler/host/host_step.hpp"

namespace tessera::compiler {

void Estimate::section(const std::vector<TimedInstruction>& instructions) {
  const Cycles begin = now_;
  SectionRun run(chip_, times_, instructions,
                 [&](const TimedInstruction& instruction, Cycles end) { ends(instruction.layer, begin + end); });
  now_ = begin + run.run();
}

void Estimate::host(std::size_t layer, std::int64_t elements, std::int64_t bytes) {
  now_ += host::host_step_cycles(chip_, elements, bytes);
  ends(layer, now_);
}

void Estimate::ends(std::size_t layer, Cycles end) {
  if (layer >= layer_ends_.size()) layer_ends_.resize(layer + 1, 0);
  layer_ends_[layer] = std::max(layer_ends_[layer], end);
}

}  // namespace tessera::compiler
