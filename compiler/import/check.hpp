// ONNX's own checker, asked where it knows the version; what it says is a warning.
#pragma once

#include <string>
#include <vector>

namespace onnx {
class ModelProto;
}

namespace tessera::compiler {

/// Empty when the checker is content or does not know the model's IR version, opset or data layout.
/// Fills in an empty shape where an output has none, which the checker would refuse though ONNX Runtime does not.
[[nodiscard]] std::vector<std::string> onnx_checker_warnings(onnx::ModelProto& model, std::int64_t opset);

}  // namespace tessera::compiler
