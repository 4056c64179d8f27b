#include "compiler/import/tensor.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>

#include <onnx/onnx_pb.h>

#include "hw/common/error.hpp"

namespace tessera::compiler {
namespace {

constexpr std::int64_t kLargestTensorBytes = std::int64_t{1} << 34;

/// The declared shape, with a byte size that fits; nothing is allocated before this has been checked.
Shape checked_shape(const onnx::TensorProto& proto, const std::string& where, DType dtype) {
  Shape shape(proto.dims().begin(), proto.dims().end());
  std::int64_t bytes = static_cast<std::int64_t>(dtype_size(dtype));
  for (const std::int64_t dim : shape) {
    if (dim < 0) user_error(where, ": has a negative size ", dim, ": expected sizes of at least 0");
    // A size of 0 counts as 1, so that no product of some of the sizes overflows either.
    if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(dim, 1), &bytes) || bytes > kLargestTensorBytes) {
      user_error(where, ": ", shape_text(shape), " ", dtype_name(dtype), " is larger than 16 GiB");
    }
  }
  return shape;
}

std::uint64_t parse_number(const std::string& text, const std::string& where, const std::string& key) {
  const bool digits = !text.empty() && text.size() <= 18 &&
                      std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!digits) user_error(where, ": external data has ", key, " '", text, "': expected a number of bytes");
  return std::stoull(text);
}

/// Reads external data; the file must lie in the model's folder, also after symbolic links are followed, and hold all
/// bytes: both are checked before memory is taken.
Tensor read_external(const onnx::TensorProto& proto, const std::string& where, const std::filesystem::path& folder,
                     DType dtype, const Shape& shape) {
  std::string location;
  std::uint64_t offset = 0;
  const std::uint64_t needed = static_cast<std::uint64_t>(element_count(shape)) * dtype_size(dtype);
  std::uint64_t length = needed;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = parse_number(entry.value(), where, "offset");
    if (entry.key() == "length") length = parse_number(entry.value(), where, "length");
  }
  if (length != needed) {
    user_error(where, ": external data of ", length, " bytes: ", shape_text(shape), " ", dtype_name(dtype), " needs ",
               needed);
  }
  const std::filesystem::path relative(location);
  bool inside = !location.empty() && location.find('\0') == std::string::npos && relative.is_relative();
  for (const auto& part : relative) inside = inside && part != "..";
  std::error_code failed;
  const std::filesystem::path home = std::filesystem::canonical(folder.empty() ? "." : folder, failed);
  const std::filesystem::path file = inside ? std::filesystem::weakly_canonical(home / relative, failed) : home;
  if (!inside || failed || std::mismatch(home.begin(), home.end(), file.begin(), file.end()).first != home.end()) {
    user_error(where, ": external data in '", location, "': expected a file inside the model's folder");
  }
  std::ifstream in(file, std::ios::binary);
  if (!in || !std::filesystem::is_regular_file(file, failed)) {
    user_error(where, ": external data file '", location, "' cannot be read: expected it beside the model");
  }
  const std::uint64_t size = std::filesystem::file_size(file, failed);
  if (failed || size < offset + length) {
    user_error(where, ": external data file '", location, "' has ", size, " bytes: the model needs ", offset + length);
  }
  Tensor tensor = Tensor::make(dtype, shape);
  in.seekg(static_cast<std::streamoff>(offset));
  in.read(reinterpret_cast<char*>(tensor.bytes.data()), static_cast<std::streamsize>(length));
  if (!in) user_error(where, ": external data file '", location, "' cannot be read");
  return tensor;
}

/// Copies a typed field (float_data, int32_data, ...) whose elements are wider than or as wide as T.
template <typename T, typename Field>
void copy_field(const Field& field, const std::string& where, Tensor& tensor) {
  if (field.size() != tensor.elements()) {
    user_error(where, ": holds ", field.size(), " elements: ", shape_text(tensor.shape), " needs ", tensor.elements());
  }
  T* out = tensor.data<T>();
  for (const auto value : field) *out++ = static_cast<T>(value);
}

void copy_typed(const onnx::TensorProto& proto, const std::string& where, Tensor& tensor) {
  switch (tensor.dtype) {
    case DType::f32:
      return copy_field<float>(proto.float_data(), where, tensor);
    case DType::f64:
      return copy_field<double>(proto.double_data(), where, tensor);
    case DType::i64:
      return copy_field<std::int64_t>(proto.int64_data(), where, tensor);
    case DType::u64:
      return copy_field<std::uint64_t>(proto.uint64_data(), where, tensor);
    case DType::u32:
      return copy_field<std::uint32_t>(proto.uint64_data(), where, tensor);
    case DType::i32:
      return copy_field<std::int32_t>(proto.int32_data(), where, tensor);
    case DType::i16:
      return copy_field<std::int16_t>(proto.int32_data(), where, tensor);
    case DType::u16:
    case DType::f16:  // int32_data holds the bit patterns
      return copy_field<std::uint16_t>(proto.int32_data(), where, tensor);
    case DType::i8:
      return copy_field<std::int8_t>(proto.int32_data(), where, tensor);
    case DType::u8:
    case DType::boolean:
      return copy_field<std::uint8_t>(proto.int32_data(), where, tensor);
    case DType::undefined:
    case DType::string:
      break;
  }
  TESSERA_CHECK(false, where, ": type ", dtype_name(tensor.dtype));
}

}  // namespace

DType dtype_from_onnx(int type) {
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
    case onnx::TensorProto::STRING:
      return DType::string;
    default:
      return DType::undefined;
  }
}

std::string onnx_type_text(int type) {
  // ONNX 1.16 numbers; the packaged headers end at bfloat16.
  static const std::vector<std::string> names = {
      "undefined",      "float32",    "uint8",          "int8",       "uint16",   "int16",
      "int32",          "int64",      "string",         "bool",       "float16",  "float64",
      "uint32",         "uint64",     "complex64",      "complex128", "bfloat16", "float8e4m3fn",
      "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4",      "int4"};
  const bool named = type >= 0 && static_cast<std::size_t>(type) < names.size();
  return (named ? names[static_cast<std::size_t>(type)] : "unknown") + " (" + std::to_string(type) + ")";
}

Tensor tensor_from_proto(const onnx::TensorProto& proto, const std::string& where,
                         const std::filesystem::path& folder) {
  const DType dtype = dtype_from_onnx(proto.data_type());
  if (dtype == DType::undefined || dtype == DType::string) {
    user_error(where, ": has the type ", onnx_type_text(proto.data_type()),
               ": expected float32, float64, float16, bool or an integer of 8 to 64 bits");
  }
  if (proto.has_segment()) user_error(where, ": is a segment of a tensor: expected whole tensors");
  Shape shape = checked_shape(proto, where, dtype);
  if (proto.data_location() == onnx::TensorProto::EXTERNAL) {
    return read_external(proto, where, folder, dtype, shape);
  }
  const std::int64_t present =
      proto.has_raw_data() ? static_cast<std::int64_t>(proto.raw_data().size() / dtype_size(dtype))
                           : std::max({proto.float_data_size(), proto.double_data_size(), proto.int32_data_size(),
                                       proto.int64_data_size(), proto.uint64_data_size()});
  if (present != element_count(shape) || (proto.has_raw_data() && proto.raw_data().size() % dtype_size(dtype) != 0)) {
    user_error(where, ": holds ",
               proto.has_raw_data() ? std::to_string(proto.raw_data().size()) + " bytes"
                                    : std::to_string(present) + " elements",
               ": ", shape_text(shape), " ", dtype_name(dtype), " needs ", element_count(shape), " elements");
  }
  Tensor tensor = Tensor::make(dtype, std::move(shape));
  if (proto.has_raw_data()) {
    if (!tensor.bytes.empty()) std::memcpy(tensor.bytes.data(), proto.raw_data().data(), tensor.bytes.size());
  } else {
    copy_typed(proto, where, tensor);
  }
  return tensor;
}

}  // namespace tessera::compiler
