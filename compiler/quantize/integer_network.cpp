#include "compiler/quantize/integer_network.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "compiler/ir/builder.hpp"
#include "compiler/ir/topology.hpp"
#include "compiler/quantize/lowering.hpp"
#include "isa/semantics/requantize.hpp"

namespace tessera::compiler {
namespace {

constexpr std::int64_t kTop = 255;

std::size_t size_of(std::int64_t v) { return static_cast<std::size_t>(v); }

/// Floor of a / b for b > 0.
std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - ((a % b != 0 && a < 0) ? 1 : 0); }

/// One channel: floor((k acc + l) / d), clipped to 0 .. top, for |acc| <= reach.
struct Channel {
  std::int64_t k = 0, l = 0, d = 1, top = kTop, reach = 0;
  [[nodiscard]] std::int64_t wanted(std::int64_t acc) const {
    return std::clamp<std::int64_t>(floor_div(k * acc + l, d), 0, top);
  }
  /// The least sum with a result of at least q.
  [[nodiscard]] std::int64_t step(std::int64_t q) const { return -floor_div(l - q * d, k); }
};

/// The machine's form of a channel: round((times acc + bias) scale).
struct Form {
  std::int64_t times = 1;
  std::int64_t bias = 0;
  semantics::QuantizedScale scale;
  [[nodiscard]] std::int64_t result(const Channel& c, std::int64_t acc) const {
    return semantics::requantize(times * acc + bias, scale.multiplier, scale.shift, 0, 0,
                                 static_cast<std::int32_t>(c.top));
  }
};

IntegerLayer judge(const Channel& c, const Form& form) {
  IntegerLayer found;
  for (std::int64_t q = 1; q <= c.top; ++q) {
    const std::int64_t at = c.step(q);
    if (at < -c.reach || at > c.reach) continue;
    ++found.steps;
    // Where the form steps instead: looked for near by, as both are ramps of nearly the same slope.
    std::int64_t own = at;
    while (form.result(c, own) >= q) --own;
    while (form.result(c, own) < q && own < at + 64) ++own;
    if (own == at) ++found.exact_steps;
    for (std::int64_t acc = std::min(at, own); acc < std::max(at, own); ++acc) {
      found.most_off = std::max(found.most_off, std::abs(form.result(c, acc) - c.wanted(acc)));
    }
    found.wrong_sums += static_cast<double>(std::abs(own - at));
  }
  const std::int64_t first = std::max(c.step(1), -c.reach), last = std::min(c.step(c.top), c.reach);
  found.sums = static_cast<double>(std::max<std::int64_t>(0, last - first + 1));
  return found;
}

struct Layer {
  const Node* linear = nullptr;
  const Node* clip = nullptr;
  std::vector<const Node*> between;
  std::vector<std::int64_t> k, l;  // a channel
  std::int64_t d = 1, top = kTop;
};

/// Operators that take elements as they are, so that integers stay integers.
bool moves_integers(const Node& node) {
  static const std::set<std::string> ops = {"MaxPool", "GlobalMaxPool", "Flatten",   "Reshape",
                                            "Squeeze", "Unsqueeze",     "Transpose", "Identity"};
  return node.domain.empty() && ops.count(node.op) != 0 && node.outputs.size() == 1;
}

class Recogniser {
 public:
  explicit Recogniser(const Graph& graph) : graph_(graph), makers_(producers(graph)), readers_(consumers(graph)) {}

  std::optional<IntegerNetwork> run() {
    for (const Node& node : graph_.nodes) {
      if (is_op(node, "Clip")) {
        if (std::optional<Layer> layer = layer_of(node)) layers_.push_back(std::move(*layer));
      }
    }
    if (layers_.empty() || !all_convolutions_are_layers()) return std::nullopt;
    return write();
  }

 private:
  [[nodiscard]] const Node* maker(const std::string& value) const {
    const auto found = makers_.find(value);
    return found == makers_.end() ? nullptr : &graph_.nodes[found->second];
  }

  [[nodiscard]] bool only_reader(const std::string& value) const {
    return readers_.at(value).size() == 1 && !is_graph_output(graph_, value);
  }

  /// Constant integers of an input; nullopt: computed, absent, or a fraction among them.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> integers(const std::string& value) const {
    const auto found = graph_.constants.find(value);
    if (found == graph_.constants.end()) return std::nullopt;
    std::vector<std::int64_t> result;
    for (const double v : found->second.as_doubles()) {
      if (!(std::fabs(v) < 9.0e15) || v != std::nearbyint(v)) return std::nullopt;
      result.push_back(static_cast<std::int64_t>(v));
    }
    return result;
  }

  [[nodiscard]] std::optional<std::int64_t> integer(const Node& node, std::size_t input) const {
    if (input >= node.inputs.size()) return std::nullopt;
    const auto found = integers(node.inputs[input]);
    if (!found || found->size() != 1) return std::nullopt;
    return (*found)[0];
  }

  /// The maker of `value` if it is `op` and nothing else reads its result; goes into the layer.
  const Node* step_back(Layer* layer, const std::string& value, const char* op) const {
    const Node* node = maker(value);
    if (node == nullptr || !is_op(*node, op) || !only_reader(value)) return nullptr;
    layer->between.push_back(node);
    return node;
  }

  /// Takes Mul or Add with a constant: its numbers (one, or one a channel) and the value that it reads.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> operand(const Node& node, std::string* value) const {
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      if (const auto found = integers(node.inputs[side])) {
        *value = node.inputs[1 - side];
        const Shape& shape = graph_.shape_of(node.inputs[side]);
        const std::size_t behind = graph_.shape_of(node.outputs[0]).size() - 2;  // axes behind the channels
        const bool channels = shape.size() > behind && found->size() == size_of(shape[shape.size() - 1 - behind]);
        if (found->size() == 1 || channels) return found;
      }
    }
    return std::nullopt;
  }

  /// Reads the pattern backwards from its Clip.
  [[nodiscard]] std::optional<Layer> layer_of(const Node& clip) const {
    Layer layer;
    layer.clip = &clip;
    const std::optional<std::int64_t> low = integer(clip, 1), top = integer(clip, 2);
    if (!low || *low != 0 || !top || *top < 1 || *top > kTop) return std::nullopt;
    layer.top = *top;
    // 1. Div by D, rounded down.
    std::string at = clip.inputs[0];
    const Node* rounding = step_back(&layer, at, "Cast");
    if (rounding == nullptr) rounding = step_back(&layer, at, "Floor");
    if (rounding == nullptr) return std::nullopt;
    const Node* div = step_back(&layer, rounding->inputs[0], "Div");
    if (div == nullptr) return std::nullopt;
    const DType type = graph_.dtype_of(div->outputs[0]);
    if ((rounding->op == "Cast") != (type == DType::i64)) return std::nullopt;  // int64 division drops the fraction
    const std::optional<std::int64_t> divisor = integer(*div, 1);
    if (!divisor || *divisor < 1) return std::nullopt;
    layer.d = *divisor;
    at = div->inputs[0];
    // 2. Everything before it that multiplies and adds, last first: the value is k at + l.
    layer.k = {1};
    layer.l = {0};
    for (;;) {
      if (const Node* cast = step_back(&layer, at, "Cast")) {
        const DType to = graph_.dtype_of(at);
        if (to != DType::i64 && to != DType::f32 && to != DType::f64) return std::nullopt;
        at = cast->inputs[0];
      } else if (const Node* mul = step_back(&layer, at, "Mul")) {
        const auto factors = operand(*mul, &at);
        if (!factors || !multiply(&layer.k, *factors)) return std::nullopt;
      } else if (const Node* add = step_back(&layer, at, "Add")) {
        const auto terms = operand(*add, &at);
        if (!terms || !add_products(&layer, *terms)) return std::nullopt;
      } else {
        break;
      }
    }
    // 3. The convolution or the matrix product.
    layer.linear = maker(at);
    if (layer.linear == nullptr || !only_reader(at)) return std::nullopt;
    return is_linear_layer(&layer) ? std::optional(layer) : std::nullopt;
  }

  /// a *= b channel by channel; false when the lengths differ or a product leaves 2^62.
  static bool multiply(std::vector<std::int64_t>* a, const std::vector<std::int64_t>& b) {
    if (a->size() == 1) a->resize(b.size(), a->front());
    if (b.size() != 1 && b.size() != a->size()) return false;
    for (std::size_t i = 0; i < a->size(); ++i) {
      if (__builtin_mul_overflow((*a)[i], b[b.size() == 1 ? 0 : i], &(*a)[i])) return false;
      if (std::abs((*a)[i]) > (std::int64_t{1} << 40)) return false;
    }
    return true;
  }

  /// The layer's value is k (at + terms) + l.
  static bool add_products(Layer* layer, const std::vector<std::int64_t>& terms) {
    std::vector<std::int64_t> products = layer->k;
    if (!multiply(&products, terms)) return false;
    if (layer->l.size() == 1) layer->l.resize(products.size(), layer->l.front());
    if (products.size() == 1) products.resize(layer->l.size(), products.front());
    if (products.size() != layer->l.size()) return false;
    for (std::size_t i = 0; i < products.size(); ++i) layer->l[i] += products[i];
    return true;
  }

  [[nodiscard]] bool is_linear_layer(Layer* layer) const {
    const Node& node = *layer->linear;
    const bool gemm = is_op(node, "Gemm");
    if (!gemm && !is_op(node, "Conv")) return false;
    if (gemm && (node.int_attr("transA", 0) != 0 || node.int_attr("transB", 0) == 0 ||
                 node.float_attr("alpha", 1.0F) != 1.0F || node.float_attr("beta", 1.0F) != 1.0F)) {
      return false;
    }
    const auto weights = integers(node.inputs[1]);
    if (!weights || std::any_of(weights->begin(), weights->end(), [](auto w) { return std::abs(w) > 127; }))
      return false;
    const std::size_t channels = size_of(graph_.shape_of(node.inputs[1])[0]);
    if (node.inputs.size() > 2 && !node.inputs[2].empty()) {
      const auto bias = integers(node.inputs[2]);
      if (!bias || !add_products(layer, *bias)) return false;
    }
    for (auto* numbers : {&layer->k, &layer->l}) {
      if (numbers->size() == 1) numbers->resize(channels, numbers->front());
      if (numbers->size() != channels) return false;
    }
    for (std::size_t c = 0; c < channels; ++c) {  // the bias, times 127 at most, stays well inside int32
      const std::int64_t k = layer->k[c];
      if (k < 1 || (std::abs(layer->l[c]) + layer->d) / k > (std::int64_t{1} << 30) / 127) return false;
    }
    return carries_integers(node.inputs[0]);
  }

  /// A graph input, an earlier layer's result, or moved elements of either.
  [[nodiscard]] bool carries_integers(const std::string& value) const {
    const Node* node = maker(value);
    if (node == nullptr) return !graph_.is_constant(value) && graph_.dtype_of(value) == DType::f32;
    if (moves_integers(*node)) return carries_integers(node->inputs[0]);
    return std::any_of(layers_.begin(), layers_.end(), [&](const Layer& layer) { return layer.clip == node; });
  }

  [[nodiscard]] bool all_convolutions_are_layers() const {
    return std::all_of(graph_.nodes.begin(), graph_.nodes.end(), [&](const Node& node) {
      if (node.op != "Conv" && node.op != "ConvTranspose") return true;
      return std::any_of(layers_.begin(), layers_.end(), [&](const Layer& layer) { return layer.linear == &node; });
    });
  }

  // --- the QDQ graph ---

  IntegerNetwork write() {
    out_.qdq = graph_;
    out_.qdq.nodes.clear();
    out_.qdq.opset = std::max<std::int64_t>(graph_.opset, 13);
    scale_ = constant("integer_scale", float_tensor({}, {1.0F}));
    zero_ = constant("integer_zero_point", uint8_tensor({}, {0}));
    std::set<const Node*> gone;
    std::map<const Node*, const Layer*> layers;  // by the node that ends them
    for (const Layer& layer : layers_) {
      gone.insert(layer.linear);
      gone.insert(layer.between.begin(), layer.between.end());
      layers[layer.clip] = &layer;
    }
    for (const std::string& input : graph_.inputs) {
      if (graph_.dtype_of(input) == DType::f32) add_pair(input, input);
    }
    for (const Node& node : graph_.nodes) {
      if (gone.count(&node) != 0) continue;
      const auto layer = layers.find(&node);
      if (layer != layers.end()) {
        write_layer(*layer->second);
        continue;
      }
      Node copy = node;
      for (std::string& input : copy.inputs) input = current(input);
      const bool integers = moves_integers(node) && renamed_.count(node.inputs[0]) != 0;
      if (integers) copy.outputs[0] = fresh_float(node.outputs[0]);
      out_.qdq.nodes.push_back(copy);
      if (integers) add_pair(node.outputs[0], copy.outputs[0]);
    }
    return std::move(out_);
  }

  void write_layer(const Layer& layer) {
    const Node& linear = *layer.linear;
    const std::vector<std::int64_t> weights = *integers(linear.inputs[1]);
    const Shape& shape = graph_.shape_of(linear.inputs[1]);
    const std::size_t channels = layer.k.size(), terms = weights.size() / channels;
    Tensor stored = Tensor::make(DType::i8, shape);
    std::vector<float> scales(channels);
    std::vector<std::int32_t> bias(channels);
    IntegerLayer judged;
    judged.node = linear.name;
    for (std::size_t c = 0; c < channels; ++c) {
      const auto first = weights.begin() + static_cast<std::ptrdiff_t>(c * terms);
      const auto last = first + static_cast<std::ptrdiff_t>(terms);
      Channel channel{layer.k[c], layer.l[c], layer.d, layer.top, 0};
      std::int64_t largest = 1;
      for (auto w = first; w != last; ++w) {
        largest = std::max(largest, std::abs(*w));
        channel.reach += kTop * std::abs(*w);
      }
      const Form form = best_form(channel, 127 / largest, &scales[c], &judged);
      bias[c] = static_cast<std::int32_t>(form.bias);
      for (auto w = first; w != last; ++w) {
        stored.data<std::int8_t>()[w - weights.begin()] = static_cast<std::int8_t>(*w * form.times);
      }
    }
    out_.layers.push_back(judged);
    Node plain = linear;
    const Shape per_channel = {static_cast<std::int64_t>(channels)};
    const std::string scale = constant(linear.name + "_scale", float_tensor(per_channel, scales));
    plain.inputs = {
        current(linear.inputs[0]),
        dequantized(linear.name + "_weight", constant(linear.name + "_weight_quantized", stored), scale, shape),
        dequantized(linear.name + "_bias", constant(linear.name + "_bias_quantized", int32_tensor(per_channel, bias)),
                    scale, per_channel)};
    for (auto node = layer.between.rbegin(); node != layer.between.rend(); ++node) plain.fused.push_back((*node)->name);
    plain.outputs = {fresh_float(layer.clip->outputs[0])};
    const std::string result = plain.outputs[0];
    out_.qdq.nodes.push_back(std::move(plain));
    if (layer.top == kTop) {  // what uint8 clips by itself
      out_.qdq.nodes.back().fused.push_back(layer.clip->name);
      return add_pair(layer.clip->outputs[0], result);
    }
    Node clip = *layer.clip;
    clip.inputs[0] = result;
    clip.outputs = {fresh_float(layer.clip->outputs[0])};
    const std::string clipped = clip.outputs[0];
    out_.qdq.nodes.push_back(std::move(clip));
    add_pair(layer.clip->outputs[0], clipped);
  }

  /// Of the two integers around the exact bias, the one whose steps agree more often.
  static Form best_form(const Channel& channel, std::int64_t times, float* scale, IntegerLayer* judged) {
    Form form;
    form.times = times;
    *scale = static_cast<float>(static_cast<double>(channel.k) /
                                (static_cast<double>(channel.d) * static_cast<double>(times)));
    form.scale = semantics::quantize_scale(static_cast<double>(*scale));
    // 2 k bias = times (2 l - d + 1), a fraction.
    const std::int64_t below = floor_div(times * (2 * channel.l - channel.d + 1), 2 * channel.k);
    IntegerLayer best;
    for (const std::int64_t bias : {below, below + 1}) {
      Form candidate = form;
      candidate.bias = bias;
      const IntegerLayer found = judge(channel, candidate);
      if (bias == below || found.wrong_sums < best.wrong_sums) {
        best = found;
        form.bias = bias;
      }
    }
    judged->steps += best.steps;
    judged->exact_steps += best.exact_steps;
    judged->sums += best.sums;
    judged->wrong_sums += best.wrong_sums;
    judged->most_off = std::max(judged->most_off, best.most_off);
    return form;
  }

  std::string constant(const std::string& wanted, Tensor tensor) {
    const std::string name = unique_name(out_.qdq, wanted);
    out_.qdq.constants[name] = std::move(tensor);
    return name;
  }

  std::string fresh(const std::string& wanted, const std::string& like, DType dtype) {
    const std::string name = unique_name(out_.qdq, wanted);
    out_.qdq.values[name] = {dtype, graph_.shape_of(like)};
    return name;
  }

  std::string fresh_float(const std::string& value) { return fresh(value + "_float", value, DType::f32); }

  void push(const char* op, std::vector<std::string> inputs, const std::string& output) {
    Node node;
    node.name = unique_name(out_.qdq, output + "_" + op);
    node.op = op;
    node.inputs = std::move(inputs);
    node.outputs = {output};
    out_.qdq.nodes.push_back(std::move(node));
  }

  std::string dequantized(const std::string& wanted, const std::string& value, const std::string& scale,
                          const Shape& shape) {
    const std::string output = unique_name(out_.qdq, wanted + "_dequantized");
    out_.qdq.values[output] = {DType::f32, shape};
    push("DequantizeLinear", {value, scale}, output);
    out_.qdq.nodes.back().attributes["axis"] = std::int64_t{0};
    return output;
  }

  void add_pair(const std::string& value, const std::string& source) {
    const std::string quantized = fresh(value + "_quantized", value, DType::u8);
    push("QuantizeLinear", {source, scale_, zero_}, quantized);
    const bool named = is_graph_output(graph_, value) && source != value;
    const std::string result = named ? value : fresh(value + "_dequantized", value, DType::f32);
    push("DequantizeLinear", {quantized, scale_, zero_}, result);
    renamed_[value] = result;
  }

  [[nodiscard]] std::string current(const std::string& value) const {
    const auto found = renamed_.find(value);
    return found == renamed_.end() ? value : found->second;
  }

  const Graph& graph_;
  std::map<std::string, std::size_t> makers_;
  std::map<std::string, std::vector<std::size_t>> readers_;
  std::vector<Layer> layers_;
  IntegerNetwork out_;
  std::string scale_, zero_;
  std::map<std::string, std::string> renamed_;
};

}  // namespace

std::optional<IntegerNetwork> integer_network(const Graph& graph) { return Recogniser(graph).run(); }

bool spell_out_integers(Graph& graph) {
  if (is_quantized(graph)) return false;
  std::optional<IntegerNetwork> found = integer_network(graph);
  if (found) graph = std::move(found->qdq);
  return found.has_value();
}

}  // namespace tessera::compiler
