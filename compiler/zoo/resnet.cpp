// ResNet-50 v1.5: K. He et al., "Deep Residual Learning for Image Recognition", 2015, table 1, 50 layers; stride 2 in
// the 3x3 convolution of a stage's first block (v1.5), where v1 has it in the first 1x1.
#include <array>

#include "compiler/zoo/layers.hpp"

namespace tessera::compiler::zoo {
namespace {

constexpr std::int64_t kExpansion = 4;

/// 1x1 down, 3x3, 1x1 up, plus the input (projected in a stage's first block).
std::string bottleneck(Layers& net, const std::string& value, std::int64_t inputs, std::int64_t width,
                       std::int64_t stride, bool project, const std::string& name) {
  std::string x = net.relu(net.conv_norm(value, {inputs, width}, name + ".conv1"), name + ".relu1");
  x = net.relu(net.conv_norm(x, {width, width, 3, stride, 1}, name + ".conv2"), name + ".relu2");
  x = net.conv_norm(x, {width, width * kExpansion}, name + ".conv3");
  std::string shortcut = value;
  if (project) shortcut = net.conv_norm(value, {inputs, width * kExpansion, 1, stride}, name + ".downsample");
  return net.relu(net.add(x, shortcut, name + ".add"), name + ".relu3");
}

/// The layers before the classifier's pool, of this many stages; `channels` of the result.
std::string trunk(Layers& net, std::size_t stages, std::int64_t& channels) {
  std::string x = net.relu(net.conv_norm(net.input(), {3, 64, 7, 2, 3}, "conv1"), "relu1");
  x = net.max_pool(x, 3, 2, 1, 0, "maxpool");
  struct Stage {
    std::int64_t width;
    int blocks;
    std::int64_t stride;
  };
  constexpr std::array<Stage, 4> kStages = {{{64, 3, 1}, {128, 4, 2}, {256, 6, 2}, {512, 3, 2}}};
  channels = 64;
  for (std::size_t s = 0; s < stages; ++s) {
    const Stage& stage = kStages.at(s);
    for (int block = 0; block < stage.blocks; ++block) {
      const std::string name = "layer" + std::to_string(s + 1) + "." + std::to_string(block);
      x = bottleneck(net, x, channels, stage.width, block == 0 ? stage.stride : 1, block == 0, name);
      channels = stage.width * kExpansion;
    }
  }
  return x;
}

}  // namespace

Graph resnet50() {
  Layers net("resnet50");
  std::int64_t channels = 0;
  std::string x = trunk(net, 4, channels);
  x = net.flatten(net.global_average_pool(x, "avgpool"), "flatten");
  net.linear(x, channels, 1000, "output");
  return net.finish();
}

Graph resnet50_stage1() {
  Layers net("resnet50_stage1");
  std::int64_t channels = 0;
  return net.finish(trunk(net, 1, channels));
}

}  // namespace tessera::compiler::zoo
