#include <algorithm>

#include "compiler/quantize/lowering.hpp"

namespace tessera::compiler {
namespace {

std::size_t size_of(int v) { return static_cast<std::size_t>(v); }

class Views {
 public:
  explicit Views(QGraph* graph) : graph_(*graph) {}

  void run() {
    for (QNode& node : graph_.nodes) {
      if (node.op == QOp::view) {
        bypass(node);
      } else if (node.op == QOp::conv) {
        widen(&node);
      }
    }
    graph_.nodes.erase(
        std::remove_if(graph_.nodes.begin(), graph_.nodes.end(), [](const QNode& node) { return node.output < 0; }),
        graph_.nodes.end());
    remove_unread();
    compact();
  }

 private:
  [[nodiscard]] QTensor& tensor(int index) { return graph_.tensors[size_of(index)]; }
  [[nodiscard]] std::ptrdiff_t readers(int index) const {
    std::ptrdiff_t count = std::count(graph_.outputs.begin(), graph_.outputs.end(), index);
    for (const QNode& node : graph_.nodes) count += std::count(node.inputs.begin(), node.inputs.end(), index);
    return count;
  }
  QNode* maker(int index) {
    for (QNode& node : graph_.nodes) {
      if (node.output == index) return &node;
    }
    return nullptr;
  }

  /// Operators that number elements and do not look at shapes.
  static bool is_linear(const QNode& node) {
    return node.op == QOp::move || node.op == QOp::matmul || node.op == QOp::view;
  }

  /// A view behind a linear operator that nobody else reads is that operator's own result. Other readers of a view read
  /// its input where the shapes are equal or do not matter; what they absorbed is named.
  void bypass(QNode& view) {
    QNode* before = maker(view.inputs[0]);
    if (before != nullptr && is_linear(*before) && before->op != QOp::view && readers(view.inputs[0]) == 1) {
      before->output = view.output;
      note(view, before);
      view.inputs.clear();
      view.output = -1;  // taken out below
      return;
    }
    const bool same = tensor(view.inputs[0]).shape == tensor(view.output).shape;
    for (QNode& reader : graph_.nodes) {
      bool reads = false;
      for (int& input : reader.inputs) {
        if (input != view.output) continue;
        // The host reads ONNX's own shape, so it keeps the view.
        if (reader.op == QOp::host || !(same || is_linear(reader))) continue;
        input = view.inputs[0];
        reads = true;
      }
      if (reads) note(view, &reader);
    }
  }

  static void note(const QNode& view, QNode* reader) {
    reader->fused.push_back(view.name);
    reader->fused.insert(reader->fused.end(), view.fused.begin(), view.fused.end());
  }

  /// A 1x1 convolution on a map that a view flattened: [N, C, H, W] -> [N, C H W, 1, 1] in the order of its weights, so
  /// the same numbers are a convolution with an H x W kernel on the map itself.
  void widen(QNode* conv) {
    const QNode* view = maker(conv->inputs[0]);
    if (view == nullptr || view->op != QOp::view || conv->groups != 1) return;
    if (conv->kh != 1 || conv->kw != 1 || conv->pad_top + conv->pad_left + conv->pad_bottom + conv->pad_right != 0)
      return;
    const Shape& flat = tensor(view->output).shape;
    const Shape& map = tensor(view->inputs[0]).shape;
    const bool flattens = flat[2] == 1 && flat[3] == 1 && flat[0] == map[0] && flat[1] == map[1] * map[2] * map[3];
    constexpr std::int64_t kLargestKernel = 255;  // 8-bit fields of the instruction
    if (!flattens || map[2] > kLargestKernel || map[3] > kLargestKernel) return;
    conv->kh = static_cast<int>(map[2]);
    conv->kw = static_cast<int>(map[3]);
    conv->inputs[0] = view->inputs[0];
    note(*view, conv);
  }

  void remove_unread() {
    while (true) {
      std::vector<int> reads(graph_.tensors.size(), 0);
      for (const QNode& node : graph_.nodes) {
        for (const int input : node.inputs) ++reads[size_of(input)];
      }
      for (const int output : graph_.outputs) ++reads[size_of(output)];
      const auto dead = std::remove_if(graph_.nodes.begin(), graph_.nodes.end(),
                                       [&](const QNode& node) { return reads[size_of(node.output)] == 0; });
      if (dead == graph_.nodes.end()) return;
      graph_.nodes.erase(dead, graph_.nodes.end());
    }
  }

  /// Drops tensors that nobody names and renumbers the rest.
  void compact() {
    std::vector<int> number(graph_.tensors.size(), -1);
    for (const int input : graph_.inputs) number[size_of(input)] = 0;
    for (const int output : graph_.outputs) number[size_of(output)] = 0;
    for (const QNode& node : graph_.nodes) {
      number[size_of(node.output)] = 0;
      for (const int input : node.inputs) number[size_of(input)] = 0;
    }
    std::vector<QTensor> kept;
    for (std::size_t i = 0; i < number.size(); ++i) {
      if (number[i] < 0) continue;
      number[i] = static_cast<int>(kept.size());
      kept.push_back(std::move(graph_.tensors[i]));
    }
    graph_.tensors = std::move(kept);
    for (int& input : graph_.inputs) input = number[size_of(input)];
    for (int& output : graph_.outputs) output = number[size_of(output)];
    for (QNode& node : graph_.nodes) {
      node.output = number[size_of(node.output)];
      for (int& input : node.inputs) input = number[size_of(input)];
    }
  }

  QGraph& graph_;
};

}  // namespace

void simplify_views(QGraph* graph) { Views(graph).run(); }

}  // namespace tessera::compiler
