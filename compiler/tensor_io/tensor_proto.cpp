// onnx.TensorProto: raw_data, or the typed field that ONNX prescribes for the data type. External data is refused here.
#include <cstring>
#include <limits>

#include <onnx/onnx_pb.h>

#include "compiler/tensor_io/file.hpp"
#include "compiler/tensor_io/tensor_io.hpp"
#include "hw/common/error.hpp"

namespace tessera::compiler {
namespace {

DType dtype_of_proto(int type, const std::string& where) {
  switch (type) {
    case onnx::TensorProto::FLOAT:
      return DType::f32;
    case onnx::TensorProto::DOUBLE:
      return DType::f64;
    case onnx::TensorProto::FLOAT16:
      return DType::f16;
    case onnx::TensorProto::INT8:
      return DType::i8;
    case onnx::TensorProto::UINT8:
      return DType::u8;
    case onnx::TensorProto::INT16:
      return DType::i16;
    case onnx::TensorProto::UINT16:
      return DType::u16;
    case onnx::TensorProto::INT32:
      return DType::i32;
    case onnx::TensorProto::UINT32:
      return DType::u32;
    case onnx::TensorProto::INT64:
      return DType::i64;
    case onnx::TensorProto::UINT64:
      return DType::u64;
    case onnx::TensorProto::BOOL:
      return DType::boolean;
    default:
      break;
  }
  user_error(where, ": data_type ", type, " is not supported: expected a float, integer or bool tensor");
}

template <typename To, typename Field>
void copy_field(const Field& field, Tensor* tensor, const std::string& where) {
  if (field.size() != tensor->elements()) {
    user_error(where, ": found ", field.size(), " elements, expected ", tensor->elements(), " for shape ",
               shape_text(tensor->shape));
  }
  To* out = tensor->data<To>();
  for (const auto value : field) *out++ = static_cast<To>(value);
}

void copy_typed(const onnx::TensorProto& proto, Tensor* tensor, const std::string& where) {
  switch (tensor->dtype) {
    case DType::f32:
      return copy_field<float>(proto.float_data(), tensor, where);
    case DType::f64:
      return copy_field<double>(proto.double_data(), tensor, where);
    case DType::i64:
      return copy_field<std::int64_t>(proto.int64_data(), tensor, where);
    case DType::u64:
      return copy_field<std::uint64_t>(proto.uint64_data(), tensor, where);
    case DType::u32:
      return copy_field<std::uint32_t>(proto.uint64_data(), tensor, where);
    case DType::i32:
      return copy_field<std::int32_t>(proto.int32_data(), tensor, where);
    case DType::i16:
      return copy_field<std::int16_t>(proto.int32_data(), tensor, where);
    case DType::f16:
    case DType::u16:
      return copy_field<std::uint16_t>(proto.int32_data(), tensor, where);
    case DType::i8:
      return copy_field<std::int8_t>(proto.int32_data(), tensor, where);
    case DType::boolean:
    case DType::u8:
      return copy_field<std::uint8_t>(proto.int32_data(), tensor, where);
    case DType::undefined:
    case DType::string:
      break;
  }
  throw InternalError("a tensor type without field");
}

}  // namespace

NamedTensor parse_tensor_proto(const std::vector<std::uint8_t>& bytes, const std::string& where) {
  onnx::TensorProto proto;
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()) ||
      !proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    user_error(where, ": not an onnx.TensorProto, or truncated");
  }
  if (proto.data_location() == onnx::TensorProto::EXTERNAL) user_error(where, ": external data is not read here");
  if (proto.has_segment()) user_error(where, ": a tensor in segments is not supported: expected a whole tensor");
  NamedTensor result;
  result.name = proto.name();
  const DType dtype = dtype_of_proto(proto.data_type(), where);
  std::uint64_t count = 1;
  Shape shape;
  for (const std::int64_t d : proto.dims()) {
    // An element takes at least one byte of the file (a varint in the typed fields), so more cannot be there.
    if (d < 0 || (d > 0 && count > bytes.size() / static_cast<std::uint64_t>(d) + 1)) {
      user_error(where, ": dims: dimension ", d, " does not fit a file of ", bytes.size(), " bytes");
    }
    count *= static_cast<std::uint64_t>(d);
    shape.push_back(d);
  }
  if (count > bytes.size()) user_error(where, ": shape ", shape_text(shape), " does not fit the file");
  result.tensor = Tensor::make(dtype, shape);
  if (!proto.has_raw_data()) {
    copy_typed(proto, &result.tensor, where);
  } else if (proto.raw_data().size() != result.tensor.bytes.size()) {
    user_error(where, ": raw_data has ", proto.raw_data().size(), " bytes, expected ", result.tensor.bytes.size(),
               " for shape ", shape_text(shape), " of ", dtype_name(dtype));
  } else {
    std::memcpy(result.tensor.bytes.data(), proto.raw_data().data(), result.tensor.bytes.size());
  }
  return result;
}

NamedTensor read_tensor_proto(const std::filesystem::path& file) {
  return parse_tensor_proto(file_bytes(file), file.string());
}

}  // namespace tessera::compiler
