#include "networks.hpp"

#include <vector>

#include "random_graph.hpp"

namespace tessera::compiler::testing {
namespace {

QBuilder::Window square(int k, int stride, int pad) { return {k, k, stride, stride, 1, 1, pad, pad, pad, pad}; }

class Net : public QBuilder {
 public:
  Net() : QBuilder(1) { with_weights = false; }
  int conv_square(int in, std::int64_t cout, int k, int stride, int pad, int groups = 1) {
    return conv(in, cout, square(k, stride, pad), groups);
  }
  int classifier(int in, std::int64_t classes) {
    const Shape s = shape(in);
    return conv(view(in, 1, s[1] * s[2] * s[3], 1, 1), classes, {});
  }
};

}  // namespace

QGraph resnet50() {
  Net b;
  int x = b.max_pool(b.conv_square(b.input(1, 3, 224, 224), 64, 7, 2, 3), square(3, 2, 1));
  const int blocks[] = {3, 4, 6, 3};
  for (int stage = 0; stage < 4; ++stage) {
    const std::int64_t width = 64 << stage;
    for (int i = 0; i < blocks[stage]; ++i) {
      const int stride = stage > 0 && i == 0 ? 2 : 1;
      const int skip = i == 0 ? b.conv_square(x, 4 * width, 1, stride, 0) : x;
      const int y =
          b.conv_square(b.conv_square(b.conv_square(x, width, 1, 1, 0), width, 3, stride, 1), 4 * width, 1, 1, 0);
      x = b.add(y, skip);
    }
  }
  b.output(b.classifier(b.global_average(x), 1000));
  return b.graph;
}

QGraph squeezenet() {
  Net b;
  int x = b.max_pool(b.conv_square(b.input(1, 3, 224, 224), 64, 3, 2, 0), square(3, 2, 0));
  const auto fire = [&](std::int64_t squeeze, std::int64_t expand) {
    const int s = b.conv_square(x, squeeze, 1, 1, 0);
    x = b.concat({b.conv_square(s, expand, 1, 1, 0), b.conv_square(s, expand, 3, 1, 1)});
  };
  fire(16, 64);
  fire(16, 64);
  x = b.max_pool(x, square(3, 2, 0));
  fire(32, 128);
  fire(32, 128);
  x = b.max_pool(x, square(3, 2, 0));
  fire(48, 192);
  fire(48, 192);
  fire(64, 256);
  fire(64, 256);
  b.output(b.global_average(b.conv_square(x, 1000, 1, 1, 0)));
  return b.graph;
}

QGraph mobilenet_v2() {
  Net b;
  int x = b.conv_square(b.input(1, 3, 224, 224), 32, 3, 2, 1);
  struct Stage {
    std::int64_t expand, channels;
    int repeat, stride;
  };
  const Stage stages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                          {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
  for (const Stage& s : stages) {
    for (int i = 0; i < s.repeat; ++i) {
      const std::int64_t hidden = b.shape(x)[1] * s.expand;
      const int stride = i == 0 ? s.stride : 1;
      const int e = s.expand == 1 ? x : b.conv_square(x, hidden, 1, 1, 0);
      const int d = b.conv_square(e, hidden, 3, stride, 1, static_cast<int>(hidden));
      const int p = b.conv_square(d, s.channels, 1, 1, 0);
      x = i > 0 ? b.add(p, x) : p;
    }
  }
  b.output(b.classifier(b.global_average(b.conv_square(x, 1280, 1, 1, 0)), 1000));
  return b.graph;
}

QGraph vgg19() {
  Net b;
  int x = b.input(1, 3, 224, 224);
  const std::vector<std::vector<std::int64_t>> stages = {
      {64, 64}, {128, 128}, {256, 256, 256, 256}, {512, 512, 512, 512}, {512, 512, 512, 512}};
  for (const auto& stage : stages) {
    for (const std::int64_t c : stage) x = b.conv_square(x, c, 3, 1, 1);
    x = b.max_pool(x, square(2, 2, 0));
  }
  b.output(b.classifier(b.classifier(b.classifier(x, 4096), 4096), 1000));
  return b.graph;
}

}  // namespace tessera::compiler::testing
