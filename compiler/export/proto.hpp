// Tensors, attributes and values as messages of the ONNX format. Private to compiler/export.
#pragma once

#include <string>

#include "compiler/ir/graph.hpp"

namespace onnx {
class AttributeProto;
class TensorProto;
class ValueInfoProto;
}  // namespace onnx

namespace tessera::compiler {

[[nodiscard]] int onnx_type(DType type);

void to_proto(const Tensor& tensor, onnx::TensorProto& proto);
void to_proto(const std::string& name, const Attribute& attribute, onnx::AttributeProto& proto);
void to_proto(const std::string& name, DType type, const std::optional<Shape>& shape, onnx::ValueInfoProto& proto);

}  // namespace tessera::compiler
