// How far the int8 network is from the float one: per tensor and end to end, over samples. Each tensor of the integer
// graph that carries a float value is compared with that value as the float network computes it.
#pragma once

#include <string>
#include <vector>

#include "compiler/quantize/quantize.hpp"

namespace tessera::compiler {

struct TensorAccuracy {
  std::string name;  // ONNX value
  std::string node;  // that makes it, "" for inputs
  std::string op;
  bool output = false;  // of the network
  double mae = 0, mse = 0;
  double psnr = 0;  // dB, over the value's largest magnitude; +inf where equal
  double cosine = 1;
};

/// Worst cosine first. `real`: the float graph as it was quantised; `quantised`: its QDQ graph.
[[nodiscard]] std::vector<TensorAccuracy> measure_accuracy(const Graph& real, const Graph& quantised,
                                                           const std::vector<NamedTensors>& samples);

/// One self-contained page: outputs, then all tensors, worst first.
[[nodiscard]] std::string accuracy_page(const std::string& model, const std::vector<TensorAccuracy>& rows);

}  // namespace tessera::compiler
