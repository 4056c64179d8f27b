// Which part of the convolution engine each layer comes up against: its instructions' closed forms
// (hw/models/conv/cost.hpp), summed over engines. Leaves out what a run adds: refusals, waits, other units.
#pragma once

#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "hw/models/conv/cost.hpp"
#include "isa/chip.hpp"
#include "isa/program/program.hpp"

namespace tessera::runtime {

/// Engine cycles of one frame; all zero for a layer without CONV instructions.
struct LayerLimits {
  Cycles cycles = 0;  // what the instructions take, never refused
  hw::ConvLimits parts;
};

/// As Program::layers. Programs without information on instructions (assembled ones) have none.
[[nodiscard]] std::vector<LayerLimits> layer_limits(const isa::Program& program, const isa::ChipConfig& chip);
/// As reports and `explain --json` show it.
[[nodiscard]] nlohmann::json limit_json(const LayerLimits& layer);

}  // namespace tessera::runtime
