#include "compiler/zoo/layers.hpp"

namespace tessera::compiler::zoo {

std::string Layers::input() { return builder_.input("input", {1, 3, 224, 224}); }

std::string Layers::conv(const std::string& value, const ConvShape& s, const std::string& name) {
  const Shape weight = {s.outputs, s.inputs / s.groups, s.kernel, s.kernel};
  const std::string w = builder_.constant(name + ".weight", Tensor::make(DType::f32, weight));
  const std::string b = builder_.constant(name + ".bias", Tensor::make(DType::f32, {s.outputs}));
  return builder_.node("Conv", {value, w, b},
                       {{"kernel_shape", Ints{s.kernel, s.kernel}},
                        {"strides", Ints{s.stride, s.stride}},
                        {"pads", Ints{s.pad, s.pad, s.pad, s.pad}},
                        {"dilations", Ints{1, 1}},
                        {"group", s.groups}},
                       name);
}

std::string Layers::conv_norm(const std::string& value, const ConvShape& s, const std::string& name) {
  const Shape weight = {s.outputs, s.inputs / s.groups, s.kernel, s.kernel};
  const std::string w = builder_.constant(name + ".weight", Tensor::make(DType::f32, weight));
  const std::string conv = builder_.node("Conv", {value, w},
                                         {{"kernel_shape", Ints{s.kernel, s.kernel}},
                                          {"strides", Ints{s.stride, s.stride}},
                                          {"pads", Ints{s.pad, s.pad, s.pad, s.pad}},
                                          {"dilations", Ints{1, 1}},
                                          {"group", s.groups}},
                                         name);
  std::vector<std::string> inputs = {conv};
  for (const char* part : {".scale", ".shift", ".mean", ".var"}) {
    inputs.push_back(builder_.constant(name + ".bn" + part, Tensor::make(DType::f32, {s.outputs})));
  }
  return builder_.node("BatchNormalization", inputs, {{"epsilon", 1e-5F}}, name + ".bn");
}

std::string Layers::relu(const std::string& value, const std::string& name) {
  return builder_.node("Relu", {value}, {}, name);
}

std::string Layers::relu6(const std::string& value, const std::string& name) {
  const std::string low = builder_.constant(name + ".min", float_tensor({}, {0.0F}));
  const std::string high = builder_.constant(name + ".max", float_tensor({}, {6.0F}));
  return builder_.node("Clip", {value, low, high}, {}, name);
}

std::string Layers::add(const std::string& a, const std::string& b, const std::string& name) {
  return builder_.node("Add", {a, b}, {}, name);
}

std::string Layers::max_pool(const std::string& value, std::int64_t kernel, std::int64_t stride, std::int64_t pad,
                             std::int64_t ceil_mode, const std::string& name) {
  return builder_.node("MaxPool", {value},
                       {{"kernel_shape", Ints{kernel, kernel}},
                        {"strides", Ints{stride, stride}},
                        {"pads", Ints{pad, pad, pad, pad}},
                        {"ceil_mode", ceil_mode}},
                       name);
}

std::string Layers::global_average_pool(const std::string& value, const std::string& name) {
  return builder_.node("GlobalAveragePool", {value}, {}, name);
}

std::string Layers::flatten(const std::string& value, const std::string& name) {
  return builder_.node("Flatten", {value}, {{"axis", std::int64_t{1}}}, name);
}

std::string Layers::concat(const std::string& a, const std::string& b, const std::string& name) {
  return builder_.node("Concat", {a, b}, {{"axis", std::int64_t{1}}}, name);
}

std::string Layers::linear(const std::string& value, std::int64_t inputs, std::int64_t outputs,
                           const std::string& name) {
  const std::string w = builder_.constant(name + ".weight", Tensor::make(DType::f32, {outputs, inputs}));
  const std::string b = builder_.constant(name + ".bias", Tensor::make(DType::f32, {outputs}));
  return builder_.node("Gemm", {value, w, b}, {{"transB", std::int64_t{1}}}, name);
}

Graph Layers::finish(const std::string& value) {
  builder_.output(value);
  return builder_.take();
}

}  // namespace tessera::compiler::zoo
