// The compiler's view of an ONNX graph while it is still ONNX: nodes, named tensors, constants. Import fills it, the
// float passes rewrite it, export writes it back. One opset version per domain is kept; operator differences between
// opsets are settled by import (compiler/import), so passes see one form of each operator (that of opset 13).
// Leaves out: subgraphs (If, Loop, Scan are refused at import), sparse tensors, sequences.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace tessera::compiler {

enum class DType : std::uint8_t { undefined, f32, f64, f16, i8, u8, i16, u16, i32, u32, i64, u64, boolean, string };
[[nodiscard]] const char* dtype_name(DType type);  // "float32", "int8", ...
[[nodiscard]] std::size_t dtype_size(DType type);  // bytes

using Shape = std::vector<std::int64_t>;
[[nodiscard]] std::int64_t element_count(const Shape& shape);
[[nodiscard]] std::string shape_text(const Shape& shape);  // "1x3x224x224"

/// A dense tensor with data, C order.
struct Tensor {
  DType dtype = DType::undefined;
  Shape shape;
  std::vector<std::uint8_t> bytes;
  template <typename T>
  [[nodiscard]] const T* data() const {
    return reinterpret_cast<const T*>(bytes.data());
  }
  template <typename T>
  [[nodiscard]] T* data() {
    return reinterpret_cast<T*>(bytes.data());
  }
  [[nodiscard]] std::int64_t elements() const { return element_count(shape); }
  [[nodiscard]] static Tensor make(DType dtype, Shape shape);
  /// The elements as double / int64 whatever the stored type (throws InternalError for strings).
  [[nodiscard]] std::vector<double> as_doubles() const;
  [[nodiscard]] std::vector<std::int64_t> as_ints() const;
};

using Attribute = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>, std::vector<float>,
                               std::vector<std::string>, Tensor>;

struct Node {
  std::string name;  // unique; made from the first output when the file gives none
  std::string op;
  std::string domain;               // "" = ai.onnx
  std::vector<std::string> inputs;  // "" = absent optional input
  std::vector<std::string> outputs;
  std::map<std::string, Attribute> attributes;
  std::vector<std::string> fused;  // names of original nodes that this one absorbed

  [[nodiscard]] std::int64_t int_attr(const std::string& key, std::int64_t otherwise) const;
  [[nodiscard]] float float_attr(const std::string& key, float otherwise) const;
  [[nodiscard]] std::string string_attr(const std::string& key, const std::string& otherwise) const;
  [[nodiscard]] std::vector<std::int64_t> ints_attr(const std::string& key, std::vector<std::int64_t> otherwise) const;
};

struct ValueInfo {
  DType dtype = DType::undefined;
  std::optional<Shape> shape;  // known and fully bound after import
};

struct Graph {
  std::string name;
  std::string model_sha256;
  std::int64_t opset = 13;
  std::vector<Node> nodes;  // topologically sorted
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::map<std::string, ValueInfo> values;  // every non-constant value
  std::map<std::string, Tensor> constants;  // initialisers and folded values
  [[nodiscard]] bool is_constant(const std::string& value) const { return constants.count(value) != 0; }
  /// Shape of a value or constant; InternalError when unknown.
  [[nodiscard]] const Shape& shape_of(const std::string& value) const;
  [[nodiscard]] DType dtype_of(const std::string& value) const;
};

}  // namespace tessera::compiler
