// From a float graph to standard QDQ ONNX (quantize), and from QDQ to the frozen integer graph that the backend
// schedules (lower). Method: min-max, symmetric int8 activations, int8 weights per output channel, int32 bias. Both are
// independent of the chip. Float graphs come prepared and canonicalised (compiler/passes).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "compiler/interpret/evaluate.hpp"
#include "compiler/ir/graph.hpp"
#include "compiler/ir/qgraph.hpp"

namespace tessera::compiler {

/// Samples from an .npz or from every .npz of a directory: `calib_<input>`, else `<input>`, samples along the first
/// axis ('/' in names is written '~'). An array of the input's own shape is one sample.
[[nodiscard]] std::vector<NamedTensors> read_calibration(const Graph& graph, const std::filesystem::path& path);
/// One sample of standard normal values.
[[nodiscard]] std::vector<NamedTensors> random_calibration(const Graph& graph, std::uint64_t seed);

/// Whether the graph holds QuantizeLinear, DequantizeLinear or QLinear operators.
[[nodiscard]] bool is_quantized(const Graph& graph);

/// The graph with QuantizeLinear / DequantizeLinear pairs. Every float value gets one but those inside a fused
/// operator + Relu / Clip. UserError: a value that is not finite, an operator the interpreter has not.
[[nodiscard]] Graph quantize(const Graph& graph, const std::vector<NamedTensors>& samples);
/// The same graph with all scales 1 and all weights 0, without running it: for cycles, not for values.
[[nodiscard]] Graph quantize_for_timing(const Graph& graph);

/// The integer graph of a QDQ or QLinear graph with known shapes. UserError: a node without integer form (which, why,
/// what is legal), or whose sums could leave int32.
[[nodiscard]] QGraph lower(const Graph& graph);

/// A node that neither the NPU nor the host takes, with the message that `lower` alone would end with.
struct Refusal {
  std::string node, op, text;
};
/// lower() that goes on behind a refusal, for `tessera check`. With refusals the graph is for looking at only: a
/// refused node is a host node without inputs.
[[nodiscard]] QGraph lower(const Graph& graph, std::vector<Refusal>* refusals);

/// `tessera eval`: a quantised graph goes through lower and the `graph` oracle, a float graph through the float
/// interpreter, and so does a quantised one whose scales are inputs. Inputs and outputs are of the model's types, by
/// name.
[[nodiscard]] NamedTensors evaluate_model(const Graph& graph, const NamedTensors& inputs);

}  // namespace tessera::compiler
