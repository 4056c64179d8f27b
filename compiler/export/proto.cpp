#include "compiler/export/proto.hpp"

#include <onnx/onnx_pb.h>

#include "hw/common/error.hpp"

namespace tessera::compiler {

int onnx_type(DType type) {
  switch (type) {
    case DType::undefined:
      return onnx::TensorProto::UNDEFINED;
    case DType::f32:
      return onnx::TensorProto::FLOAT;
    case DType::f64:
      return onnx::TensorProto::DOUBLE;
    case DType::f16:
      return onnx::TensorProto::FLOAT16;
    case DType::i8:
      return onnx::TensorProto::INT8;
    case DType::u8:
      return onnx::TensorProto::UINT8;
    case DType::i16:
      return onnx::TensorProto::INT16;
    case DType::u16:
      return onnx::TensorProto::UINT16;
    case DType::i32:
      return onnx::TensorProto::INT32;
    case DType::u32:
      return onnx::TensorProto::UINT32;
    case DType::i64:
      return onnx::TensorProto::INT64;
    case DType::u64:
      return onnx::TensorProto::UINT64;
    case DType::boolean:
      return onnx::TensorProto::BOOL;
    case DType::string:
      return onnx::TensorProto::STRING;
  }
  TESSERA_CHECK(false, "no such data type ", static_cast<int>(type));
}

namespace {

void shape_and_type(const Tensor& tensor, onnx::TensorProto& proto) {
  for (const std::int64_t dim : tensor.shape) proto.add_dims(dim);
  proto.set_data_type(onnx_type(tensor.dtype));
}

}  // namespace

void to_proto(const Tensor& tensor, onnx::TensorProto& proto) {
  shape_and_type(tensor, proto);
  proto.set_raw_data(tensor.bytes.data(), tensor.bytes.size());
}

void to_proto(const std::string& name, const Attribute& attribute, onnx::AttributeProto& proto) {
  proto.set_name(name);
  if (const auto* integer = std::get_if<std::int64_t>(&attribute)) {
    proto.set_type(onnx::AttributeProto::INT);
    proto.set_i(*integer);
  } else if (const auto* number = std::get_if<float>(&attribute)) {
    proto.set_type(onnx::AttributeProto::FLOAT);
    proto.set_f(*number);
  } else if (const auto* text = std::get_if<std::string>(&attribute)) {
    proto.set_type(onnx::AttributeProto::STRING);
    proto.set_s(*text);
  } else if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&attribute)) {
    proto.set_type(onnx::AttributeProto::INTS);
    for (const std::int64_t value : *integers) proto.add_ints(value);
  } else if (const auto* numbers = std::get_if<std::vector<float>>(&attribute)) {
    proto.set_type(onnx::AttributeProto::FLOATS);
    for (const float value : *numbers) proto.add_floats(value);
  } else if (const auto* texts = std::get_if<std::vector<std::string>>(&attribute)) {
    proto.set_type(onnx::AttributeProto::STRINGS);
    for (const std::string& value : *texts) proto.add_strings(value);
  } else {
    proto.set_type(onnx::AttributeProto::TENSOR);
    to_proto(std::get<Tensor>(attribute), *proto.mutable_t());
  }
}

void to_proto(const std::string& name, DType type, const std::optional<Shape>& shape, onnx::ValueInfoProto& proto) {
  proto.set_name(name);
  auto* tensor = proto.mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(onnx_type(type));
  if (!shape) return;
  tensor->mutable_shape();
  for (const std::int64_t dim : *shape) tensor->mutable_shape()->add_dim()->set_dim_value(dim);
}

}  // namespace tessera::compiler
