#include "compiler/host/node_step.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "compiler/interpret/evaluate.hpp"
#include "hw/common/error.hpp"

namespace tessera::compiler::host {
namespace {

using Numbers = std::vector<double>;

constexpr DType kTypes[] = {DType::f32, DType::f64, DType::f16, DType::i8,  DType::u8,  DType::i16,
                            DType::u16, DType::i32, DType::u32, DType::i64, DType::u64, DType::boolean};

DType type_named(const std::string& node, const std::string& dtype) {
  for (const DType type : kTypes) {
    if (dtype == dtype_name(type)) return type;
  }
  user_error("node '", node, "' on the host: type ", dtype, ": expected a number type");
}

bool is_float(DType type) { return type == DType::f32 || type == DType::f64 || type == DType::f16; }

/// int64 ends survive the way through double.
std::int64_t to_int(double v) {
  if (v >= 9223372036854775807.0) return INT64_MAX;
  if (v <= -9223372036854775808.0) return INT64_MIN;
  return static_cast<std::int64_t>(v);
}

Numbers numbers_of(const Tensor& tensor) {
  if (!is_float(tensor.dtype)) {
    const std::vector<std::int64_t> ints = tensor.as_ints();
    return {ints.begin(), ints.end()};
  }
  return tensor.as_doubles();
}

/// float16 has no arithmetic here; its constants become float32.
Tensor tensor_of(DType type, const Shape& shape, const Numbers& values) {
  Tensor tensor = Tensor::make(type == DType::f16 ? DType::f32 : type, shape);
  for (std::size_t i = 0; i < values.size(); ++i) {
    switch (tensor.dtype) {
      case DType::f32:
        tensor.data<float>()[i] = static_cast<float>(values[i]);
        break;
      case DType::f64:
        tensor.data<double>()[i] = values[i];
        break;
      default: {  // little-endian integers
        const std::int64_t v = to_int(values[i]);
        std::memcpy(tensor.bytes.data() + i * dtype_size(tensor.dtype), &v, dtype_size(tensor.dtype));
      }
    }
  }
  return tensor;
}

const Numbers* find(const StepAttributes& attributes, const std::string& key) {
  const auto found = attributes.find(key);
  return found == attributes.end() ? nullptr : &found->second;
}

const Numbers& required(const std::string& name, const StepAttributes& attributes, const std::string& key) {
  const Numbers* numbers = find(attributes, key);
  if (numbers == nullptr) user_error("node '", name, "' on the host: the step has no ", key);
  return *numbers;
}

Tensor input_tensor(const std::string& name, const TensorIn& in) {
  const DType type = type_named(name, in.dtype);
  Tensor raw = Tensor::make(type, in.shape);
  std::memcpy(raw.bytes.data(), in.data, raw.bytes.size());
  // Types that a quantiser makes hold real numbers; all others are what they are.
  if (type != DType::i8 && type != DType::u8 && type != DType::i16) return raw;
  const std::vector<std::int64_t> q = raw.as_ints();
  Tensor real = Tensor::make(DType::f32, in.shape);
  for (std::size_t i = 0; i < q.size(); ++i) {
    real.data<float>()[i] = static_cast<float>(static_cast<double>(q[i] - in.zero_point) * in.scale);
  }
  return real;
}

void store(const std::string& name, const Tensor& value, const TensorOut& out) {
  const DType type = type_named(name, out.dtype);
  if (value.elements() != element_count(out.shape)) {
    user_error("node '", name, "' on the host: it gives ", shape_text(value.shape), ", expected ",
               shape_text(out.shape));
  }
  if (type == value.dtype) {
    std::memcpy(out.data, value.bytes.data(), value.bytes.size());
    return;
  }
  if (!is_float(value.dtype) || (type != DType::i8 && type != DType::u8 && type != DType::i16)) {
    user_error("node '", name, "' on the host: it gives ", dtype_name(value.dtype), ", expected ", out.dtype);
  }
  const double low = type == DType::u8 ? 0.0 : type == DType::i8 ? -128.0 : -32768.0;
  const double high = type == DType::u8 ? 255.0 : type == DType::i8 ? 127.0 : 32767.0;
  const std::vector<double> real = value.as_doubles();
  for (std::size_t i = 0; i < real.size(); ++i) {
    const double scaled = std::isnan(real[i]) ? 0.0 : std::nearbyint(real[i] / out.scale);
    const auto q = static_cast<std::int64_t>(std::clamp(scaled + out.zero_point, low, high));
    std::memcpy(out.data + i * dtype_size(type), &q, dtype_size(type));
  }
}

void restore_attribute(Node* node, const std::string& key, const Numbers& numbers) {
  const std::size_t dot = key.find('.');
  if (dot == std::string::npos) return;
  const std::string kind = key.substr(0, dot);
  Attribute& attribute = node->attributes[key.substr(dot + 1)];
  if (kind == "int") {
    attribute = to_int(numbers.at(0));
  } else if (kind == "float") {
    attribute = static_cast<float>(numbers.at(0));
  } else if (kind == "ints") {
    std::vector<std::int64_t> ints;
    for (const double v : numbers) ints.push_back(to_int(v));
    attribute = ints;
  } else if (kind == "floats") {
    std::vector<float> floats;
    for (const double v : numbers) floats.push_back(static_cast<float>(v));
    attribute = floats;
  } else if (kind == "text") {
    std::string text;
    for (const double v : numbers) text += static_cast<char>(static_cast<unsigned char>(to_int(v)));
    attribute = text;
  } else {
    node->attributes.erase(key.substr(dot + 1));
  }
}

}  // namespace

StepAttributes node_attributes(const Node& node, std::size_t output, const std::vector<int>& positions,
                               const std::vector<const Tensor*>& constants) {
  StepAttributes result;
  result["node.inputs"] = {positions.begin(), positions.end()};
  result["node.output"] = {static_cast<double>(output)};
  result["node.outputs"] = {static_cast<double>(node.outputs.size())};
  for (std::size_t i = 0; i < positions.size(); ++i) {
    if (positions[i] != kConstant) continue;
    const std::string key = "input." + std::to_string(i);
    const Tensor& tensor = *constants.at(i);
    result[key + ".shape"] = {tensor.shape.begin(), tensor.shape.end()};
    result[key + ".type"] = {static_cast<double>(tensor.dtype)};
    result[key + ".values"] = numbers_of(tensor);
  }
  for (const auto& [key, value] : node.attributes) {
    if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      result["int." + key] = {static_cast<double>(*integer)};
    } else if (const auto* real = std::get_if<float>(&value)) {
      result["float." + key] = {static_cast<double>(*real)};
    } else if (const auto* ints = std::get_if<std::vector<std::int64_t>>(&value)) {
      result["ints." + key] = {ints->begin(), ints->end()};
    } else if (const auto* floats = std::get_if<std::vector<float>>(&value)) {
      result["floats." + key] = {floats->begin(), floats->end()};
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      Numbers codes;
      for (const char c : *text) codes.push_back(static_cast<double>(static_cast<unsigned char>(c)));
      result["text." + key] = codes;
    } else {
      user_error("node '", node.name, "' (", node.op, "): attribute ", key,
                 " is a tensor or a list of strings: a host step takes numbers and text");
    }
  }
  return result;
}

bool is_node_step(const StepAttributes& attributes) { return attributes.count("node.inputs") != 0; }

void run_node_step(const std::string& name, const std::string& op, const StepAttributes& attributes,
                   const std::vector<TensorIn>& inputs, const std::vector<TensorOut>& outputs) {
  Node node;
  node.name = name;
  node.op = op;
  for (const auto& [key, numbers] : attributes) restore_attribute(&node, key, numbers);
  const auto output = static_cast<std::size_t>(required(name, attributes, "node.output").at(0));
  const auto count = static_cast<std::size_t>(required(name, attributes, "node.outputs").at(0));
  for (std::size_t i = 0; i < count; ++i) node.outputs.push_back("y" + std::to_string(i));
  std::vector<Tensor> tensors;
  const Numbers& positions = required(name, attributes, "node.inputs");
  tensors.reserve(positions.size());
  std::vector<const Tensor*> arguments;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const int position = static_cast<int>(positions[i]);
    node.inputs.push_back(position == kAbsent ? "" : "x" + std::to_string(i));
    if (position == kAbsent) {
      arguments.push_back(nullptr);
      continue;
    }
    if (position == kConstant) {
      const std::string key = "input." + std::to_string(i);
      Shape shape;
      for (const double d : required(name, attributes, key + ".shape")) shape.push_back(to_int(d));
      tensors.push_back(tensor_of(static_cast<DType>(required(name, attributes, key + ".type").at(0)), shape,
                                  required(name, attributes, key + ".values")));
    } else {
      tensors.push_back(input_tensor(name, inputs.at(static_cast<std::size_t>(position))));
    }
    arguments.push_back(&tensors.back());
  }
  const std::vector<Tensor> results = evaluate_node(node, arguments);
  store(name, results.at(output), outputs.at(0));
}

}  // namespace tessera::compiler::host
