// What the NPU lacks runs on the host between two NPU sections: the arithmetic of such a step on quantised tensors, in
// ONNX's own element order. Each input is dequantised in double, the operator computed with compiler/host/math.hpp,
// the result divided by the output's scale and rounded half to even. The same code runs behind every backend and in
// the `graph` interpreter, so they agree by construction.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "hw/common/units.hpp"

namespace tessera::isa {
struct ChipConfig;
}

namespace tessera::compiler::host {

/// A tensor in memory, little-endian. dtype: "int8", "uint8", "int16" or "int32" quantised; in steps of node_step.hpp
/// also every other number type, as it is.
struct TensorIn {
  std::vector<std::int64_t> shape;
  std::string dtype;
  double scale = 1.0;
  std::int32_t zero_point = 0;
  const std::uint8_t* data = nullptr;
};
struct TensorOut {
  std::vector<std::int64_t> shape;
  std::string dtype;
  double scale = 1.0;
  std::int32_t zero_point = 0;
  std::uint8_t* data = nullptr;
};
using StepAttributes = std::map<std::string, std::vector<double>>;  // as isa::HostStep::attributes

/// Operators with exact steps of their own, by ONNX name; any other one comes as in node_step.hpp.
[[nodiscard]] const std::vector<std::string>& host_operators();
[[nodiscard]] bool host_supports(const std::string& op);

/// `name` is the node's, for messages. UserError: unknown operator, attribute or shape that does not fit.
void run_host_step(const std::string& name, const std::string& op, const StepAttributes& attributes,
                   const std::vector<TensorIn>& inputs, const std::vector<TensorOut>& outputs);

/// Core cycles of a step, from the chip's host.* keys: start + elements x cycles per element + bytes / rate, each part
/// rounded up. `elements`: of all outputs; `bytes`: of all inputs and outputs, which go through DRAM.
[[nodiscard]] Cycles host_step_cycles(const isa::ChipConfig& chip, std::int64_t elements, Bytes bytes);

}  // namespace tessera::compiler::host
