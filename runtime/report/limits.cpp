#include "runtime/report/limits.hpp"

#include <nlohmann/json.hpp>

#include "isa/isa.hpp"

namespace tessera::runtime {

std::vector<LayerLimits> layer_limits(const isa::Program& program, const isa::ChipConfig& chip) {
  std::vector<LayerLimits> out(program.layers.size());
  for (const isa::Section& section : program.sections) {
    for (const isa::QueueStream& stream : section.streams) {
      std::size_t index = 0;
      for (std::size_t at = 0; at < stream.words.size() && index < stream.info.size(); ++index) {
        const isa::DecodeResult decoded = isa::decode(stream.words.data() + at, stream.words.size() - at);
        if (!decoded.ok()) break;  // a faulty program: the run has said so
        at += decoded.words;
        const auto* conv = std::get_if<isa::Conv>(&decoded.instruction.body);
        const std::size_t layer = stream.info[index].layer;
        if (conv == nullptr || layer >= out.size() || hw::conv_check(*conv, chip)) continue;
        out[layer].cycles += hw::conv_cycles(*conv, chip);
        out[layer].parts += hw::conv_limits(*conv, chip);
      }
    }
  }
  return out;
}

nlohmann::json limit_json(const LayerLimits& layer) {
  return {{"by", layer.parts.longest()},  {"cycles", layer.cycles},         {"array", layer.parts.array},
          {"window", layer.parts.window}, {"weights", layer.parts.weights}, {"drain", layer.parts.drain}};
}

}  // namespace tessera::runtime
