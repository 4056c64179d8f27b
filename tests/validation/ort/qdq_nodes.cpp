// qdq_nodes MODEL.onnx DIR SEED NODES [SHAPE]: quantises a model (a QDQ model stays as it is), runs the `graph` oracle,
// and writes for each of the first NODES QuantizeLinear (0 = all) the piece of the exported QDQ graph that ends in it:
// an ONNX file with int8 inputs, our int8 values of those inputs and of the output as .npy, and DIR/manifest.json. SEED
// 0 keeps the model's weights.
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
      if (node.op != "QuantizeLinear" || quantises_an_input(node)) continue;
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

  /// The boundary's work: a graph input, also in another shape.
  bool quantises_an_input(const Node& quantize) const {
    auto maker = makers_.find(quantize.inputs[0]);
    while (maker != makers_.end() && is_view(qdq_.nodes[maker->second])) {
      maker = makers_.find(qdq_.nodes[maker->second].inputs[0]);
    }
    return maker == makers_.end();
  }

  static bool is_view(const Node& node) {
    return node.op == "Reshape" || node.op == "Flatten" || node.op == "Transpose";
  }

  /// Our int8 value behind a QuantizeLinear. A view that lower removed has the bytes of what it views.
  Tensor value_of(const Node& quantize) {
    const std::string& source = quantize.inputs[0];
    for (const std::string& name : {source, dequantized_[quantize.outputs[0]]}) {
      const auto found = values_.find(name);
      if (found != values_.end()) return found->second;
    }
    const Node& maker = qdq_.nodes[makers_.at(source)];
    TESSERA_CHECK(is_view(maker), maker.name, ": ", maker.op, " has no value");
    const auto before = makers_.find(maker.inputs[0]);  // none: an input, which the boundary quantised
    Tensor value = before == makers_.end() ? values_.at(maker.inputs[0])
                                           : value_of(qdq_.nodes[makers_.at(qdq_.nodes[before->second].inputs[0])]);
    if (maker.op == "Transpose") return evaluate_node(maker, {&value}).at(0);
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

/// Noise that fills the range which the model's first QuantizeLinear gives its input.
std::vector<NamedTensors> loud_samples(const Graph& graph, std::uint64_t seed) {
  std::vector<NamedTensors> samples = random_calibration(graph, seed);
  for (const Node& node : graph.nodes) {
    if (node.op != "QuantizeLinear") continue;
    const auto scale = static_cast<float>(40.0 * graph.constants.at(node.inputs[1]).as_doubles().at(0));
    for (auto& [name, tensor] : samples[0]) {
      for (std::int64_t i = 0; i < tensor.elements(); ++i) tensor.data<float>()[i] *= scale;
    }
    break;
  }
  return samples;
}

void write_nodes(const fs::path& model, const fs::path& dir, std::uint64_t seed, std::size_t limit,
                 const std::vector<std::string>& shapes) {
  Graph graph = import_model(model, {shapes});
  prepare(graph, try_evaluate_node);
  if (seed != 0) randomize_weights(graph, seed);
  fs::create_directories(dir);
  if (is_quantized(graph)) return NodeWriter(graph, dir).run(loud_samples(graph, seed + 1), limit);
  run_passes(graph);
  const std::vector<NamedTensors> samples = random_calibration(graph, seed + 1);
  NodeWriter(quantize(graph, samples), dir).run(samples, limit);
}

}  // namespace
}  // namespace tessera::compiler

int main(int argc, char** argv) {
  if (argc != 5 && argc != 6) {
    std::cerr << "usage: qdq_nodes MODEL.onnx DIR SEED NODES [SHAPE]\n";
    return 2;
  }
  try {
    tessera::compiler::write_nodes(argv[1], argv[2], std::strtoull(argv[3], nullptr, 10),
                                   std::strtoull(argv[4], nullptr, 10), {argv + 5, argv + argc});
  } catch (const tessera::UserError& e) {
    std::cerr << e.what() << "\n";
    return 2;
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
  return 0;
}
