// MobileNetV2: M. Sandler et al., "MobileNetV2: Inverted Residuals and Linear Bottlenecks", 2018, table 2, width 1.0.
#include "compiler/zoo/layers.hpp"

namespace tessera::compiler::zoo {
namespace {

/// 1x1 expansion (unless the factor is 1), 3x3 depthwise, 1x1 projection without activation; plus the input where
/// shapes allow.
std::string inverted_residual(Layers& net, const std::string& value, std::int64_t inputs, std::int64_t outputs,
                              std::int64_t stride, std::int64_t expansion, const std::string& name) {
  const std::int64_t hidden = inputs * expansion;
  std::string x = value;
  if (expansion != 1) x = net.relu6(net.conv_norm(x, {inputs, hidden}, name + ".expand"), name + ".relu1");
  x = net.relu6(net.conv_norm(x, {hidden, hidden, 3, stride, 1, hidden}, name + ".depthwise"), name + ".relu2");
  x = net.conv_norm(x, {hidden, outputs}, name + ".project");
  return stride == 1 && inputs == outputs ? net.add(value, x, name + ".add") : x;
}

}  // namespace

Graph mobilenet_v2() {
  Layers net("mobilenet_v2");
  std::string x = net.relu6(net.conv_norm(net.input(), {3, 32, 3, 2, 1}, "conv1"), "relu1");
  struct Stage {
    std::int64_t expansion, outputs;
    int blocks;
    std::int64_t stride;
  };
  std::int64_t channels = 32;
  int number = 1;
  for (const Stage& stage : {Stage{1, 16, 1, 1}, Stage{6, 24, 2, 2}, Stage{6, 32, 3, 2}, Stage{6, 64, 4, 2},
                             Stage{6, 96, 3, 1}, Stage{6, 160, 3, 2}, Stage{6, 320, 1, 1}}) {
    for (int block = 0; block < stage.blocks; ++block) {
      x = inverted_residual(net, x, channels, stage.outputs, block == 0 ? stage.stride : 1, stage.expansion,
                            "block" + std::to_string(number++));
      channels = stage.outputs;
    }
  }
  x = net.relu6(net.conv_norm(x, {channels, 1280}, "conv_last"), "relu_last");
  x = net.flatten(net.global_average_pool(x, "avgpool"), "flatten");
  net.linear(x, 1280, 1000, "output");
  return net.finish();
}

}  // namespace tessera::compiler::zoo
