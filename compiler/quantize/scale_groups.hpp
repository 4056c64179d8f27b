// Which values of a float graph are quantised, and which of them must share one scale. Private to compiler/quantize.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/ir/graph.hpp"

namespace tessera::compiler {

/// How a value is stored: real = (q - zero_point) * scale. Scales are float32, as QuantizeLinear holds them.
struct Affine8 {
  float scale = 1.0F;
  std::int32_t zero_point = 0;
};

/// Softmax yields probabilities: 256 steps of 1/256 from 0.
inline constexpr Affine8 kProbability{1.0F / 256.0F, -128};

class ScaleGroups {
 public:
  explicit ScaleGroups(const Graph& graph);

  /// Float values that get a QuantizeLinear: all but constants and values inside operator + Relu / Clip.
  [[nodiscard]] bool quantized(const std::string& value) const { return quantized_.count(value) != 0; }
  /// A name that all values of one scale share; UserError-free: every quantised value has one.
  [[nodiscard]] const std::string& group(const std::string& value) const;
  /// Groups whose values all descend from Softmax.
  [[nodiscard]] bool is_probability(const std::string& group) const { return probability_.count(group) != 0; }

 private:
  const std::string& root(const std::string& value) const;
  void unite(const std::string& a, const std::string& b);

  std::set<std::string> quantized_;
  std::map<std::string, std::string> parent_;
  std::set<std::string> probability_;
};

}  // namespace tessera::compiler
