#include "compiler/export/export.hpp"

#include <algorithm>
#include <exception>
#include <set>

#include <onnx/checker.h>
#include <onnx/onnx_pb.h>

#include "compiler/export/opset.hpp"
#include "compiler/export/proto.hpp"
#include "compiler/ir/marks.hpp"
#include "hw/common/error.hpp"
#include "hw/common/file.hpp"

namespace tessera::compiler {
namespace {

constexpr std::int64_t kLargestFile =
    (std::int64_t{1} << 31) - (std::int64_t{1} << 20);  // protobuf's limit, less the rest

/// The IR version that ONNX pairs with an opset.
int ir_version(std::int64_t opset) {
  if (opset >= 21) return 10;
  if (opset >= 19) return 9;
  return opset >= 15 ? 8 : 7;
}

constexpr const char* kAbsentConstant = "a constant; the dump of the quantised stage holds values";

void add_node(const Node& node, onnx::GraphProto& proto) {
  onnx::NodeProto& made = *proto.add_node();
  made.set_name(node.name);
  made.set_op_type(node.op);
  made.set_domain(node.domain);
  for (const std::string& input : node.inputs) made.add_input(input);
  for (const std::string& output : node.outputs) made.add_output(output);
  for (const auto& [name, attribute] : node.attributes) {
    if (node.domain.empty() && name.rfind("tessera_", 0) == 0) continue;
    to_proto(name, attribute, *made.add_attribute());
  }
  if (node.fused.empty()) return;
  std::string doc = kFusedPrefix;
  for (const std::string& name : node.fused) doc += name + "\n";
  made.set_doc_string(doc);
}

void add_constants(const std::map<std::string, Tensor>& constants, const ExportOptions& options,
                   onnx::GraphProto& proto) {
  std::int64_t bytes = 0;
  for (const auto& [name, tensor] : constants) {
    if (options.weights == WrittenWeights::small_only && tensor.elements() > kSmallConstant) {
      onnx::ValueInfoProto& given = *proto.add_input();
      to_proto(name, tensor.dtype, tensor.shape, given);
      given.set_doc_string(kAbsentConstant);
      continue;
    }
    onnx::TensorProto& made = *proto.add_initializer();
    made.set_name(name);
    bytes += static_cast<std::int64_t>(tensor.bytes.size());
    if (bytes > kLargestFile) user_error("the weights are larger than 2 GiB: one ONNX file cannot hold them");
    to_proto(tensor, made);
  }
}

}  // namespace

std::string export_bytes(const Graph& graph, const ExportOptions& options) {
  onnx::ModelProto model;
  const std::int64_t opset = export_opset(graph);
  model.set_ir_version(ir_version(opset));
  model.set_producer_name("tessera");
  onnx::OperatorSetIdProto& standard = *model.add_opset_import();
  standard.set_domain("");
  standard.set_version(opset);

  onnx::GraphProto& proto = *model.mutable_graph();
  proto.set_name(graph.name.empty() ? "graph" : graph.name);
  std::map<std::string, Tensor> added;
  const std::vector<Node> nodes = nodes_for_opset(graph, opset, added);
  std::set<std::string> domains;
  for (const Node& node : nodes) {
    add_node(node, proto);
    if (!node.domain.empty()) domains.insert(node.domain);
  }
  for (const std::string& domain : domains) {
    onnx::OperatorSetIdProto& import = *model.add_opset_import();
    import.set_domain(domain);
    import.set_version(1);
  }
  const auto shape = [&](const std::string& value) -> std::optional<Shape> {
    if (graph.is_constant(value)) return graph.shape_of(value);
    const auto it = graph.values.find(value);
    return it == graph.values.end() ? std::nullopt : it->second.shape;
  };
  for (const std::string& input : graph.inputs) {
    to_proto(input, graph.dtype_of(input), shape(input), *proto.add_input());
  }
  add_constants(graph.constants, options, proto);
  add_constants(added, options, proto);
  for (const std::string& output : graph.outputs) {
    to_proto(output, graph.dtype_of(output), shape(output), *proto.add_output());
  }
  for (const auto& [name, info] : graph.values) {
    const bool interface = std::count(graph.inputs.begin(), graph.inputs.end(), name) +
                               std::count(graph.outputs.begin(), graph.outputs.end(), name) !=
                           0;
    if (!interface && info.shape) to_proto(name, info.dtype, info.shape, *proto.add_value_info());
  }
  return model.SerializeAsString();
}

void export_model(const Graph& graph, const std::filesystem::path& file, const ExportOptions& options) {
  write_file(file, export_bytes(graph, options));
}

void dump_ir(const Graph& graph, const std::filesystem::path& dir, const std::string& stage,
             const ExportOptions& options) {
  std::error_code failed;
  std::filesystem::create_directories(dir, failed);
  if (failed) user_error(dir.string(), ": cannot be made: ", failed.message());
  export_model(graph, dir / (stage + ".onnx"), options);
}

std::string check_exported(const std::string& bytes) {
  onnx::ModelProto model;
  if (!model.ParseFromString(bytes)) return "does not parse";
  constexpr int kNewestCheckedIr = 8;
  if (model.ir_version() > kNewestCheckedIr) return {};
  try {
    onnx::checker::check_model(model);
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

}  // namespace tessera::compiler
