// Operators that only move elements: views, strided copies, and what brings operands into one shape.
#include <algorithm>
#include <cmath>

#include "compiler/interpret/evaluate.hpp"
#include "compiler/quantize/lowering.hpp"

namespace tessera::compiler {
namespace {

std::size_t size_of(std::int64_t v) { return static_cast<std::size_t>(v); }

/// A Transpose that keeps the order of all axes longer than 1 moves nothing.
bool keeps_order(const Node& node, const Shape& in) {
  std::vector<std::int64_t> order(in.size());
  for (std::size_t d = 0; d < in.size(); ++d) order[d] = static_cast<std::int64_t>(in.size() - 1 - d);
  std::int64_t last = -1;
  for (const std::int64_t d : node.ints_attr("perm", order)) {
    if (in[size_of(d)] == 1) continue;
    if (d < last) return false;
    last = d;
  }
  return true;
}

/// Source elements are numbered in float32, which is exact up to here.
constexpr std::int64_t kMostNumbered = std::int64_t{1} << 24;

}  // namespace

std::optional<std::vector<QMove>> Lowering::moves_of(const Node& node, const std::string& value) const {
  const Shape& in = graph_.shape_of(node.inputs[0]);
  const Shape& out = graph_.shape_of(value);
  if (is_op(node, "Transpose")) {  // no need to number the elements
    std::vector<std::int64_t> order(in.size());
    for (std::size_t d = 0; d < in.size(); ++d) order[d] = static_cast<std::int64_t>(in.size() - 1 - d);
    std::vector<std::int64_t> strides;
    const std::vector<std::int64_t> all = linear_strides(in);
    for (const std::int64_t d : node.ints_attr("perm", order)) strides.push_back(all[size_of(d)]);
    return make_pieces(0, 0, 0, out, strides, linear_strides(out));
  }
  if (std::max(element_count(in), element_count(out)) > kMostNumbered) return std::nullopt;
  Tensor numbers = Tensor::make(DType::f32, in);
  for (std::int64_t i = 0; i < numbers.elements(); ++i) numbers.data<float>()[i] = static_cast<float>(i);
  std::vector<const Tensor*> inputs = {&numbers};
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    if (!node.inputs[i].empty() && !graph_.is_constant(node.inputs[i])) return std::nullopt;
    inputs.push_back(node.inputs[i].empty() ? nullptr : &graph_.constants.at(node.inputs[i]));
  }
  const std::vector<Tensor> results = evaluate_node(node, inputs);
  const auto which =
      static_cast<std::size_t>(std::find(node.outputs.begin(), node.outputs.end(), value) - node.outputs.begin());
  const Tensor& result = results.at(which);
  std::vector<std::int64_t> source(size_of(result.elements()));
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::int64_t>(result.data<float>()[i]);
  return pieces_of(source, result.shape);
}

bool Lowering::emit_mover(const Node& node, QNode q, int output, const std::string& value) {
  const int input = operand(node, 0);
  if (is_op(node, "Transpose") && keeps_order(node, graph_.shape_of(node.inputs[0]))) {
    emit_view(node, std::move(q), output);
    return true;
  }
  std::optional<std::vector<QMove>> pieces = moves_of(node, value);
  if (!pieces) return false;
  q.op = QOp::move;
  q.pieces = std::move(*pieces);
  emit_moved(node, std::move(q), input, output);
  return true;
}

void Lowering::emit_moved(const Node& node, QNode q, int input, int output) {
  q.inputs = {input};
  const bool clamps = q.lo != -128 || q.hi != 127;
  if (storage_of(input) == storage_of(output) && !clamps) return push(std::move(q), output);
  QNode second = node_for(node, QOp::requantize);
  second.lo = q.lo;
  second.hi = q.hi;
  q.lo = -128;
  q.hi = 127;
  const QTensor target = tensor(output);
  const int between = new_tensor(target.name + "_moved", target.onnx_shape, storage_of(input));
  push(std::move(q), between);
  emit_requantize(node, between, std::move(second), output);
}

void Lowering::emit_view(const Node& node, QNode q, int output) {
  q.op = QOp::view;
  emit_moved(node, std::move(q), operand(node, 0), output);
}

void Lowering::emit_concat(const Node& node, QNode q, int output) {
  const Shape out = tensor(output).onnx_shape;
  const auto rank = static_cast<std::int64_t>(out.size());
  std::int64_t axis = node.int_attr("axis", 0);
  if (axis < 0) axis += rank;
  if (q.lo != -128 || q.hi != 127) {  // a clamp needs a step of its own
    const QTensor target = tensor(output);
    const int whole = new_tensor(target.name + "_whole", out, storage_of(output));
    QNode clamp = step_of(node, QOp::requantize, "clamp");
    clamp.lo = q.lo;
    clamp.hi = q.hi;
    q.lo = -128;
    q.hi = 127;
    emit_concat(node, std::move(q), whole);
    return emit_requantize(node, whole, std::move(clamp), output);
  }
  std::int64_t at = 0;
  const std::vector<std::int64_t> dst = linear_strides(out);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Shape& part = graph_.shape_of(node.inputs[i]);
    if (element_count(part) == 0) continue;
    q.inputs.push_back(requantized(node, operand(node, i), storage_of(output)));
    const std::optional<QMove> piece =
        make_piece(static_cast<int>(q.inputs.size()) - 1, 0, at * dst[size_of(axis)], part, linear_strides(part), dst);
    if (piece) q.pieces.push_back(*piece);
    at += part[size_of(axis)];
  }
  q.op = QOp::move;
  if (axis == 1 && rank >= 2) {
    q.op = QOp::concat;
    q.pieces.clear();
  }
  push(std::move(q), output);
}

void Lowering::emit_pad(const Node& node, QNode q, int output) {
  const Shape in = graph_.shape_of(node.inputs[0]);
  const Storage storage = storage_of(output);
  const double value = node.inputs.size() > 2 && !node.inputs[2].empty() ? real_constant(node, 2).at(0) : 0.0;
  std::vector<std::int64_t> pads = graph_.constants.at(node.inputs[1]).as_ints();
  if (node.inputs.size() > 3 && !node.inputs[3].empty()) {
    std::vector<std::int64_t> all(in.size() * 2, 0);
    const std::vector<std::int64_t> axes = graph_.constants.at(node.inputs[3]).as_ints();
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const std::size_t axis = size_of(axes[i] + (axes[i] < 0 ? static_cast<std::int64_t>(in.size()) : 0));
      all[axis] = pads[i];
      all[in.size() + axis] = pads[axes.size() + i];
    }
    pads = all;
  }
  q.op = QOp::move;
  q.fill = static_cast<std::int8_t>(std::clamp(std::nearbyint(value / storage.scale) + storage.zero_point,
                                               static_cast<double>(q.lo), static_cast<double>(q.hi)));
  const std::vector<std::int64_t> src = linear_strides(in);
  const std::vector<std::int64_t> dst = linear_strides(tensor(output).onnx_shape);
  std::int64_t from = 0, to = 0;
  Shape extent = in;
  for (std::size_t d = 0; d < in.size(); ++d) {
    const std::int64_t before = pads[d];
    const std::int64_t behind = pads[in.size() + d];
    from += std::max<std::int64_t>(0, -before) * src[d];
    to += std::max<std::int64_t>(0, before) * dst[d];
    extent[d] += std::min<std::int64_t>(0, before) + std::min<std::int64_t>(0, behind);
  }
  // Scale and clamp first, so that the fill is one of the result's own values.
  int input = requantized(node, operand(node, 0), storage);
  if (q.lo != -128 || q.hi != 127) {
    QNode clamp = step_of(node, QOp::requantize, "clamp");
    clamp.lo = q.lo;
    clamp.hi = q.hi;
    const int clamped = new_tensor(clamp.name, in, storage);
    emit_requantize(node, input, std::move(clamp), clamped);
    input = clamped;
    q.lo = -128;
    q.hi = 127;
  }
  if (element_count(extent) > 0) {
    std::optional<std::vector<QMove>> pieces = make_pieces(0, from, to, extent, src, dst);
    if (!pieces) refuse(node, "is more than ", kMostPieces, " strided copies");
    q.pieces = std::move(*pieces);
  }
  q.inputs = {input};
  push(std::move(q), output);
}

void Lowering::emit_resize(const Node& node, QNode q, int output) {
  emit_linear_resize(node, std::move(q), operand(node, 0), output);
}

int Lowering::viewed(const Node& node, int input, const Shape& shape) {
  if (tensor(input).onnx_shape == shape) return input;
  QNode view = step_of(node, QOp::view, "view_" + tensor(input).name);
  const int output = new_tensor(view.name, shape, storage_of(input));
  view.inputs = {input};
  push(std::move(view), output);
  return output;
}

int Lowering::fitted(const Node& node, int input, const Shape& shape) {
  const Shape have = tensor(input).onnx_shape;
  if (have == shape) return input;
  if (element_count(have) == element_count(shape)) return viewed(node, input, shape);
  Shape wide(shape.size(), 1);
  std::copy(have.begin(), have.end(), wide.end() - static_cast<std::ptrdiff_t>(have.size()));
  bool channels = shape.size() >= 2 && wide[0] == shape[0] && wide[1] == shape[1];
  for (std::size_t d = 2; d < wide.size(); ++d) channels = channels && wide[d] == 1;
  if (channels) return viewed(node, input, wide);
  return expanded(node, input, shape);
}

int Lowering::expanded(const Node& node, int input, const Shape& shape) {
  const Shape have = tensor(input).onnx_shape;
  Shape wide(shape.size(), 1);
  std::copy(have.begin(), have.end(), wide.end() - static_cast<std::ptrdiff_t>(have.size()));
  std::vector<std::int64_t> src = linear_strides(wide);
  for (std::size_t d = 0; d < wide.size(); ++d) {
    if (wide[d] == 1) src[d] = 0;
  }
  std::optional<std::vector<QMove>> pieces = make_pieces(0, 0, 0, shape, src, linear_strides(shape));
  if (!pieces) {
    refuse(node, "operand of ", shape_text(have), " repeated to ", shape_text(shape), " is more than ", kMostPieces,
           " strided copies");
  }
  QNode move = step_of(node, QOp::move, "repeat_" + tensor(input).name);
  move.pieces = std::move(*pieces);
  move.inputs = {input};
  const int output = new_tensor(move.name, shape, storage_of(input));
  push(std::move(move), output);
  return output;
}

}  // namespace tessera::compiler
