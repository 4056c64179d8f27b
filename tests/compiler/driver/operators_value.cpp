// Operators on one element at a time, reductions, and functions that become a table.
#include <algorithm>

#include "operator_model.hpp"

namespace tessera::compiler::testing {
namespace {

/// Either operand may be the narrow one.
void two(OperatorModel& m, const char* op, const Shape& a, const Shape& b) {
  std::vector<std::string> inputs = {m.activation(a), m.activation(b)};
  if (m.random.chance(1, 2)) std::swap(inputs[0], inputs[1]);
  m.test(op, inputs);
}

template <const char* const& op>
void same_shapes(OperatorModel& m) {
  const Shape s = m.random.chance(1, 2) ? m.map() : m.any(static_cast<std::size_t>(m.random.between(1, 6)));
  two(m, op, s, s);
}

template <const char* const& op>
void one_value_a_channel(OperatorModel& m) {
  const Shape s = m.map();
  two(m, op, s, {m.random.chance(1, 2) ? s[0] : 1, s[1], 1, 1});
}

template <const char* const& op>
void one_value_a_pixel(OperatorModel& m) {
  const Shape s = m.map();
  two(m, op, s, {m.random.chance(1, 2) ? s[0] : 1, 1, s[2], s[3]});
}

/// Any axes of either operand are 1, and the shorter one may lack leading axes.
template <const char* const& op>
void any_broadcast(OperatorModel& m) {
  Shape a = m.any(static_cast<std::size_t>(m.random.between(2, 5))), b = a;
  for (std::size_t d = 0; d < a.size(); ++d) {
    if (m.random.chance(1, 3)) (m.random.chance(1, 2) ? a : b)[d] = 1;
  }
  b.erase(b.begin(), b.begin() + m.random.between(0, static_cast<std::int64_t>(b.size()) - 1));
  two(m, op, a, b);
}

/// A constant of any broadcast; the activation is the network's input, so that no convolution absorbs the constant.
template <const char* const& op>
void with_constant(OperatorModel& m) {
  const Shape s = m.map();
  const std::vector<Shape> shapes = {{}, {1}, {s[1], 1, 1}, {1, s[1], 1, 1}, {s[3]}, {s[2], s[3]}, s, {1, 1, s[2], 1}};
  std::vector<std::string> inputs = {m.input(s), m.floats(shapes[m.random.below(shapes.size())])};
  if (m.random.chance(1, 3)) std::swap(inputs[0], inputs[1]);
  m.test(op, inputs);
}

constexpr const char* kAdd = "Add";
constexpr const char* kSub = "Sub";
constexpr const char* kMul = "Mul";

void divide(OperatorModel& m) {
  const Shape s = m.map();
  std::vector<float> values(static_cast<std::size_t>(m.random.chance(1, 2) ? 1 : s[3]));
  for (float& v : values) v = static_cast<float>(0.5 + 2.0 * m.random.unit());
  m.test("Div", {m.input(s), m.numbers(values)});
}

void reduce(OperatorModel& m, const char* op, bool axes_are_input) {
  const bool spatial = m.random.chance(1, 2);
  const Shape s = spatial ? m.map() : m.any(static_cast<std::size_t>(m.random.between(1, 5)));
  Ints axes = {2, 3};
  if (!spatial) {
    const auto rank = static_cast<std::int64_t>(s.size());
    const std::int64_t first = m.random.between(0, rank - 1), last = m.random.between(first, rank - 1);
    axes.clear();
    for (std::int64_t d = first; d <= last; ++d) axes.push_back(m.random.chance(1, 4) ? d - rank : d);
  }
  Attributes attributes = {{"keepdims", std::int64_t{m.random.chance(1, 2)}}};
  std::vector<std::string> inputs = {m.activation(s)};
  if (axes_are_input) {
    inputs.push_back(m.ints(axes));
  } else {
    attributes["axes"] = axes;
  }
  m.test(op, inputs, std::move(attributes));
}

/// More values than a kernel field holds, in no whole number of kernels.
void reduce_max_of_many(OperatorModel& m) {
  m.test("ReduceMax", {m.activation({m.random.between(1, 3), m.random.between(256, 1100)})}, {{"axes", Ints{1}}});
}
void reduce_mean(OperatorModel& m) { reduce(m, "ReduceMean", false); }
void reduce_max(OperatorModel& m) { reduce(m, "ReduceMax", false); }
void reduce_sum(OperatorModel& m) { reduce(m, "ReduceSum", true); }

Shape some(OperatorModel& m) {
  return m.random.chance(1, 2) ? m.map() : m.any(static_cast<std::size_t>(m.random.between(1, 6)));
}

void relu(OperatorModel& m) { m.test("Relu", {m.input(some(m))}); }

void clip(OperatorModel& m) {
  const float low = -static_cast<float>(m.random.unit());
  m.test("Clip", {m.input(some(m)), m.random.chance(1, 3) ? "" : m.number(low), m.number(low + 1.5F)});
}

void prelu(OperatorModel& m) {
  const Shape s = m.map();
  m.test("PRelu", {m.input(s), m.random.chance(1, 4) ? m.floats({1}) : m.floats({s[1], 1, 1})});
}

void leaky_relu(OperatorModel& m) {
  m.test("LeakyRelu", {m.activation(some(m))}, {{"alpha", static_cast<float>(m.random.unit())}});
}

void hard_sigmoid(OperatorModel& m) {
  m.test("HardSigmoid", {m.activation(some(m))}, {{"alpha", 0.1F + static_cast<float>(m.random.unit())}});
}

template <const char* const& op>
void function(OperatorModel& m) {
  m.test(op, {m.activation(some(m))});
}

constexpr const char* kSigmoid = "Sigmoid";
constexpr const char* kTanh = "Tanh";
constexpr const char* kHardSwish = "HardSwish";
constexpr const char* kElu = "Elu";
constexpr const char* kErf = "Erf";
constexpr const char* kExp = "Exp";
constexpr const char* kSoftplus = "Softplus";

void silu(OperatorModel& m) {
  const std::string x = m.activation(some(m));
  m.test("Mul", {x, m.step("Sigmoid", {x})});
}

void gelu(OperatorModel& m) {
  const std::string x = m.activation(some(m));
  const std::string erf = m.step("Erf", {m.step("Div", {x, m.number(1.41421356F)})});
  m.test("Mul", {m.step("Mul", {x, m.step("Add", {erf, m.number(1.0F)})}), m.number(0.5F)});
}

}  // namespace

std::vector<OperatorFamily> value_families() {
  const std::vector<std::string> sum = {"edp", "conv"};       // conv: in the drain of the convolution before it
  const std::vector<std::string> constant = {"edp", "conv"};  // conv: one constant a channel, depthwise
  return {{"AddSameShapes", "Add", sum, same_shapes<kAdd>},
          {"AddOneValueAChannel", "Add", sum, one_value_a_channel<kAdd>},
          {"AddOneValueAPixel", "Add", sum, one_value_a_pixel<kAdd>},
          {"AddAnyBroadcast", "Add", sum, any_broadcast<kAdd>},
          {"AddConstant", "Add", constant, with_constant<kAdd>},
          {"SubSameShapes", "Sub", sum, same_shapes<kSub>},
          {"SubAnyBroadcast", "Sub", sum, any_broadcast<kSub>},
          {"SubConstant", "Sub", constant, with_constant<kSub>},
          {"MulSameShapes", "Mul", {"edp"}, same_shapes<kMul>},
          {"MulOneValueAChannel", "Mul", {"edp"}, one_value_a_channel<kMul>},
          {"MulOneValueAPixel", "Mul", {"edp"}, one_value_a_pixel<kMul>},
          {"MulAnyBroadcast", "Mul", {"edp"}, any_broadcast<kMul>},
          {"MulConstant", "Mul", constant, with_constant<kMul>},
          {"DivByConstant", "Div", constant, divide},
          {"ReduceMean", "ReduceMean", {"edp"}, reduce_mean},
          {"ReduceMax", "ReduceMax", {"edp"}, reduce_max},
          {"ReduceMaxOfMany", "ReduceMax", {"edp"}, reduce_max_of_many},
          {"ReduceSum", "ReduceSum", {"edp"}, reduce_sum},
          {"Relu", "Relu", {"edp"}, relu},
          {"Clip", "Clip", {"edp"}, clip},
          {"PRelu", "PRelu", {"edp", "conv"}, prelu},
          {"LeakyRelu", "LeakyRelu", {"edp"}, leaky_relu},
          {"HardSigmoid", "HardSigmoid", {"edp"}, hard_sigmoid},
          {"HardSwish", "HardSwish", {"edp"}, function<kHardSwish>},
          {"Sigmoid", "Sigmoid", {"edp"}, function<kSigmoid>},
          {"Tanh", "Tanh", {"edp"}, function<kTanh>},
          {"Elu", "Elu", {"edp"}, function<kElu>},
          {"Erf", "Erf", {"edp"}, function<kErf>},
          {"Exp", "Exp", {"edp"}, function<kExp>},
          {"Softplus", "Softplus", {"edp"}, function<kSoftplus>},
          {"Silu", "Sigmoid", {"edp"}, silu},
          {"Gelu", "Erf", {"edp"}, gelu}};
}

}  // namespace tessera::compiler::testing
