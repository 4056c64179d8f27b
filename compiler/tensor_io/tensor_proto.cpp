// onnx.TensorProto files; what is in the message is compiler/import's business.
#include <limits>

#include <onnx/onnx_pb.h>

#include "compiler/import/tensor.hpp"
#include "compiler/tensor_io/file.hpp"
#include "compiler/tensor_io/tensor_io.hpp"
#include "hw/common/error.hpp"

namespace tessera::compiler {

NamedTensor parse_tensor_proto(const std::vector<std::uint8_t>& bytes, const std::string& where) {
  onnx::TensorProto proto;
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()) ||
      !proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    user_error(where, ": not an onnx.TensorProto, or truncated");
  }
  if (proto.data_location() == onnx::TensorProto::EXTERNAL) user_error(where, ": external data is not read here");
  return {proto.name(), tensor_from_proto(proto, where, {})};
}

NamedTensor read_tensor_proto(const std::filesystem::path& file) {
  return parse_tensor_proto(file_bytes(file), file.string());
}

}  // namespace tessera::compiler
