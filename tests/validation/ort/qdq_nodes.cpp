// qdq_nodes MODEL.onnx DIR SEED NODES: quantises a model, runs the `graph` oracle, and writes for each of the first
// NODES QuantizeLinear (0 = all) the piece of the exported QDQ graph that ends in it: an ONNX file with int8 inputs,
// our int8 values of those inputs and of the output as .npy, and DIR/manifest.json. SEED 0 keeps the model's weights.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "compiler/export/export.hpp"
#include "compiler/import/import.hpp"
#include "compiler/interpret/qgraph_interpreter.hpp"
#include "compiler/ir/topology.hpp"
#include "compiler/passes/canonicalise.hpp"
#include "compiler/passes/fold.hpp"
#include "compiler/passes/randomize.hpp"
#include "compiler/quantize/quantize.hpp"
#include "compiler/tensor_io/tensor_io.hpp"
#include "hw/common/error.hpp"

namespace tessera::compiler {
namespace {

namespace fs = std::filesystem;

class NodeWriter {
 public:
  NodeWriter(const Graph& qdq, fs::path dir) : qdq_(qdq), dir_(std::move(dir)), makers_(producers(qdq)) {
    for (const Node& node : qdq.nodes) {
      if (node.op == "DequantizeLinear") dequantized_[node.inputs[0]] = node.outputs[0];
    }
  }

  void run(const std::vector<NamedTensors>& samples, std::size_t limit) {
    interpret_model(samples.at(0));
    nlohmann::json manifest = nlohmann::json::array();
    for (const Node& node : qdq_.nodes) {
      if (node.op != "QuantizeLinear" || makers_.count(node.inputs[0]) == 0) continue;
      if (limit != 0 && manifest.size() == limit) break;
      manifest.push_back(write_piece(node, manifest.size()));
    }
    std::ofstream(dir_ / "manifest.json") << manifest.dump(1) << "\n";
    std::cout << manifest.size() << " nodes written to " << dir_.string() << "\n";
  }

 private:
  void interpret_model(const NamedTensors& sample) {
    const QGraph integer = lower(qdq_);
    std::vector<Tensor> inputs;
    for (const int index : integer.inputs) {
      const QTensor& as = integer.tensors[static_cast<std::size_t>(index)];
      inputs.push_back(quantize_tensor(as, sample.at(as.name)));
    }
    const std::vector<Tensor> all = interpret_all(integer, inputs, Keep::everything);
    for (std::size_t i = 0; i < all.size(); ++i) {
      values_[integer.tensors[i].name] = all[i];
      values_[integer.tensors[i].name].shape = integer.tensors[i].onnx_shape;
    }
  }

  /// Our int8 value behind a QuantizeLinear. A view that lower removed has the bytes of what it views.
  Tensor value_of(const Node& quantize) {
    const std::string& source = quantize.inputs[0];
    for (const std::string& name : {source, dequantized_[quantize.outputs[0]]}) {
      const auto found = values_.find(name);
      if (found != values_.end()) return found->second;
    }
    const Node& maker = qdq_.nodes[makers_.at(source)];
    TESSERA_CHECK(maker.op == "Reshape" || maker.op == "Flatten", maker.name, ": ", maker.op, " has no value");
    const Node& dequantize = qdq_.nodes[makers_.at(maker.inputs[0])];
    Tensor value = value_of(qdq_.nodes[makers_.at(dequantize.inputs[0])]);
    value.shape = qdq_.shape_of(source);
    return value;
  }

  void collect(const std::string& value, Graph* piece, std::set<std::string>* seen) {
    if (!seen->insert(value).second || value.empty()) return;
    if (qdq_.is_constant(value)) {
      piece->constants[value] = qdq_.constants.at(value);
      return;
    }
    piece->values[value] = qdq_.values.at(value);
    const Node& node = qdq_.nodes[makers_.at(value)];
    const bool boundary = node.op == "DequantizeLinear" && !qdq_.is_constant(node.inputs[0]);
    if (boundary && seen->insert(node.inputs[0]).second) {
      piece->inputs.push_back(node.inputs[0]);
      piece->values[node.inputs[0]] = qdq_.values.at(node.inputs[0]);
    }
    for (std::size_t i = boundary ? 1 : 0; i < node.inputs.size(); ++i) collect(node.inputs[i], piece, seen);
    piece->nodes.push_back(node);
  }

  nlohmann::json write_piece(const Node& quantize, std::size_t number) {
    Graph piece;
    piece.name = "piece";
    piece.opset = qdq_.opset;
    std::set<std::string> seen;
    collect(quantize.outputs[0], &piece, &seen);
    piece.outputs = {quantize.outputs[0]};
    const std::string base = std::to_string(number);
    export_model(piece, dir_ / (base + ".onnx"));
    nlohmann::json inputs = nlohmann::json::array();
    for (std::size_t i = 0; i < piece.inputs.size(); ++i) {
      const std::string file = base + "_in" + std::to_string(i) + ".npy";
      write_npy(dir_ / file, value_of(qdq_.nodes[makers_.at(piece.inputs[i])]));
      inputs.push_back({{"name", piece.inputs[i]}, {"file", file}});
    }
    write_npy(dir_ / (base + "_out.npy"), value_of(quantize));
    const Node& maker = qdq_.nodes[makers_.at(quantize.inputs[0])];
    return {{"model", base + ".onnx"},
            {"node", maker.name},
            {"op", maker.op},
            {"inputs", inputs},
            {"output", {{"name", quantize.outputs[0]}, {"file", base + "_out.npy"}}}};
  }

  const Graph& qdq_;
  fs::path dir_;
  std::map<std::string, std::size_t> makers_;
  std::map<std::string, std::string> dequantized_;
  NamedTensors values_;
};

void write_nodes(const fs::path& model, const fs::path& dir, std::uint64_t seed, std::size_t limit) {
  Graph graph = import_model(model);
  prepare(graph, try_evaluate_node);
  if (seed != 0) randomize_weights(graph, seed);
  run_passes(graph);
  const std::vector<NamedTensors> samples = random_calibration(graph, seed + 1);
  fs::create_directories(dir);
  NodeWriter(quantize(graph, samples), dir).run(samples, limit);
}

}  // namespace
}  // namespace tessera::compiler

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: qdq_nodes MODEL.onnx DIR SEED NODES\n";
    return 2;
  }
  try {
    tessera::compiler::write_nodes(argv[1], argv[2], std::strtoull(argv[3], nullptr, 10),
                                   std::strtoull(argv[4], nullptr, 10));
  } catch (const tessera::UserError& e) {
    std::cerr << e.what() << "\n";
    return 2;
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
  return 0;
}
