// VGG-16: K. Simonyan, A. Zisserman, "Very Deep Convolutional Networks for Large-Scale Image Recognition", 2014,
// table 1, column D.
#include "compiler/zoo/layers.hpp"

namespace tessera::compiler::zoo {

Graph vgg16() {
  Layers net("vgg16");
  std::string x = net.input();
  struct Stage {
    std::int64_t outputs;
    int convolutions;
  };
  std::int64_t channels = 3;
  int stage_number = 1;
  for (const Stage& stage : {Stage{64, 2}, Stage{128, 2}, Stage{256, 3}, Stage{512, 3}, Stage{512, 3}}) {
    for (int i = 1; i <= stage.convolutions; ++i) {
      const std::string suffix = std::to_string(stage_number) + "_" + std::to_string(i);
      x = net.relu(net.conv(x, {channels, stage.outputs, 3, 1, 1}, "conv" + suffix), "relu" + suffix);
      channels = stage.outputs;
    }
    x = net.max_pool(x, 2, 2, 0, 0, "pool" + std::to_string(stage_number++));
  }
  x = net.flatten(x, "flatten");
  x = net.relu(net.linear(x, 512 * 7 * 7, 4096, "fc6"), "relu6");
  x = net.relu(net.linear(x, 4096, 4096, "fc7"), "relu7");
  net.linear(x, 4096, 1000, "output");
  return net.finish();
}

}  // namespace tessera::compiler::zoo
