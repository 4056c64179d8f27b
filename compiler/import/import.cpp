#include "compiler/import/import.hpp"

#include <set>

#include <onnx/onnx_pb.h>

#include "compiler/import/check.hpp"
#include "compiler/import/contrib.hpp"
#include "compiler/import/opset.hpp"
#include "compiler/import/shapes.hpp"
#include "compiler/import/tensor.hpp"
#include "compiler/ir/marks.hpp"
#include "compiler/ir/sha256.hpp"
#include "compiler/ir/topology.hpp"
#include "hw/common/error.hpp"
#include "hw/common/file.hpp"

namespace tessera::compiler {
namespace {

std::string hex_start(const std::string& bytes) {
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(bytes.size(), 8); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

class Importer {
 public:
  Importer(const onnx::ModelProto& model, std::string file, std::filesystem::path folder)
      : model_(model), proto_(model.graph()), file_(std::move(file)), folder_(std::move(folder)) {}

  Graph run(const ImportOptions& options) {
    graph_.name = proto_.name();
    opset_ = model_opset();
    read_initialisers();
    read_inputs(options);
    for (const onnx::ValueInfoProto& output : proto_.output()) graph_.outputs.push_back(output.name());
    check_interface();
    reserve_names();
    for (const onnx::NodeProto& node : proto_.node()) read_node(node);
    graph_.opset = std::clamp<std::int64_t>(opset_, 13, 17);  // the opset-13 forms are legal up to 17
    sort_topologically(graph_);
    return std::move(graph_);
  }

  [[nodiscard]] std::int64_t opset() const { return opset_; }

 private:
  std::int64_t model_opset() const {
    std::int64_t opset = 0;
    bool uses_onnx = false;
    for (const onnx::NodeProto& node : proto_.node()) uses_onnx = uses_onnx || is_onnx_domain(node.domain());
    for (const auto& import : model_.opset_import()) {
      if (is_onnx_domain(import.domain())) opset = import.version();
    }
    if (opset == 0 && !uses_onnx) return 13;
    if (opset < kOldestOpset || opset > kNewestOpset) {
      user_error(file_, ": ", opset == 0 ? "names no opset of ai.onnx" : "has opset " + std::to_string(opset),
                 ": expected an opset in [", kOldestOpset, ", ", kNewestOpset, "]: convert the model");
    }
    return opset;
  }

  static bool is_onnx_domain(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

  void read_initialisers() {
    if (proto_.sparse_initializer_size() != 0) {
      user_error(file_, ": has sparse initialisers: expected dense tensors only");
    }
    for (const onnx::TensorProto& proto : proto_.initializer()) {
      if (proto.name().empty()) user_error(file_, ": has an initialiser without a name");
      Tensor tensor = tensor_from_proto(proto, file_ + ": initialiser '" + proto.name() + "'", folder_);
      if (!graph_.constants.emplace(proto.name(), std::move(tensor)).second) {
        user_error(file_, ": initialiser '", proto.name(), "' stands there twice");
      }
    }
  }

  /// Graph inputs that no initialiser fills (IR 3 lists initialisers among the inputs).
  void read_inputs(const ImportOptions& options) {
    std::vector<DeclaredInput> declared;
    for (const onnx::ValueInfoProto& proto : proto_.input()) {
      if (graph_.is_constant(proto.name())) continue;
      DeclaredInput input;
      input.name = proto.name();
      if (!proto.type().has_tensor_type()) {
        user_error(file_, ": input '", proto.name(), "' is no tensor: expected dense tensors only");
      }
      const auto& type = proto.type().tensor_type();
      input.dtype = dtype_from_onnx(type.elem_type());
      if (input.dtype == DType::undefined || input.dtype == DType::string) {
        user_error(file_, ": input '", proto.name(), "' has the type ", onnx_type_text(type.elem_type()),
                   ": expected float32, float64, float16, bool or an integer of 8 to 64 bits");
      }
      if (type.has_shape()) {
        input.dims.emplace();
        for (const auto& dim : type.shape().dim()) {
          DeclaredDim entry;
          if (dim.has_dim_value() && dim.dim_value() > 0) {
            entry.size = dim.dim_value();
          } else {
            // 0 and -1 stand for "any size" in some exporters' files.
            entry.symbol = dim.has_dim_value() ? std::to_string(dim.dim_value()) : dim.dim_param();
            if (entry.symbol.empty()) entry.symbol = "?";
          }
          input.dims->push_back(entry);
        }
      }
      declared.push_back(std::move(input));
    }
    const std::vector<Shape> shapes = bind_shapes(file_, declared, options.shapes);
    for (std::size_t i = 0; i < declared.size(); ++i) {
      std::int64_t bytes = static_cast<std::int64_t>(dtype_size(declared[i].dtype));
      for (const std::int64_t dim : shapes[i]) {
        if (__builtin_mul_overflow(bytes, dim, &bytes) || bytes > kLargestInputBytes) {
          user_error(file_, ": input '", declared[i].name, "' of ", shape_text(shapes[i]), " is larger than 1 GiB");
        }
      }
      graph_.inputs.push_back(declared[i].name);
      if (!graph_.values.emplace(declared[i].name, ValueInfo{declared[i].dtype, shapes[i]}).second) {
        user_error(file_, ": input '", declared[i].name, "' stands there twice");
      }
    }
  }

  void check_interface() const {
    if (proto_.node_size() == 0) user_error(file_, ": the graph has no nodes: expected at least one");
    if (graph_.outputs.empty()) user_error(file_, ": the graph has no outputs: expected at least one");
    std::set<std::string> seen;
    for (const std::string& output : graph_.outputs) {
      if (!seen.insert(output).second) user_error(file_, ": output '", output, "' stands there twice");
    }
    if (graph_.values.count("") != 0) user_error(file_, ": has an input without a name");
  }

  /// Values that nodes make, so that constants made by import take none of their names.
  void reserve_names() {
    for (const onnx::NodeProto& node : proto_.node()) {
      for (const std::string& output : node.output()) {
        if (!output.empty()) graph_.values.emplace(output, ValueInfo{});
      }
    }
  }

  std::string node_name(const onnx::NodeProto& proto) {
    std::string wanted = proto.name();
    for (const std::string& output : proto.output()) {
      if (wanted.empty()) wanted = output;
    }
    if (wanted.empty()) wanted = proto.op_type();
    std::string name = wanted;
    for (int suffix = 1; !node_names_.insert(name).second; ++suffix) name = wanted + "_" + std::to_string(suffix);
    return name;
  }

  Attribute read_attribute(const onnx::AttributeProto& proto, const std::string& where) const {
    const std::string place = where + ": attribute '" + proto.name() + "'";
    switch (proto.type()) {
      case onnx::AttributeProto::INT:
        return std::int64_t{proto.i()};
      case onnx::AttributeProto::FLOAT:
        return proto.f();
      case onnx::AttributeProto::STRING:
        return proto.s();
      case onnx::AttributeProto::INTS:
        return std::vector<std::int64_t>(proto.ints().begin(), proto.ints().end());
      case onnx::AttributeProto::FLOATS:
        return std::vector<float>(proto.floats().begin(), proto.floats().end());
      case onnx::AttributeProto::STRINGS:
        return std::vector<std::string>(proto.strings().begin(), proto.strings().end());
      case onnx::AttributeProto::TENSOR:
        return tensor_from_proto(proto.t(), place, folder_);
      case onnx::AttributeProto::GRAPH:
      case onnx::AttributeProto::GRAPHS:
        user_error(place,
                   " is a subgraph: control flow (If, Loop, Scan) is not supported: export the model without it");
      default:
        user_error(place, " has the kind ", static_cast<int>(proto.type()),
                   ": expected a number, a string, a dense tensor or a list of numbers or strings");
    }
  }

  void read_node(const onnx::NodeProto& proto) {
    Node node;
    node.name = node_name(proto);
    node.op = proto.op_type();
    node.domain = is_onnx_domain(proto.domain()) ? "" : proto.domain();
    node.inputs.assign(proto.input().begin(), proto.input().end());
    node.outputs.assign(proto.output().begin(), proto.output().end());
    while (!node.inputs.empty() && node.inputs.back().empty()) node.inputs.pop_back();
    while (!node.outputs.empty() && node.outputs.back().empty()) node.outputs.pop_back();
    const std::string where = file_ + ": node '" + node.name + "' (" + node.op + ")";
    if (node.op.empty()) user_error(where, ": names no operator");
    for (const onnx::AttributeProto& attribute : proto.attribute()) {
      node.attributes.emplace(attribute.name(), read_attribute(attribute, where));
    }
    read_fused(proto.doc_string(), node);
    if (node.domain.empty() && node.op == "Constant") return read_constant(node, where);
    for (Node& spelled : spell_out_contrib(std::move(node), graph_)) {
      for (Node& made : to_opset13(std::move(spelled), graph_, opset_)) graph_.nodes.push_back(std::move(made));
    }
  }

  static void read_fused(const std::string& doc, Node& node) {
    const std::string prefix = kFusedPrefix;
    if (doc.compare(0, prefix.size(), prefix) != 0) return;
    std::size_t at = prefix.size();
    while (at < doc.size()) {
      const std::size_t end = std::min(doc.find('\n', at), doc.size());
      if (end > at) node.fused.push_back(doc.substr(at, end - at));
      at = end + 1;
    }
  }

  void read_constant(const Node& node, const std::string& where) {
    if (node.outputs.size() != 1 || node.attributes.size() != 1) {
      user_error(
          where,
          ": expected one output and one of the attributes value, value_float, value_floats, value_int, value_ints");
    }
    const auto& [key, value] = *node.attributes.begin();
    Tensor tensor;
    if (const auto* whole = std::get_if<Tensor>(&value); whole != nullptr && key == "value") {
      tensor = *whole;
    } else if (const auto* number = std::get_if<float>(&value); number != nullptr && key == "value_float") {
      tensor = Tensor::make(DType::f32, {});
      *tensor.data<float>() = *number;
    } else if (const auto* integer = std::get_if<std::int64_t>(&value); integer != nullptr && key == "value_int") {
      tensor = Tensor::make(DType::i64, {});
      *tensor.data<std::int64_t>() = *integer;
    } else if (const auto* floats = std::get_if<std::vector<float>>(&value);
               floats != nullptr && key == "value_floats") {
      tensor = Tensor::make(DType::f32, {static_cast<std::int64_t>(floats->size())});
      std::copy(floats->begin(), floats->end(), tensor.data<float>());
    } else if (const auto* ints = std::get_if<std::vector<std::int64_t>>(&value);
               ints != nullptr && key == "value_ints") {
      tensor = Tensor::make(DType::i64, {static_cast<std::int64_t>(ints->size())});
      std::copy(ints->begin(), ints->end(), tensor.data<std::int64_t>());
    } else {
      user_error(where, ": attribute '", key, "' gives no dense tensor of numbers");
    }
    const std::string& output = node.outputs[0];
    graph_.values.erase(output);
    if (output.empty() || !graph_.constants.emplace(output, std::move(tensor)).second) {
      user_error(where, ": makes value '", output, "', which something else makes already; a value has one maker");
    }
  }

  static constexpr std::int64_t kLargestInputBytes = std::int64_t{1} << 30;

  const onnx::ModelProto& model_;
  const onnx::GraphProto& proto_;
  std::string file_;
  std::filesystem::path folder_;
  std::int64_t opset_ = 0;
  Graph graph_;
  std::set<std::string> node_names_;
};

onnx::ModelProto parse(const std::string& bytes, const std::string& name) {
  onnx::ModelProto model;
  const google::protobuf::LogSilencer quiet;  // our message says it
  const bool parsed = !bytes.empty() && model.ParseFromString(bytes);
  if (!parsed || !model.has_graph()) {
    user_error(name, ": is no whole ONNX model: found ", bytes.size(), " bytes",
               bytes.empty() ? "" : " that begin with " + hex_start(bytes), parsed ? " and hold no graph" : "",
               ": expected a protobuf ModelProto (is the file truncated, or text, or a Git LFS pointer?)");
  }
  return model;
}

}  // namespace

Graph import_bytes(const std::string& bytes, const std::string& name, const std::filesystem::path& folder,
                   const ImportOptions& options, std::vector<std::string>* warnings) {
  onnx::ModelProto model = parse(bytes, name);
  Importer importer(model, name, folder);
  Graph graph = importer.run(options);
  graph.model_sha256 = sha256_hex(bytes);
  if (warnings != nullptr) {
    for (std::string& text : onnx_checker_warnings(model, importer.opset())) warnings->push_back(std::move(text));
  }
  return graph;
}

Graph import_model(const std::filesystem::path& file, const ImportOptions& options,
                   std::vector<std::string>* warnings) {
  return import_bytes(read_file(file), file.string(), file.parent_path(), options, warnings);
}

}  // namespace tessera::compiler
