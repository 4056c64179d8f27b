#include "runtime/report/limits.hpp"

#include <nlohmann/json.hpp>

#include "isa/isa.hpp"
#include "isa/program/instructions.hpp"

namespace tessera::runtime {

std::vector<LayerLimits> layer_limits(const isa::Program& program, const isa::ChipConfig& chip) {
  std::vector<LayerLimits> out(program.layers.size());
  for (const isa::Section& section : program.sections) {
    for (const isa::QueueStream& stream : section.streams) {
      isa::for_each_instruction(stream, [&](const isa::Instruction& instruction, std::size_t index, std::size_t) {
        const auto* conv = std::get_if<isa::Conv>(&instruction.body);
        if (conv == nullptr || index >= stream.info.size()) return;
        const std::size_t layer = stream.info[index].layer;
        if (layer >= out.size() || hw::conv_check(*conv, chip)) return;
        out[layer].cycles += hw::conv_cycles(*conv, chip);
        out[layer].parts += hw::conv_limits(*conv, chip);
      });
    }
  }
  return out;
}

nlohmann::json limit_json(const LayerLimits& layer) {
  return {{"by", layer.parts.longest()},  {"cycles", layer.cycles},         {"array", layer.parts.array},
          {"window", layer.parts.window}, {"weights", layer.parts.weights}, {"drain", layer.parts.drain}};
}

}  // namespace tessera::runtime
