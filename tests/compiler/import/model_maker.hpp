// Makes small ONNX files in memory for the import tests.
#pragma once

#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

namespace tessera::compiler {

class ModelMaker {
 public:
  explicit ModelMaker(std::int64_t opset, std::int64_t ir = 8) {
    model.set_ir_version(ir);
    auto* import = model.add_opset_import();
    import->set_domain("");
    import->set_version(opset);
    model.mutable_graph()->set_name("g");
  }

  /// A dimension of text is a symbol.
  void input(const std::string& name, const std::vector<std::string>& dims, int type = onnx::TensorProto::FLOAT) {
    auto* info = model.mutable_graph()->add_input();
    info->set_name(name);
    auto* tensor = info->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(type);
    tensor->mutable_shape();
    for (const std::string& dim : dims) {
      auto* entry = tensor->mutable_shape()->add_dim();
      if (dim[0] >= '0' && dim[0] <= '9') {
        entry->set_dim_value(std::stoll(dim));
      } else {
        entry->set_dim_param(dim);
      }
    }
  }

  void output(const std::string& name) {
    auto* info = model.mutable_graph()->add_output();
    info->set_name(name);
    info->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  }

  onnx::NodeProto& node(const std::string& op, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs, const std::string& name = "") {
    auto* made = model.mutable_graph()->add_node();
    made->set_op_type(op);
    made->set_name(name);
    for (const std::string& value : inputs) made->add_input(value);
    for (const std::string& value : outputs) made->add_output(value);
    return *made;
  }

  onnx::TensorProto& initialiser(const std::string& name, const std::vector<std::int64_t>& dims, int type) {
    auto* tensor = model.mutable_graph()->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(type);
    for (const std::int64_t dim : dims) tensor->add_dims(dim);
    return *tensor;
  }

  void int64s(const std::string& name, const std::vector<std::int64_t>& values) {
    auto& tensor = initialiser(name, {static_cast<std::int64_t>(values.size())}, onnx::TensorProto::INT64);
    for (const std::int64_t value : values) tensor.add_int64_data(value);
  }

  [[nodiscard]] std::string bytes() const { return model.SerializeAsString(); }

  onnx::ModelProto model;
};

inline void set_int(onnx::NodeProto& node, const std::string& key, std::int64_t value) {
  auto* attribute = node.add_attribute();
  attribute->set_name(key);
  attribute->set_type(onnx::AttributeProto::INT);
  attribute->set_i(value);
}

inline void set_float(onnx::NodeProto& node, const std::string& key, float value) {
  auto* attribute = node.add_attribute();
  attribute->set_name(key);
  attribute->set_type(onnx::AttributeProto::FLOAT);
  attribute->set_f(value);
}

inline void set_ints(onnx::NodeProto& node, const std::string& key, const std::vector<std::int64_t>& values) {
  auto* attribute = node.add_attribute();
  attribute->set_name(key);
  attribute->set_type(onnx::AttributeProto::INTS);
  for (const std::int64_t value : values) attribute->add_ints(value);
}

inline void set_floats(onnx::NodeProto& node, const std::string& key, const std::vector<float>& values) {
  auto* attribute = node.add_attribute();
  attribute->set_name(key);
  attribute->set_type(onnx::AttributeProto::FLOATS);
  for (const float value : values) attribute->add_floats(value);
}

}  // namespace tessera::compiler
