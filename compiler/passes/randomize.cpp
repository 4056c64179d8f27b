#include "compiler/passes/randomize.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "compiler/passes/rewrite.hpp"
#include "hw/common/random.hpp"

namespace tessera::compiler {
namespace {

/// What a tensor is used as; the first role found for a shared tensor stays, the widest sum counts.
struct Role {
  enum class Kind { weight, offset, scale } kind = Kind::weight;
  std::int64_t fan_in = 1;  // weight: products summed into one output element
};

class Roles {
 public:
  explicit Roles(const Graph& graph) : graph_(graph) {}

  void weight(const std::string& name, std::int64_t fan_in) {
    if (float_constant(graph_, name) == nullptr) return;
    const auto [it, fresh] = roles_.emplace(name, Role{Role::Kind::weight, std::max<std::int64_t>(fan_in, 1)});
    if (!fresh) it->second.fan_in = std::max(it->second.fan_in, fan_in);
  }
  void other(const std::string& name, Role::Kind kind) {
    if (float_constant(graph_, name) != nullptr) roles_.emplace(name, Role{kind, 1});
  }
  [[nodiscard]] const std::map<std::string, Role>& all() const { return roles_; }

 private:
  const Graph& graph_;
  std::map<std::string, Role> roles_;
};

std::int64_t size_at(const Graph& graph, const std::string& name, std::int64_t from_back) {
  const Shape& shape = graph.shape_of(name);
  const auto rank = static_cast<std::int64_t>(shape.size());
  return from_back > rank ? 1 : shape[static_cast<std::size_t>(rank - from_back)];
}

void collect_linear(const Graph& graph, const Node& node, Roles& roles) {
  if (node.inputs.size() < 2) return;
  const std::string& w = node.inputs[1];
  const Tensor* weight = float_constant(graph, w);
  if (weight != nullptr && (node.op == "Conv" || node.op == "ConvTranspose") && weight->shape.size() >= 3) {
    const std::int64_t kernel =
        weight->shape[0] * weight->shape[1] == 0 ? 0 : weight->elements() / (weight->shape[0] * weight->shape[1]);
    // Conv: O x I/group x kernel. ConvTranspose: I x O/group x kernel, of which stride^2 taps never meet in one output.
    std::int64_t fan_in = weight->shape[1] * kernel;
    if (node.op == "ConvTranspose") {
      std::int64_t stride = 1;
      for (const std::int64_t s : node.ints_attr("strides", {})) stride *= s;
      fan_in = weight->shape[0] / std::max<std::int64_t>(node.int_attr("group", 1), 1) * kernel / stride;
    }
    roles.weight(w, fan_in);
  }
  if (node.op == "Gemm" && weight != nullptr)
    roles.weight(w, size_at(graph, w, node.int_attr("transB", 0) != 0 ? 1 : 2));
  if (node.op == "MatMul") {
    if (weight != nullptr) roles.weight(w, size_at(graph, w, weight->shape.size() == 1 ? 1 : 2));
    if (float_constant(graph, node.inputs[0]) != nullptr)
      roles.weight(node.inputs[0], size_at(graph, node.inputs[0], 1));
  } else {
    roles.other(input_or_empty(node, 2), Role::Kind::offset);
  }
}

Roles collect(Graph& graph) {
  Roles roles(graph);
  Wiring wiring(graph);
  for (const Node& node : graph.nodes) {
    if (!node.domain.empty()) continue;
    if (node.op == "Conv" || node.op == "ConvTranspose" || node.op == "Gemm" || node.op == "MatMul") {
      collect_linear(graph, node, roles);
    }
  }
  for (const Node& node : graph.nodes) {
    if (is_op(node, "BatchNormalization") && node.inputs.size() == 5) {
      roles.other(node.inputs[1], Role::Kind::scale);
      roles.other(node.inputs[2], Role::Kind::offset);
      roles.other(node.inputs[3], Role::Kind::offset);
      roles.other(node.inputs[4], Role::Kind::scale);
    }
    if (!is_op(node, "Add") || node.inputs.size() != 2) continue;
    for (const std::size_t i : {0U, 1U}) {
      const Node* maker = wiring.maker(node.inputs[i]);
      if (maker != nullptr && is_op(*maker, "MatMul")) roles.other(node.inputs[1 - i], Role::Kind::offset);
    }
  }
  return roles;
}

/// FNV-1a: a well-mixed number of the name.
std::uint64_t hash_of(const std::string& name) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

/// Mean 0, variance 1: four 16-bit uniforms of one draw. Sum of variance 4 (2^32 - 1) / 12, mean 2 (2^16 - 1).
double bell(Random& random) {
  const std::uint64_t bits = random.next();
  const std::uint64_t sum = (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48);
  constexpr double kPerDeviation = 1.0 / 37837.2267;  // 1 / sqrt((2^32 - 1) / 3)
  return (static_cast<double>(sum) - 131070.0) * kPerDeviation;
}

void fill(Tensor& tensor, const Role& role, std::uint64_t seed) {
  Random random(seed);
  const double deviation = std::sqrt(2.0 / static_cast<double>(role.fan_in));
  float* values = tensor.data<float>();
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    switch (role.kind) {
      case Role::Kind::weight:
        values[i] = static_cast<float>(bell(random) * deviation);
        break;
      case Role::Kind::offset:
        values[i] = static_cast<float>((random.unit() - 0.5) * 0.2);
        break;
      case Role::Kind::scale:
        values[i] = static_cast<float>(0.8 + random.unit() * 0.4);
        break;
    }
  }
}

}  // namespace

std::size_t randomize_weights(Graph& graph, std::uint64_t seed) {
  const Roles roles = collect(graph);
  std::uint64_t mixed = seed;
  const std::uint64_t base = splitmix64(mixed);
  for (const auto& [name, role] : roles.all()) fill(graph.constants.at(name), role, base ^ hash_of(name));
  return roles.all().size();
}

}  // namespace tessera::compiler
