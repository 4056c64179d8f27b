#include "compiler/import/check.hpp"

#include <exception>

#include <onnx/checker.h>
#include <onnx/onnx_pb.h>

namespace tessera::compiler {

std::vector<std::string> onnx_checker_warnings(onnx::ModelProto& model, std::int64_t opset) {
  constexpr int kNewestCheckedOpset = 17;  // of the packaged libonnx 1.12
  constexpr int kNewestCheckedIr = 8;
  if (opset > kNewestCheckedOpset || model.ir_version() > kNewestCheckedIr) return {};
  for (const auto& import : model.opset_import()) {
    if (!import.domain().empty() && import.domain() != "ai.onnx") return {};
  }
  for (const auto& tensor : model.graph().initializer()) {
    if (tensor.data_location() == onnx::TensorProto::EXTERNAL) return {};  // it would search the current folder
  }
  for (onnx::ValueInfoProto& output : *model.mutable_graph()->mutable_output()) {
    if (output.type().has_tensor_type()) output.mutable_type()->mutable_tensor_type()->mutable_shape();
  }
  try {
    onnx::checker::check_model(model);
  } catch (const std::exception& error) {
    return {error.what()};
  }
  return {};
}

}  // namespace tessera::compiler
