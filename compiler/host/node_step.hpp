// Any ONNX node that the float interpreter can evaluate as a host step: quantised inputs are dequantised to float32,
// the interpreter runs the node, float results are quantised again (round half to even, clamped; not-a-number is 0).
// The node itself travels as numbers in the step's attributes, so that it fits into program.bin:
//   node.inputs     for each ONNX input the position in the step's inputs; -1 absent, -2 constant
//   node.output     which of the node's outputs this step computes;  node.outputs: how many it has
//   input.I.shape, input.I.type (a DType), input.I.values          constant input I
//   int.KEY, ints.KEY, float.KEY, floats.KEY, text.KEY (character codes)    attributes
// A node of which several outputs are read is one step an output, each charged.
#pragma once

#include <string>
#include <vector>

#include "compiler/host/host_step.hpp"
#include "compiler/ir/graph.hpp"

namespace tessera::compiler::host {

/// Position of an input that is no tensor of the step.
inline constexpr int kAbsent = -1;
inline constexpr int kConstant = -2;

/// The attributes above. `positions`: as node.inputs; `constants`: tensor of each constant input, else nullptr.
/// UserError: an attribute that has no numbers (a tensor, a list of strings).
[[nodiscard]] StepAttributes node_attributes(const Node& node, std::size_t output, const std::vector<int>& positions,
                                             const std::vector<const Tensor*>& constants);

[[nodiscard]] bool is_node_step(const StepAttributes& attributes);

void run_node_step(const std::string& name, const std::string& op, const StepAttributes& attributes,
                   const std::vector<TensorIn>& inputs, const std::vector<TensorOut>& outputs);

}  // namespace tessera::compiler::host
