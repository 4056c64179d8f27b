#include "compiler/legal/rules.hpp"

#include <algorithm>
#include <cstdlib>

#include "compiler/passes/window.hpp"
#include "hw/common/error.hpp"

namespace tessera::compiler::legal {
namespace {

constexpr std::int64_t kLargestField = 255;  // kernel, stride, dilation and pad fields have 8 bits

bool within(const std::vector<std::int64_t>& values, std::int64_t low) {
  return std::all_of(values.begin(), values.end(), [&](std::int64_t v) { return v >= low && v <= kLargestField; });
}

bool rank_3_or_4(const Subject& s) { return s.shape(0).size() == 3 || s.shape(0).size() == 4; }

bool fits_fields(const Window& w) {
  return within(w.kernel, 1) && within(w.strides, 1) && within(w.dilations, 1) && within(w.pads_begin, 0) &&
         within(w.pads_end, 0);
}

/// Whether every window holds an element of the map, whatever the map's size.
bool pads_within_kernel(const Window& w, std::size_t axis) {
  return std::max(w.pads_begin[axis], w.pads_end[axis]) <= w.dilations[axis] * (w.kernel[axis] - 1);
}

bool conv_window(const Subject& s) {
  const Shape& shape = s.shape(1);
  const Window w = resolve_window(s.node(), s.shape(0), Shape(shape.begin() + 2, shape.end()));
  for (std::size_t d = 0; d < w.kernel.size(); ++d) {  // wider pads become part of the kernel
    if (!pads_within_kernel(w, d) && w.pads_begin[d] + w.pads_end[d] > kLargestField) return false;
  }
  return fits_fields(w);
}

bool pool_window(const Subject& s) {
  const Window w = resolve_window(s.node(), s.shape(0), {});
  for (std::size_t d = 0; d < w.kernel.size(); ++d) {
    if (!pads_within_kernel(w, d)) return false;
  }
  return fits_fields(w);
}

bool second_constant(const Subject& s) { return s.constant(1); }

bool bias_constant(const Subject& s) { return !s.has(2) || s.constant(2); }

bool transpose_window(const Subject& s) {
  const Shape& w = s.shape(1);
  const Window window = resolve_transpose_window(s.node(), s.shape(0), Shape(w.begin() + 2, w.end()));
  for (std::size_t d = 0; d < window.kernel.size(); ++d) {  // what a phase's kernel and pads can grow to
    const std::int64_t extent = window.dilations[d] * (window.kernel[d] - 1) + 1;
    const std::int64_t pads = std::max(std::abs(window.pads_begin[d]), std::abs(window.pads_end[d]));
    if (extent + pads > kLargestField) return false;
  }
  return within(window.strides, 1);
}

bool canonical_gemm(const Subject& s) {
  return s.node().int_attr("transA", 0) == 0 && s.node().float_attr("alpha", 1.0F) == 1.0F &&
         (!s.has(2) || s.node().float_attr("beta", 1.0F) == 1.0F);
}

bool gemm_bias(const Subject& s) {
  if (!s.has(2)) return true;
  const Tensor* bias = s.constant_tensor(2);
  return bias != nullptr &&
         (bias->elements() == 1 ||
          (bias->elements() == s.output().back() && (bias->shape.empty() || bias->shape.back() == bias->elements())));
}

bool matrices(const Subject& s) { return s.shape(0).size() >= 2 && s.shape(1).size() >= 2; }

bool broadcast_batch(const Subject& s) {
  // One matrix for all, or equal batches.
  const auto batch = [](const Shape& shape) {
    Shape lead(shape.begin(), shape.end() - 2);
    lead.erase(lead.begin(), std::find_if(lead.begin(), lead.end(), [](std::int64_t d) { return d != 1; }));
    return lead;
  };
  const Shape a = batch(s.shape(0));
  const Shape b = batch(s.shape(1));
  return a.empty() || b.empty() || a == b;
}

bool matrix_fields(const Subject& s) {
  constexpr std::int64_t kLargestSize = 65535;
  const Shape& a = s.shape(0);
  const Shape& out = s.output();
  return a.back() <= kLargestSize && out.back() <= kLargestSize && element_count(out) / out.back() <= kLargestSize * 16;
}

bool one_result(const Subject& s) { return s.node().outputs.size() == 1 || s.node().outputs[1].empty(); }

/// Neighbouring axes: [outer, reduced, inner] is a pool over one axis.
bool neighbouring_axes(const Subject& s) {
  const std::vector<std::int64_t> axes = s.axes();
  if (axes.empty()) return false;
  return axes.back() - axes.front() + 1 == static_cast<std::int64_t>(axes.size());
}

bool reduction_fits(const Subject& s) {
  std::int64_t length = 1, inner = 1;
  const std::vector<std::int64_t> axes = s.axes();
  for (const std::int64_t axis : axes) length *= s.shape(0)[static_cast<std::size_t>(axis)];
  for (std::size_t d = static_cast<std::size_t>(axes.back()) + 1; d < s.shape(0).size(); ++d) inner *= s.shape(0)[d];
  return inner == 1 || length <= kLargestField;
}

bool parameters_constant(const Subject& s) {
  for (std::size_t i = 1; i < s.node().inputs.size(); ++i) {
    if (s.has(i) && !s.constant(i)) return false;
  }
  return true;
}

bool resize_mode(const Subject& s) {
  const std::string mode = s.node().string_attr("mode", "nearest");
  if (mode == "nearest") return true;
  if (mode != "linear" || s.shape(0).size() != 4) return false;
  const std::string how = s.node().string_attr("coordinate_transformation_mode", "half_pixel");
  if (how != "half_pixel" && how != "pytorch_half_pixel") return false;
  const std::vector<std::int64_t> factors = whole_factors(s.shape(0), s.output());
  // pytorch_half_pixel differs where an output has one row; whole factors leave none of these but the input's own.
  return factors.size() == 4 && factors[0] == 1 && factors[1] == 1 && factors[2] <= 16 && factors[3] <= 16 &&
         s.shape(0)[2] >= 1 && s.shape(0)[3] >= 1;
}

bool slope_channels(const Subject& s) {
  const Tensor* slope = s.constant_tensor(1);
  if (slope == nullptr) return false;
  const Shape& x = s.shape(0);
  if (slope->elements() == 1) return true;
  if (x.size() < 2 || slope->elements() != x[1] || slope->shape.size() > x.size()) return false;
  const std::size_t lead = x.size() - slope->shape.size();
  return lead <= 1 && slope->shape[1 - lead] == x[1];
}

constexpr Rule kRank{"rank", "input of rank 3 or 4 (N, C and one or two spatial axes)", rank_3_or_4};
constexpr Rule kWeights{"weights", "the second operand is a constant", second_constant};
constexpr Rule kBias{"bias", "the bias is a constant", bias_constant};
constexpr Rule kConvWindow{"window",
                           "kernel, strides and dilations in [1, 255], pads in [0, 255], those of an axis together "
                           "where one exceeds the dilated kernel",
                           conv_window};
constexpr Rule kPoolWindow{
    "window", "kernel, strides and dilations in [1, 255], pads in [0, 255] and smaller than the dilated kernel",
    pool_window};
constexpr Rule kTransposeWindow{
    "window", "strides in [1, 255]; the dilated kernel and the larger pad together up to 255", transpose_window};
constexpr Rule kGemm{"gemm", "transA = 0, alpha = beta = 1 (what a constant operand can absorb is absorbed)",
                     canonical_gemm};
constexpr Rule kGemmBias{"C", "C is a constant of one value, or of one value a column", gemm_bias};
constexpr Rule kMatrices{"rank", "both operands of rank 2 or more", matrices};
constexpr Rule kBatch{"batch", "equal batches, or one matrix for all of the batch", broadcast_batch};
constexpr Rule kMatrixSize{"size", "inner and outer sizes up to 65535", matrix_fields};
constexpr Rule kOneResult{"results", "one result (no indices)", one_result};
constexpr Rule kAxes{"axes", "neighbouring axes", neighbouring_axes};
constexpr Rule kReduction{"length", "at most 255 values where axes follow that are not reduced", reduction_fits};
constexpr Rule kLimits{"limits", "constant limits", parameters_constant};
constexpr Rule kParameters{"parameters", "every input but the first is a constant", parameters_constant};
constexpr Rule kPadValue{"pads", "constant pads and value", parameters_constant};
constexpr Rule kResize{
    "mode", "nearest; or linear on [N,C,H,W], half_pixel, by whole factors up to 16 in rows and columns", resize_mode};
constexpr Rule kDivisor{"divisor", "the divisor is a constant", second_constant};
constexpr Rule kSlope{"slope", "a constant slope: one, or one a channel", slope_channels};

}  // namespace

const Tensor* Subject::constant_tensor(std::size_t i) const {
  if (!has(i)) return nullptr;
  const std::string& value = node_.inputs[i];
  const auto direct = graph_.constants.find(value);
  if (direct != graph_.constants.end()) return &direct->second;
  const auto maker = makers_.find(value);
  if (maker == makers_.end() || maker->second->op != "DequantizeLinear") return nullptr;
  const auto behind = graph_.constants.find(maker->second->inputs[0]);
  return behind == graph_.constants.end() ? nullptr : &behind->second;
}

std::vector<std::int64_t> Subject::axes() const {
  const auto rank = static_cast<std::int64_t>(shape(0).size());
  std::vector<std::int64_t> axes = node_.ints_attr("axes", {});
  if (has(1)) {
    const Tensor* given = constant_tensor(1);
    if (given == nullptr) return {};
    axes = given->as_ints();
  }
  if (axes.empty()) {
    for (std::int64_t d = 0; d < rank; ++d) axes.push_back(d);
  }
  for (std::int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  std::sort(axes.begin(), axes.end());
  return axes;
}

std::vector<std::int64_t> whole_factors(const Shape& in, const Shape& out) {
  std::vector<std::int64_t> factors;
  for (std::size_t d = 0; d < in.size() && d < out.size(); ++d) {
    if (in[d] == 0 || out[d] % in[d] != 0) return {};
    factors.push_back(out[d] / in[d]);
  }
  return factors;
}

namespace {

constexpr const char* kMover = "reorder, load";
constexpr const char* kView = "-";
constexpr const char* kCopy = "strided copy";
constexpr const char* kSeen = "another view of the same elements";

}  // namespace

bool only_moves(const Operator& entry) { return entry.unit == kMover || entry.unit == kView; }

const std::vector<Operator>& operators() {
  static const std::vector<Operator> list = {
      {"Conv", "conv", "convolution, also grouped and depthwise", {&kRank, &kWeights, &kBias, &kConvWindow}},
      {"ConvTranspose",
       "conv, reorder",
       "one convolution a phase of the strides, then interleaved",
       {&kRank, &kWeights, &kBias, &kTransposeWindow}},
      {"Gemm",
       "conv, gemm",
       "one row: 1x1 convolution; more: matrix product; transposition of A, a computed B or C are steps of their own",
       {&kWeights, &kGemm, &kGemmBias}},
      {"MatMul", "conv, gemm", "matrix product, either operand an activation", {&kMatrices, &kBatch, &kMatrixSize}},
      {"Add",
       "edp, conv",
       "sum of two scales, in the drain of a convolution before it; broadcast operands are repeated first",
       {}},
      {"Sub", "edp, conv", "as Add", {}},
      {"Mul", "edp, conv", "product; by one constant a channel: depthwise convolution", {}},
      {"Div", "edp, conv", "product with the reciprocal", {&kDivisor}},
      {"MaxPool", "edp", "maximum over windows", {&kRank, &kOneResult, &kPoolWindow}},
      {"GlobalMaxPool", "edp", "maximum over the map", {&kRank}},
      {"AveragePool", "edp", "average over windows, with both count rules", {&kRank, &kPoolWindow}},
      {"GlobalAveragePool", "edp", "average over the map", {&kRank}},
      {"ReduceMean", "edp", "average over the map", {&kAxes, &kReduction}},
      {"ReduceSum", "edp", "average over the map, at another scale", {&kAxes, &kReduction}},
      {"ReduceMax", "edp", "maximum over the map", {&kAxes, &kReduction}},
      {"Relu", "edp", "clamp of the operator before it, or a requantisation", {}},
      {"Clip", "edp", "clamp of the operator before it, or a requantisation", {&kLimits}},
      {"PRelu", "edp, conv", "one slope: a table; one a channel: depthwise convolution and sum", {&kSlope}},
      {"Concat", kMover, "parts at the scale of the result", {}},
      {"Split", kMover, kCopy, {&kParameters}},
      {"Slice", kMover, "strided copy, also with steps", {&kParameters}},
      {"Pad", kMover, "strided copies and a fill", {&kPadValue}},
      {"Transpose", kMover, kCopy, {}},
      {"Expand", kMover, kCopy, {&kParameters}},
      {"Tile", kMover, kCopy, {&kParameters}},
      {"Gather", kMover, kCopy, {&kParameters}},
      {"DepthToSpace", kMover, kCopy, {}},
      {"SpaceToDepth", kMover, kCopy, {}},
      {"Resize",
       "reorder, load, conv",
       "nearest: strided copy; linear: one depthwise convolution a phase, interleaved",
       {&kParameters, &kResize}},
      {"Reshape", kView, kSeen, {}},
      {"Flatten", kView, kSeen, {}},
      {"Squeeze", kView, kSeen, {}},
      {"Unsqueeze", kView, kSeen, {}},
      {"Identity", kView, kSeen, {}},
      {"Dropout", kView, kSeen, {}},
  };
  return list;
}

const Operator* find_operator(const Node& node) {
  if (!node.domain.empty()) return nullptr;
  for (const Operator& entry : operators()) {
    if (node.op == entry.op) return &entry;
  }
  return nullptr;
}

const Rule* first_broken(const Subject& subject) {
  const Operator* entry = find_operator(subject.node());
  TESSERA_CHECK(entry != nullptr, subject.node().op);
  for (const Rule* rule : entry->rules) {
    if (!rule->holds(subject)) return rule;
  }
  return nullptr;
}

const std::vector<std::string>& table_functions() {
  static const std::vector<std::string> list = {
      "Abs",     "Add",   "Ceil", "Celu",        "Clip",      "Cos",        "Div",  "Elu",   "Erf",
      "Exp",     "Floor", "Gelu", "HardSigmoid", "HardSwish", "LeakyRelu",  "Log",  "Max",   "Min",
      "Mish",    "Mul",   "Neg",  "Pow",         "PRelu",     "Reciprocal", "Relu", "Round", "Selu",
      "Sigmoid", "Sign",  "Sin",  "Softplus",    "Softsign",  "Sqrt",       "Sub",  "Tanh",  "ThresholdedRelu"};
  return list;
}

std::string operators_page() {
  std::string page =
      "<!-- Generated from compiler/legal/rules.cpp: tessera check --operators > docs/operators.md -->\n"
      "# Supported operators\n\n"
      "A node that keeps the rules runs on the unit named; one that breaks a rule, and any other operator that the\n"
      "float interpreter has, is a host step, named and charged. What neither has is refused with its name. A copy is\n"
      "LOAD's where it starts in DRAM and is a few descriptors, REORDER's otherwise; of more than 64 boxes it is the\n"
      "host's.\n\n"
      "| operator | unit | form | rules |\n|---|---|---|---|\n";
  for (const Operator& entry : operators()) {
    page += "| " + std::string(entry.op) + " | " + entry.unit + " | " + entry.form + " | ";
    for (std::size_t i = 0; i < entry.rules.size(); ++i)
      page += (i == 0 ? "" : "; ") + std::string(entry.rules[i]->sentence);
    page += " |\n";
  }
  page +=
      "\n## Functions of one value\n\nChains of these on one value (constants of one element where they take more) "
      "are one table of 256 entries on the\nEDP unit, whatever their number: SiLU as x * Sigmoid(x), GELU as its Erf "
      "form, hard swish by Clip.\n\n";
  for (std::size_t i = 0; i < table_functions().size(); ++i) page += (i == 0 ? "" : ", ") + table_functions()[i];
  page += ".\n";
  return page;
}

}  // namespace tessera::compiler::legal
