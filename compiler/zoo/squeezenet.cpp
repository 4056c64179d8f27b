// SqueezeNet 1.1: F. Iandola et al., "SqueezeNet: AlexNet-level accuracy with 50x fewer parameters", 2016, and the
// authors' release v1.1 (3x3 first convolution, earlier pooling).
#include "compiler/zoo/layers.hpp"

namespace tessera::compiler::zoo {
namespace {

/// 1x1 squeeze, then 1x1 and 3x3 expansions side by side.
std::string fire(Layers& net, const std::string& value, std::int64_t inputs, std::int64_t squeeze, std::int64_t expand,
                 const std::string& name) {
  const std::string s = net.relu(net.conv(value, {inputs, squeeze}, name + ".squeeze"), name + ".relu_squeeze");
  const std::string e1 = net.relu(net.conv(s, {squeeze, expand}, name + ".expand1x1"), name + ".relu_expand1x1");
  const std::string e3 =
      net.relu(net.conv(s, {squeeze, expand, 3, 1, 1}, name + ".expand3x3"), name + ".relu_expand3x3");
  return net.concat(e1, e3, name + ".concat");
}

}  // namespace

Graph squeezenet() {
  Layers net("squeezenet");
  std::string x = net.relu(net.conv(net.input(), {3, 64, 3, 2, 0}, "conv1"), "relu1");
  x = net.max_pool(x, 3, 2, 0, 1, "pool1");
  x = fire(net, x, 64, 16, 64, "fire2");
  x = fire(net, x, 128, 16, 64, "fire3");
  x = net.max_pool(x, 3, 2, 0, 1, "pool3");
  x = fire(net, x, 128, 32, 128, "fire4");
  x = fire(net, x, 256, 32, 128, "fire5");
  x = net.max_pool(x, 3, 2, 0, 1, "pool5");
  x = fire(net, x, 256, 48, 192, "fire6");
  x = fire(net, x, 384, 48, 192, "fire7");
  x = fire(net, x, 384, 64, 256, "fire8");
  x = fire(net, x, 512, 64, 256, "fire9");
  x = net.relu(net.conv(x, {512, 1000}, "conv10"), "relu10");
  net.flatten(net.global_average_pool(x, "avgpool"), "output");
  return net.finish();
}

}  // namespace tessera::compiler::zoo
