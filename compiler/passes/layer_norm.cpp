#include "compiler/passes/layer_norm.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "compiler/ir/builder.hpp"
#include "compiler/ir/topology.hpp"
#include "compiler/passes/rewrite.hpp"

namespace tessera::compiler {
namespace {

class Matcher {
 public:
  explicit Matcher(const Graph& graph) : graph_(graph), readers_(consumers(graph)) {}

  struct Match {
    Node fused;
    std::vector<std::size_t> nodes;  // that it replaces, the last one made its output
    Tensor ones;                     // scale where the model has none
  };

  /// A layer norm that begins with the mean at `start`.
  std::optional<Match> match(std::size_t start) {
    const Node& mean = graph_.nodes[start];
    if (!is_op(mean, "ReduceMean") || !has_shape(graph_, mean.inputs[0])) return std::nullopt;
    const std::string x = mean.inputs[0];
    const auto rank = static_cast<std::int64_t>(graph_.shape_of(x).size());
    const std::int64_t axis = trailing_axis(mean, rank);
    if (axis < 0) return std::nullopt;
    Match found;
    found.nodes = {start};
    const std::optional<std::size_t> sub = only(mean.outputs[0], "Sub");
    if (!sub || graph_.nodes[*sub].inputs[0] != x || graph_.nodes[*sub].inputs[1] != mean.outputs[0])
      return std::nullopt;
    const std::string centred = graph_.nodes[*sub].outputs[0];
    found.nodes.push_back(*sub);
    // The centred value is squared, and divided.
    std::optional<std::size_t> square, quotient;
    for (const std::size_t reader : readers(centred)) {
      const Node& node = graph_.nodes[reader];
      if (is_op(node, "Pow") && single(node.inputs[1]) == 2.0) square = reader;
      if (is_op(node, "Mul") && node.inputs[0] == centred && node.inputs[1] == centred) square = reader;
      if (is_op(node, "Div") && node.inputs[0] == centred) quotient = reader;
    }
    if (!square || !quotient) return std::nullopt;
    const std::set<std::size_t> distinct(readers(centred).begin(), readers(centred).end());
    if (distinct.size() != 2 || is_graph_output(graph_, centred)) return std::nullopt;
    const std::optional<std::size_t> variance = only(graph_.nodes[*square].outputs[0], "ReduceMean");
    if (!variance || trailing_axis(graph_.nodes[*variance], rank) != axis) return std::nullopt;
    const std::optional<std::size_t> shifted = only(graph_.nodes[*variance].outputs[0], "Add");
    if (!shifted) return std::nullopt;
    const Node& add = graph_.nodes[*shifted];
    const std::optional<double> epsilon =
        single(add.inputs[add.inputs[0] == graph_.nodes[*variance].outputs[0] ? 1 : 0]);
    const std::optional<std::size_t> root = only(add.outputs[0], "Sqrt");
    if (!epsilon || !root || only(graph_.nodes[*root].outputs[0], "Div") != quotient) return std::nullopt;
    found.nodes.insert(found.nodes.end(), {*square, *variance, *shifted, *root, *quotient});
    found.fused.op = "LayerNormalization";
    found.fused.attributes["axis"] = axis;
    found.fused.attributes["epsilon"] = static_cast<float>(*epsilon);
    found.fused.inputs = {x};
    const Shape& shape = graph_.shape_of(x);
    const Shape normalised(shape.begin() + static_cast<std::ptrdiff_t>(axis), shape.end());
    for (const char* op : {"Mul", "Add"}) {
      const std::string last = graph_.nodes[found.nodes.back()].outputs[0];
      const std::optional<std::size_t> next = only(last, op);
      if (!next) break;
      const Node& node = graph_.nodes[*next];
      const std::string& other = node.inputs[node.inputs[0] == last ? 1 : 0];
      const Tensor* constant = float_constant(graph_, other);
      if (constant == nullptr || constant->shape != normalised) break;
      found.fused.inputs.push_back(other);
      found.nodes.push_back(*next);
    }
    if (found.fused.inputs.size() == 1) {
      found.ones = Tensor::make(DType::f32, normalised);
      std::fill_n(found.ones.data<float>(), found.ones.elements(), 1.0F);
    }
    const Node& last = graph_.nodes[found.nodes.back()];
    found.fused.name = last.name;
    found.fused.outputs = last.outputs;
    for (const std::size_t i : found.nodes) {
      if (i != found.nodes.back()) found.fused.fused.push_back(graph_.nodes[i].name);
    }
    return found;
  }

 private:
  const std::vector<std::size_t>& readers(const std::string& value) const {
    static const std::vector<std::size_t> none;
    const auto found = readers_.find(value);
    return found == readers_.end() ? none : found->second;
  }

  /// The one reader of a value, when it is that operator.
  std::optional<std::size_t> only(const std::string& value, const char* op) const {
    if (readers(value).size() != 1 || is_graph_output(graph_, value)) return std::nullopt;
    const std::size_t reader = readers(value)[0];
    return is_op(graph_.nodes[reader], op) ? std::optional(reader) : std::nullopt;
  }

  std::optional<double> single(const std::string& value) const {
    const Tensor* constant = float_constant(graph_, value);
    if (constant == nullptr || constant->elements() != 1) return std::nullopt;
    return constant->as_doubles()[0];
  }

  /// First axis of a reduction over all axes from it on, kept as ones; -1: it is another one.
  std::int64_t trailing_axis(const Node& node, std::int64_t rank) const {
    std::vector<std::int64_t> axes = node.ints_attr("axes", {});
    if (node.inputs.size() > 1 && graph_.is_constant(node.inputs[1]))
      axes = graph_.constants.at(node.inputs[1]).as_ints();
    if (axes.empty() || node.int_attr("keepdims", 1) != 1) return -1;
    for (std::int64_t& axis : axes) axis += axis < 0 ? rank : 0;
    std::sort(axes.begin(), axes.end());
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (axes[i] != rank - static_cast<std::int64_t>(axes.size() - i)) return -1;
    }
    return axes[0];
  }

  const Graph& graph_;
  std::map<std::string, std::vector<std::size_t>> readers_;
};

}  // namespace

std::size_t fuse_layer_norm(Graph& graph) {
  std::vector<Matcher::Match> matches;
  Matcher matcher(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (std::optional<Matcher::Match> match = matcher.match(i)) matches.push_back(std::move(*match));
  }
  if (matches.empty()) return 0;
  std::set<std::size_t> gone;
  for (Matcher::Match& match : matches) {
    if (match.fused.inputs.size() == 1) {
      match.fused.inputs.push_back(add_constant(graph, match.fused, "scale", std::move(match.ones)));
    }
    gone.insert(match.nodes.begin(), match.nodes.end());
    graph.nodes[match.nodes.back()] = match.fused;
    gone.erase(match.nodes.back());
  }
  std::vector<Node> kept;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (gone.count(i) == 0) kept.push_back(std::move(graph.nodes[i]));
  }
  graph.nodes = std::move(kept);
  return matches.size();
}

}  // namespace tessera::compiler
