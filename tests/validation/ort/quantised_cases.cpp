// quantised_cases DIR MODELS: writes quantised models for scripts/check_ort.sh, each with inputs and our integer
// results, into a folder a group: `operators` (seeded single operators: QLinear of ai.onnx and com.microsoft, products
// of integers with the requantisation behind them), `conformance` (ONNX's own quantised cases, their parameters made
// constants) and `twin` (a QDQ network on its golden samples). MODELS is the folder of the shared models.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "compiler/export/export.hpp"
#include "compiler/import/import.hpp"
#include "compiler/ir/builder.hpp"
#include "compiler/passes/fold.hpp"
#include "compiler/quantize/quantize.hpp"
#include "compiler/tensor_io/tensor_io.hpp"
#include "hw/common/error.hpp"
#include "hw/common/random.hpp"

namespace tessera::compiler {
namespace {

namespace fs = std::filesystem;

/// One folder of cases and its manifest.
class Group {
 public:
  explicit Group(const fs::path& dir) : dir_(dir) { fs::create_directories(dir); }
  ~Group() { std::ofstream(dir_ / "manifest.json") << manifest_.dump(1) << "\n"; }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  /// The model as a file, its inputs, and what our integer graph makes of them.
  void add(const std::string& name, const std::string& op, const fs::path& model, const NamedTensors& inputs,
           const std::vector<std::string>& shapes = {}) {
    const std::string base = std::to_string(manifest_.size());
    if (model.parent_path() != dir_) fs::copy_file(model, dir_ / (base + ".onnx"));
    Graph graph = import_model(model, {shapes});
    prepare(graph, try_evaluate_node);
    const NamedTensors outputs = evaluate_model(graph, inputs);
    nlohmann::json in = nlohmann::json::array();
    for (const auto& [input, tensor] : inputs) {
      const std::string file = base + "_in" + std::to_string(in.size()) + ".npy";
      write_npy(dir_ / file, tensor);
      in.push_back({{"name", input}, {"file", file}});
    }
    const std::string& output = graph.outputs.at(0);
    write_npy(dir_ / (base + "_out.npy"), outputs.at(output));
    manifest_.push_back(
        {{"model", model.parent_path() == dir_ ? model.filename().string() : base + ".onnx"},
         {"node", name},
         {"op", op},
         {"inputs", in},
         {"output", {{"name", output}, {"file", base + "_out.npy"}, {"step", step_of(graph, output)}}}});
  }

  /// A graph in code: written, then as any file.
  void add(const std::string& name, const std::string& op, const Graph& graph, const NamedTensors& inputs) {
    const fs::path file = dir_ / (std::to_string(manifest_.size()) + ".onnx");
    export_model(graph, file);
    add(name, op, file, inputs);
  }

 private:
  /// What one integer step of the result is worth: 1 where the result is an integer itself.
  static double step_of(const Graph& graph, const std::string& output) {
    for (const Node& node : graph.nodes) {
      if (node.op == "DequantizeLinear" && node.outputs[0] == output && graph.is_constant(node.inputs[1])) {
        return graph.constants.at(node.inputs[1]).as_doubles().at(0);
      }
    }
    return 1.0;
  }

  fs::path dir_;
  nlohmann::json manifest_ = nlohmann::json::array();
};

/// Builds one operator at a time on seeded int8 or uint8 tensors.
class Maker {
 public:
  Maker(DType type, std::uint64_t seed) : type_(type), random_(seed), builder_("case", 13) {}

  Tensor bytes(const Shape& shape, DType type) {
    Tensor tensor = Tensor::make(type, shape);
    for (std::uint8_t& byte : tensor.bytes) byte = static_cast<std::uint8_t>(random_.below(256));
    return tensor;
  }

  std::string input(const std::string& name, const Shape& shape) {
    builder_.input(name, shape, type_);
    inputs_[name] = bytes(shape, type_);
    return name;
  }

  std::string constant(Tensor tensor) {
    return builder_.constant("c" + std::to_string(constants_++), std::move(tensor));
  }
  std::string scale(double value) { return constant(float_tensor({}, {static_cast<float>(value)})); }
  std::string zero() {
    return constant(type_ == DType::u8 ? uint8_tensor({}, {static_cast<std::uint8_t>(100 + random_.below(56))})
                                       : int8_tensor({}, {static_cast<std::int8_t>(random_.below(40))}));
  }
  std::string no_zero(DType type) { return constant(Tensor::make(type, {})); }
  double factor() { return 0.01 + 0.05 * random_.unit(); }
  std::string weights(const Shape& shape) { return constant(bytes(shape, DType::i8)); }
  std::string scales(std::int64_t channels) {
    std::vector<float> values;
    for (std::int64_t i = 0; i < channels; ++i) values.push_back(static_cast<float>(factor()));
    return constant(float_tensor({channels}, values));
  }
  std::string sums(std::int64_t channels) {
    std::vector<std::int32_t> values;
    for (std::int64_t i = 0; i < channels; ++i)
      values.push_back(static_cast<std::int32_t>(random_.below(20000)) - 10000);
    return constant(int32_tensor({channels}, values));
  }

  /// x, its scale, its zero point.
  std::vector<std::string> operand(const std::string& name, const Shape& shape) {
    return {input(name, shape), scale(factor()), zero()};
  }

  /// The operator as the whole case, or as the end of one.
  void finish(Group* group, const std::string& op, const char* domain, std::vector<std::string> inputs,
              const Shape& shape, Attributes attributes = {}) {
    output(group, op, domain, builder_.node(op, std::move(inputs), std::move(attributes), "y"), shape);
  }

  void output(Group* group, const std::string& op, const char* domain, const std::string& value, const Shape& shape) {
    builder_.output(value);
    Graph graph = builder_.take();
    for (Node& node : graph.nodes) {
      if (node.op == op) node.domain = domain;
    }
    graph.values[value] = {type_, shape};
    group->add((type_ == DType::u8 ? "uint8 " : "int8 ") + shape_text(shape), *domain == 0 ? op : "ms." + op, graph,
               inputs_);
  }

  GraphBuilder& builder() { return builder_; }
  [[nodiscard]] DType type() const { return type_; }

 private:
  DType type_;
  Random random_;
  GraphBuilder builder_;
  NamedTensors inputs_;
  int constants_ = 0;
};

constexpr const char* kMs = "com.microsoft";

template <typename... Lists>
std::vector<std::string> joined(std::vector<std::string> all, const Lists&... more) {
  (all.insert(all.end(), more.begin(), more.end()), ...);
  return all;
}

using Names = std::vector<std::string>;

void write_convolutions(Group* group, DType type, std::uint64_t seed) {
  for (const bool per_channel : {false, true}) {
    for (const std::int64_t groups : {1, 5}) {
      Maker m(type, seed + (per_channel ? 1 : 0) + static_cast<std::uint64_t>(groups));
      const Names x = m.operand("x", {1, 5, 9, 11});
      const Names w = {m.weights({10, 5 / groups, 3, 3}), per_channel ? m.scales(10) : m.scale(m.factor()),
                       per_channel ? m.constant(Tensor::make(DType::i8, {10})) : m.no_zero(DType::i8)};
      m.finish(group, "QLinearConv", "", joined(x, w, Names{m.scale(1.1), m.zero(), m.sums(10)}), {1, 10, 5, 5},
               {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 0}}, {"group", groups}, {"kernel_shape", Ints{3, 3}}});
    }
  }
}

void write_products(Group* group, DType type, std::uint64_t seed) {
  {
    Maker m(type, seed);
    const Names a = m.operand("a", {13, 37});
    m.finish(group, "QLinearMatMul", "",
             joined(a, Names{m.weights({37, 19}), m.scale(0.02), m.no_zero(DType::i8)}, Names{m.scale(0.5), m.zero()}),
             {13, 19});
  }
  {
    Maker m(type, seed + 1);
    const Names a = m.operand("a", {3, 7, 21}), b = m.operand("b", {3, 21, 9});
    m.finish(group, "QLinearMatMul", "", joined(a, b, Names{m.scale(0.6), m.zero()}), {3, 7, 9});
  }
  for (const std::int64_t rows : {3, 17}) {
    for (const std::int64_t transposed : {0, 1}) {
      Maker m(type, seed + 2 + static_cast<std::uint64_t>(rows + transposed));
      const Names a = m.operand("a", {rows, 29});
      const Names b = {m.weights(transposed != 0 ? Shape{11, 29} : Shape{29, 11}), m.scale(0.03), m.no_zero(DType::i8)};
      m.finish(group, "QGemm", kMs, joined(a, b, Names{m.sums(11), m.scale(0.7), m.zero()}), {rows, 11},
               {{"transB", transposed}});
    }
  }
}

void write_elementwise(Group* group, DType type, std::uint64_t seed) {
  for (const char* op : {"QLinearAdd", "QLinearMul"}) {
    for (const Shape& other : {Shape{2, 7, 5, 9}, Shape{1, 7, 1, 1}, Shape{5, 1}}) {
      Maker m(type, seed + static_cast<std::uint64_t>(other.size()));
      const Names a = m.operand("a", {2, 7, 5, 9}), b = m.operand("b", other);
      m.finish(group, op, kMs, joined(a, b, Names{m.scale(op[7] == 'A' ? 0.06 : 0.1), m.zero()}), {2, 7, 5, 9});
    }
  }
  Maker sigmoid(type, seed + 10);
  sigmoid.finish(group, "QLinearSigmoid", kMs,
                 joined(sigmoid.operand("x", {1, 5, 7, 9}), Names{sigmoid.scale(1.0 / 256), sigmoid.zero()}),
                 {1, 5, 7, 9});
  for (const float alpha : {0.01F, 0.3F}) {
    Maker m(type, seed + 11);
    m.finish(group, "QLinearLeakyRelu", kMs, joined(m.operand("x", {1, 5, 7, 9}), Names{m.scale(0.03), m.zero()}),
             {1, 5, 7, 9}, {{"alpha", alpha}});
  }
  for (const std::int64_t axis : {1, 2}) {
    Maker m(type, seed + 12 + static_cast<std::uint64_t>(axis));
    const Names result = {m.scale(0.04), m.zero()};
    const Shape second = axis == 1 ? Shape{1, 6, 4, 5} : Shape{1, 3, 2, 5};
    const Shape whole = axis == 1 ? Shape{1, 9, 4, 5} : Shape{1, 3, 6, 5};
    m.finish(group, "QLinearConcat", kMs, joined(result, m.operand("a", {1, 3, 4, 5}), m.operand("b", second)), whole,
             {{"axis", axis}});
  }
}

void write_pools(Group* group, DType type, std::uint64_t seed) {
  for (const std::int64_t counts : {0, 1}) {
    Maker m(type, seed + static_cast<std::uint64_t>(counts));
    m.finish(group, "QLinearAveragePool", kMs, joined(m.operand("x", {1, 6, 9, 11}), Names{m.scale(0.03), m.zero()}),
             {1, 6, 5, 6},
             {{"kernel_shape", Ints{3, 3}},
              {"strides", Ints{2, 2}},
              {"pads", Ints{1, 1, 1, 1}},
              {"count_include_pad", counts}});
  }
  Maker m(type, seed + 2);
  m.finish(group, "QLinearGlobalAveragePool", kMs,
           joined(m.operand("x", {2, 6, 7, 9}), Names{m.scale(0.004), m.zero()}), {2, 6, 1, 1});
}

/// Integer products as exporters write a static quantisation: product, Cast, Mul, Add, QuantizeLinear.
void write_integer_products(Group* group, DType type, std::uint64_t seed) {
  for (const bool conv : {true, false}) {
    for (const bool with_bias : {true, false}) {
      Maker m(type, seed + (conv ? 0 : 1) + (with_bias ? 2 : 0));
      GraphBuilder& b = m.builder();
      const Shape in = conv ? Shape{1, 4, 8, 9} : Shape{9, 26}, out = conv ? Shape{1, 6, 8, 9} : Shape{9, 14};
      const std::int64_t channels = conv ? 6 : 14;
      const std::string op = conv ? "ConvInteger" : "MatMulInteger";
      const Names operands = {m.input("x", in), m.weights(conv ? Shape{6, 4, 3, 3} : Shape{26, 14}), m.zero(),
                              m.no_zero(DType::i8)};
      const std::string sums = b.node(op, operands, conv ? Attributes{{"pads", Ints{1, 1, 1, 1}}} : Attributes{}, "p");
      const std::string real = b.node("Cast", {sums}, {{"to", std::int64_t{1}}});
      Tensor factors = Tensor::make(DType::f32, conv ? Shape{1, channels, 1, 1} : Shape{channels});
      Tensor terms = factors;
      for (std::int64_t c = 0; c < channels; ++c) {
        factors.data<float>()[c] = static_cast<float>(m.factor() * 0.05);
        terms.data<float>()[c] = static_cast<float>(m.factor() * 100 - 3);
      }
      std::string value = b.node("Mul", {real, m.constant(std::move(factors))});
      if (with_bias) value = b.node("Relu", {b.node("Add", {value, m.constant(std::move(terms))})});
      const std::string y = b.node("QuantizeLinear", {value, m.scale(0.5), m.zero()}, {}, "y");
      m.output(group, op, "", y, out);
    }
  }
}

void write_operators(const fs::path& dir) {
  Group group(dir);
  for (const DType type : {DType::u8, DType::i8}) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      write_convolutions(&group, type, 100 * seed);
      write_products(&group, type, 200 * seed);
      write_elementwise(&group, type, 300 * seed);
      write_pools(&group, type, 400 * seed);
      write_integer_products(&group, type, 500 * seed);
    }
  }
}

/// ONNX's cases give scales and zero points as inputs: as constants the integer graph computes them too.
void write_conformance(const fs::path& dir, const fs::path& archive) {
  const fs::path cases = dir / "unpacked";
  fs::create_directories(cases);
  if (std::system(("tar -xzf '" + archive.string() + "' -C '" + cases.string() + "'").c_str()) != 0) {
    user_error(archive.string(), ": tar cannot unpack it");
  }
  static const std::set<std::string> quantised = {"ConvInteger",          "MatMulInteger",  "QLinearConv",
                                                  "QLinearMatMul",        "QuantizeLinear", "DequantizeLinear",
                                                  "DynamicQuantizeLinear"};
  std::set<fs::path> models;  // sorted
  for (const auto& entry : fs::recursive_directory_iterator(cases)) {
    if (entry.path().filename() == "model.onnx") models.insert(entry.path());
  }
  Group group(dir);
  for (const fs::path& model : models) {
    Graph graph;
    try {
      graph = import_model(model);
    } catch (const UserError&) {  // inputs without elements: none of them is quantised
      continue;
    }
    const std::string op = graph.nodes.empty() ? "Constant" : graph.nodes[0].op, name = model.parent_path().filename();
    if (quantised.count(op) == 0) continue;
    NamedTensors inputs;
    const fs::path data = model.parent_path() / "test_data_set_0";
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
      inputs[graph.inputs[i]] = read_tensor_proto(data / ("input_" + std::to_string(i) + ".pb")).tensor;
    }
    group.add(name, op, model, inputs);
    if (graph.inputs.size() < 2) continue;
    for (std::size_t i = 1; i < graph.inputs.size(); ++i) {
      const std::string& input = graph.inputs[i];
      graph.constants[input] = inputs.at(input);
      graph.values.erase(input);
    }
    const NamedTensors first = {{graph.inputs[0], inputs.at(graph.inputs[0])}};
    graph.inputs.resize(1);
    graph.values[graph.outputs[0]] = {read_tensor_proto(data / "output_0.pb").tensor.dtype,
                                      read_tensor_proto(data / "output_0.pb").tensor.shape};
    try {
      group.add(name + ", constants", op, graph, first);
    } catch (const UserError& e) {
      std::cout << "  refused: " << name << " with constant parameters: " << e.what() << "\n";
    }
  }
}

/// Sample i of an array whose first axis counts samples.
Tensor sample(const Tensor& all, std::int64_t i) {
  Tensor one = Tensor::make(all.dtype, Shape(all.shape.begin() + 1, all.shape.end()));
  const auto bytes = static_cast<std::ptrdiff_t>(one.bytes.size());
  one.bytes.assign(all.bytes.begin() + i * bytes, all.bytes.begin() + (i + 1) * bytes);
  return one;
}

void write_twin(const fs::path& dir, const fs::path& network) {
  Group group(dir);
  const std::string input = "serving_default_input:0";
  const Tensor all = read_npz(network / "golden.npz").at("test_" + file_name_of(input));
  for (std::int64_t i = 0; i < all.shape[0]; ++i) {
    group.add("golden sample " + std::to_string(i), "network", network / "model.onnx", {{input, sample(all, i)}},
              {"1x1960"});
  }
  // More values than ten probabilities a sample: seeded noise as loud as the samples.
  Random random(7);
  for (int i = 0; i < 60; ++i) {
    Tensor noise = sample(all, i % all.shape[0]);
    for (std::int64_t k = 0; k < noise.elements(); ++k) {
      noise.data<float>()[k] += static_cast<float>(10.0 * random.normal());
    }
    group.add("noise " + std::to_string(i), "network", network / "model.onnx", {{input, noise}}, {"1x1960"});
  }
}

void write_all(const fs::path& dir, const fs::path& models) {
  write_operators(dir / "operators");
  write_conformance(dir / "conformance", models / "opconf.tar.gz");
  write_twin(dir / "twin", models / "models" / "emmtrix_micro_kws_m_static_qdq");
}

}  // namespace
}  // namespace tessera::compiler

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: quantised_cases DIR MODELS\n";
    return 2;
  }
  try {
    tessera::compiler::write_all(argv[1], argv[2]);
  } catch (const tessera::UserError& e) {
    std::cerr << e.what() << "\n";
    return 2;
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
  return 0;
}
