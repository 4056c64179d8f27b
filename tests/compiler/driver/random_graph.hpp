// Small random quantised graphs with odd sizes, built directly: what the backend's value tests run on.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/qgraph.hpp"
#include "hw/common/random.hpp"

namespace tessera::compiler::testing {

/// Adds nodes one by one; every method returns the output's tensor index.
class QBuilder {
 public:
  explicit QBuilder(std::uint64_t seed) : random(seed) { graph.name = "random" + std::to_string(seed); }

  int input(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w);
  struct Window {
    int kh = 1, kw = 1, sy = 1, sx = 1, dy = 1, dx = 1, pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  };
  int conv(int in, std::int64_t cout, const Window& window, int groups = 1);
  int add(int a, int b);
  int mul(int a, int b);
  int max_pool(int in, const Window& window);
  int average_pool(int in, const Window& window, bool count_include_pad);
  int global_average(int in);
  int requantize(int in);
  int table(int in);
  int concat(const std::vector<int>& parts);
  int view(int in, std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w);
  int softmax_on_host(int in);
  /// A strided copy: axis i of the result runs over axis from[i] of the input, seen in the shape `seen`, in steps.
  struct Axis {
    std::int64_t from = 0, start = 0, step = 1, count = 1;
  };
  int move(const std::string& onnx_op, int in, const Shape& seen, const std::vector<Axis>& axes, const Shape& out);
  int transpose(int in, const Shape& seen, const std::vector<std::int64_t>& order, const Shape& out);
  int slice(int in, std::int64_t axis, std::int64_t start, std::int64_t step, std::int64_t count);
  int shuffle(int in, std::int64_t groups);
  int pad(int in, std::int64_t top, std::int64_t left, std::int64_t bottom, std::int64_t right);
  int upsample(int in, std::int64_t factor);
  int join_rows(int a, int b);  // Concat along H
  int constant(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w);
  struct Product {
    std::int64_t batch = 1, m = 1, k = 1, n = 1;
    bool trans_a = false, trans_b = false, shared_a = false, shared_b = false;
  };
  int matmul(int a, int b, const Product& product, const Shape& out);  // b = -1: constant weights
  void output(int tensor) { graph.outputs.push_back(tensor); }

  [[nodiscard]] const Shape& shape(int tensor) const { return graph.tensors[static_cast<std::size_t>(tensor)].shape; }

  QGraph graph;
  Random random;
  bool with_weights = true;
  bool one_zero_point = false;  // of all tensors, so that any of them can be concatenated or moved

 private:
  int tensor(const std::string& name, const Shape& shape);
  /// The output of the last node, at the scale of tensor `same_scale` when one is given.
  int result(const std::string& name, const Shape& shape, int same_scale = -1);
  static void set_window(const Window& window, QNode* node);
  static Shape window_output(const Shape& in, std::int64_t channels, const Window& window);
  QNode& node(QOp op, const std::string& onnx_op, const std::vector<int>& inputs);
  QScale scale(double real);
  void clamp(QNode& node);
};

/// A chain with branches of random operators; image rows and columns at most `extent`.
[[nodiscard]] QGraph random_graph(std::uint64_t seed, std::int64_t extent, std::int64_t batch = 1);

/// The same with moves, products, constants and tokens.
[[nodiscard]] QGraph random_moves(std::uint64_t seed, std::int64_t extent, std::int64_t batch = 1);

/// Random int8 tensors for the graph's inputs.
[[nodiscard]] std::vector<Tensor> random_inputs(const QGraph& graph, std::uint64_t seed);

}  // namespace tessera::compiler::testing
