#include "compiler/import/contrib.hpp"

#include <algorithm>
#include <map>

#include "compiler/ir/topology.hpp"
#include "hw/common/error.hpp"

namespace tessera::compiler {
namespace {

constexpr const char* kDomain = "com.microsoft";

class Speller {
 public:
  Speller(Node node, Graph& graph) : node_(std::move(node)), graph_(graph) {}

  std::vector<Node> take() { return std::move(made_); }

  /// Inputs in threes (value, scale, zero point) from `first` on, then scale and zero point of the result at `result`.
  void spell(const char* op, std::size_t operands, std::size_t first, std::size_t result) {
    need(std::max(first + 3 * operands - 1, result + 1));
    Node plain;
    plain.op = op;
    for (std::size_t i = 0; i < operands; ++i) plain.inputs.push_back(dequantized(first + 3 * i));
    plain.attributes = node_.attributes;
    finish(std::move(plain), result);
  }

  void spell_concat() {
    need(5);
    if ((node_.inputs.size() - 2) % 3 != 0 &&
        (node_.inputs.size() - 1) % 3 != 0) {  // a last zero point may be left out
      refuse("has ", node_.inputs.size(), " inputs: expected scale and zero point, then three for each tensor");
    }
    spell("Concat", (node_.inputs.size() - 1) / 3, 2, 0);
  }

  /// Inputs A, B (threes), C (int32 at alpha * a_scale * b_scale), then scale and zero point of a quantised result.
  void spell_gemm() {
    need(6);
    Node plain;
    plain.op = "Gemm";
    const std::string a = dequantized(0);
    const bool transposed = node_.int_attr("transB", 0) != 0;
    plain.inputs = {a, dequantized(3, transposed ? 0 : 1)};
    if (has(6)) {
      if (const float alpha = node_.float_attr("alpha", 1.0F); alpha != 1.0F) {
        refuse("has alpha = ", alpha, " and a bias: expected alpha = 1");
      }
      const std::string product = value("bias_scale");
      made_.push_back(plain_node("Mul", {node_.inputs[1], node_.inputs[4]}, product));
      const std::string bias = value("bias");
      made_.push_back(plain_node("DequantizeLinear", {node_.inputs[6], product}, bias));
      made_.back().attributes["axis"] = std::int64_t{0};
      plain.inputs.push_back(bias);
    }
    plain.attributes = node_.attributes;
    if (has(7)) return finish(std::move(plain), 7);
    plain.name = node_.name;
    plain.outputs = node_.outputs;
    made_.push_back(std::move(plain));
  }

  /// Operators that the domain has beside ONNX's own of the same name.
  void rename() {
    node_.domain.clear();
    made_.push_back(node_);
  }

  void refuse_channels_last() {
    if (node_.int_attr("channels_last", 0) != 0) refuse("has channels_last = 1: expected maps of N x C x H x W");
    node_.attributes.erase("channels_last");
  }

 private:
  template <typename... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    user_error("node '", node_.name, "' (", kDomain, ".", node_.op, "): ", parts...);
  }

  void need(std::size_t inputs) const {
    if (node_.inputs.size() < inputs) refuse("has ", node_.inputs.size(), " inputs: expected at least ", inputs);
    if (node_.outputs.empty()) refuse("has no output: expected one");
  }

  [[nodiscard]] bool has(std::size_t i) const { return i < node_.inputs.size() && !node_.inputs[i].empty(); }

  std::string value(const std::string& role) {
    std::string name = node_.name + "/" + role;
    if (graph_.constants.count(name) + graph_.values.count(name) != 0) name = unique_name(graph_, name);
    graph_.values.emplace(name, ValueInfo{});
    return name;
  }

  static Node plain_node(const char* op, std::vector<std::string> inputs, const std::string& output) {
    Node node;
    node.name = output;
    node.op = op;
    node.inputs = std::move(inputs);
    while (node.inputs.back().empty()) node.inputs.pop_back();
    node.outputs = {output};
    return node;
  }

  /// Value, scale and zero point from input `at` on.
  std::string dequantized(std::size_t at, std::int64_t axis = -1) {
    const std::string output = value("input_" + std::to_string(at));
    std::vector<std::string> inputs = {node_.inputs[at], node_.inputs[at + 1], has(at + 2) ? node_.inputs[at + 2] : ""};
    made_.push_back(plain_node("DequantizeLinear", std::move(inputs), output));
    if (axis >= 0) made_.back().attributes["axis"] = axis;
    return output;
  }

  void finish(Node plain, std::size_t result) {
    plain.name = node_.name;
    plain.outputs = {value("float")};
    std::vector<std::string> inputs = {plain.outputs[0], node_.inputs[result],
                                       has(result + 1) ? node_.inputs[result + 1] : ""};
    made_.push_back(std::move(plain));
    made_.push_back(plain_node("QuantizeLinear", std::move(inputs), node_.outputs[0]));
    made_.back().name = node_.name + "/quantize";
    made_.back().outputs = node_.outputs;
  }

  Node node_;
  Graph& graph_;
  std::vector<Node> made_;
};

using Spell = void (*)(Speller&);

const std::map<std::string, Spell>& spells() {
  static const std::map<std::string, Spell> table = {
      {"QLinearAdd", [](Speller& s) { s.spell("Add", 2, 0, 6); }},
      {"QLinearMul", [](Speller& s) { s.spell("Mul", 2, 0, 6); }},
      {"QLinearSigmoid", [](Speller& s) { s.spell("Sigmoid", 1, 0, 3); }},
      {"QLinearLeakyRelu", [](Speller& s) { s.spell("LeakyRelu", 1, 0, 3); }},
      {"QLinearConcat", [](Speller& s) { s.spell_concat(); }},
      {"QLinearAveragePool",
       [](Speller& s) {
         s.refuse_channels_last();
         s.spell("AveragePool", 1, 0, 3);
       }},
      {"QLinearGlobalAveragePool",
       [](Speller& s) {
         s.refuse_channels_last();
         s.spell("GlobalAveragePool", 1, 0, 3);
       }},
      {"QGemm", [](Speller& s) { s.spell_gemm(); }},
      {"QuantizeLinear", [](Speller& s) { s.rename(); }},
      {"DequantizeLinear", [](Speller& s) { s.rename(); }},
  };
  return table;
}

}  // namespace

const std::vector<std::string>& contrib_operators() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const auto& [name, spell] : spells()) list.push_back(name);
    return list;
  }();
  return names;
}

std::vector<Node> spell_out_contrib(Node node, Graph& graph) {
  const auto found = node.domain == kDomain ? spells().find(node.op) : spells().end();
  if (found == spells().end()) return {std::move(node)};
  Speller speller(std::move(node), graph);
  found->second(speller);
  return speller.take();
}

}  // namespace tessera::compiler
