// Layers that the networks of the zoo are made of; weights are zeros that zoo_build fills. Private to compiler/zoo.
#pragma once

#include <string>

#include "compiler/ir/builder.hpp"

namespace tessera::compiler::zoo {

struct ConvShape {
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t pad = 0;
  std::int64_t groups = 1;
};

/// A network under construction: each call appends to `value` and returns the new value's name.
class Layers {
 public:
  explicit Layers(const std::string& name) : builder_(name) {}

  std::string input();
  std::string conv(const std::string& value, const ConvShape& shape, const std::string& name);
  /// Conv without bias, then BatchNormalization.
  std::string conv_norm(const std::string& value, const ConvShape& shape, const std::string& name);
  std::string relu(const std::string& value, const std::string& name);
  std::string relu6(const std::string& value, const std::string& name);
  std::string add(const std::string& a, const std::string& b, const std::string& name);
  std::string max_pool(const std::string& value, std::int64_t kernel, std::int64_t stride, std::int64_t pad,
                       std::int64_t ceil_mode, const std::string& name);
  std::string global_average_pool(const std::string& value, const std::string& name);
  std::string flatten(const std::string& value, const std::string& name);
  std::string concat(const std::string& a, const std::string& b, const std::string& name);
  std::string linear(const std::string& value, std::int64_t inputs, std::int64_t outputs, const std::string& name);

  /// `value`: what leaves the network.
  [[nodiscard]] Graph finish(const std::string& value = "output");

 private:
  GraphBuilder builder_;
};

Graph resnet50();
Graph resnet50_stage1();
Graph mobilenet_v2();
Graph vgg16();
Graph squeezenet();

}  // namespace tessera::compiler::zoo
