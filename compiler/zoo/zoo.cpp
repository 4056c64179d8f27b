#include "compiler/zoo/zoo.hpp"

#include <algorithm>

#include "compiler/passes/randomize.hpp"
#include "compiler/passes/shape_inference.hpp"
#include "compiler/zoo/layers.hpp"
#include "hw/common/error.hpp"

namespace tessera::compiler {

const std::vector<ZooEntry>& zoo_list() {
  static const std::vector<ZooEntry> entries = {
      {"mobilenet_v2", "MobileNetV2, width 1.0: depthwise convolutions, Relu6", zoo::mobilenet_v2},
      {"resnet50", "ResNet-50 v1.5: bottleneck blocks with residual sums, BatchNormalization present", zoo::resnet50},
      {"resnet50_stage1", "ResNet-50's stem and first residual stage: three blocks on 56x56", zoo::resnet50_stage1},
      {"squeezenet", "SqueezeNet 1.1: fire modules with Concat, pools that round up", zoo::squeezenet},
      {"vgg16", "VGG-16: 3x3 convolutions and three large fully connected layers", zoo::vgg16},
  };
  return entries;
}

Graph zoo_build(const std::string& name, std::uint64_t seed) {
  const auto& entries = zoo_list();
  const auto it =
      std::find_if(entries.begin(), entries.end(), [&](const ZooEntry& entry) { return entry.name == name; });
  if (it == entries.end()) {
    std::string legal;
    for (const ZooEntry& entry : entries) legal += (legal.empty() ? "" : ", ") + entry.name;
    user_error("zoo has no network '", name, "': expected one of ", legal);
  }
  Graph graph = it->build();
  infer_shapes(graph);
  randomize_weights(graph, seed);
  return graph;
}

}  // namespace tessera::compiler
