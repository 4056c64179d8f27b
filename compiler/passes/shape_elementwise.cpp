// Shapes of operators that work element by element, and of the normalisations that keep their input's shape.
#include "compiler/passes/shape_context.hpp"
#include "compiler/passes/shape_inference.hpp"

namespace tessera::compiler {
namespace {

Infos same_as_first(const ShapeContext& c) {
  c.need(1);
  return c.shape(0) == nullptr ? unknown(c.dtype(0)) : known(c.dtype(0), *c.shape(0));
}

Infos same_shape_bool(const ShapeContext& c) {
  c.need(1);
  return c.shape(0) == nullptr ? unknown(DType::boolean) : known(DType::boolean, *c.shape(0));
}

/// The common shape of inputs first, first + 1, ...
Infos broadcast_from(const ShapeContext& c, DType dtype) {
  c.need(1);
  Shape shape;
  for (std::size_t i = 0; i < c.inputs(); ++i) {
    if (c.shape(i) == nullptr) return unknown(dtype);
    const std::optional<Shape> merged = broadcast_shape(shape, *c.shape(i));
    if (!merged) {
      c.refuse("input " + std::to_string(i) + " of " + shape_text(*c.shape(i)) + " does not broadcast with " +
               shape_text(shape));
    }
    shape = *merged;
  }
  return known(dtype, shape);
}

Infos broadcast(const ShapeContext& c) { return broadcast_from(c, c.dtype(0)); }
Infos broadcast_pair(const ShapeContext& c) {
  c.need(2);
  return broadcast_from(c, c.dtype(0));
}
Infos compare(const ShapeContext& c) {
  c.need(2);
  return broadcast_from(c, DType::boolean);
}
Infos where(const ShapeContext& c) {
  c.need(3);
  return broadcast_from(c, c.dtype(1));
}

Infos dropout(const ShapeContext& c) {
  Infos infos = same_as_first(c);
  infos.push_back(ValueInfo{DType::boolean, infos[0].shape});
  return infos;
}

/// Softmax and its kin: the axis must exist.
Infos along_axis(const ShapeContext& c) {
  Infos infos = same_as_first(c);
  if (infos[0].shape) (void)c.axis(c.node().int_attr("axis", -1), infos[0].shape->size());
  return infos;
}

/// BatchNormalization, InstanceNormalization: each parameter has one value a channel.
Infos per_channel(const ShapeContext& c) {
  Infos infos = same_as_first(c);
  if (!infos[0].shape) return infos;
  if (infos[0].shape->size() < 2) c.refuse("input is " + shape_text(*infos[0].shape) + ": expected batch and channels");
  const std::int64_t channels = (*infos[0].shape)[1];
  for (std::size_t i = 1; i < c.inputs(); ++i) {
    if (c.shape(i) != nullptr && *c.shape(i) != Shape{channels}) {
      c.refuse("input " + std::to_string(i) + " is " + shape_text(*c.shape(i)) + ": expected one value for each of " +
               std::to_string(channels) + " channels");
    }
  }
  return infos;
}

Infos layer_norm(const ShapeContext& c) {
  Infos infos = along_axis(c);
  if (!infos[0].shape) return infos;
  Shape statistics = *infos[0].shape;
  for (std::size_t i = c.axis(c.node().int_attr("axis", -1), statistics.size()); i < statistics.size(); ++i) {
    statistics[i] = 1;
  }
  infos.push_back(ValueInfo{DType::f32, statistics});
  infos.push_back(ValueInfo{DType::f32, statistics});
  return infos;
}

Infos cast(const ShapeContext& c) {
  c.need(1);
  // Numbers of TensorProto.DataType.
  static const std::map<std::int64_t, DType> types = {
      {1, DType::f32}, {2, DType::u8},      {3, DType::i8},   {4, DType::u16},  {5, DType::i16},  {6, DType::i32},
      {7, DType::i64}, {9, DType::boolean}, {10, DType::f16}, {11, DType::f64}, {12, DType::u32}, {13, DType::u64}};
  const auto type = types.find(c.node().int_attr("to", 0));
  if (type == types.end()) {
    c.refuse("casts to ONNX type " + std::to_string(c.node().int_attr("to", 0)) +
             ": expected float32, float64, float16, bool or an integer of 8 to 64 bits");
  }
  return c.shape(0) == nullptr ? unknown(type->second) : known(type->second, *c.shape(0));
}

Infos cast_like(const ShapeContext& c) {
  c.need(2);
  return c.shape(0) == nullptr ? unknown(c.dtype(1)) : known(c.dtype(1), *c.shape(0));
}

Infos quantize_linear(const ShapeContext& c) {
  c.need(2);
  const DType dtype = c.has(2) ? c.dtype(2) : DType::u8;
  return c.shape(0) == nullptr ? unknown(dtype) : known(dtype, *c.shape(0));
}

Infos dequantize_linear(const ShapeContext& c) {
  c.need(2);
  const DType dtype = c.dtype(1) == DType::undefined ? DType::f32 : c.dtype(1);
  return c.shape(0) == nullptr ? unknown(dtype) : known(dtype, *c.shape(0));
}

Infos dynamic_quantize_linear(const ShapeContext& c) {
  c.need(1);
  Infos infos = c.shape(0) == nullptr ? unknown(DType::u8) : known(DType::u8, *c.shape(0));
  infos.push_back(ValueInfo{DType::f32, Shape{}});
  infos.push_back(ValueInfo{DType::u8, Shape{}});
  return infos;
}

}  // namespace

void add_elementwise_shapes(ShapeTable& table) {
  for (const char* op : {"Abs",
                         "Acos",
                         "Acosh",
                         "Asin",
                         "Asinh",
                         "Atan",
                         "Atanh",
                         "BitwiseNot",
                         "Ceil",
                         "Celu",
                         "Clip",
                         "Cos",
                         "Cosh",
                         "CumSum",
                         "Elu",
                         "Erf",
                         "Exp",
                         "Floor",
                         "Gelu",
                         "GroupNormalization",
                         "HardSigmoid",
                         "HardSwish",
                         "Identity",
                         "LRN",
                         "LeakyRelu",
                         "Log",
                         "LpNormalization",
                         "MeanVarianceNormalization",
                         "Mish",
                         "Neg",
                         "Not",
                         "PRelu",
                         "Reciprocal",
                         "Relu",
                         "Round",
                         "Selu",
                         "Shrink",
                         "Sigmoid",
                         "Sign",
                         "Sin",
                         "Sinh",
                         "Softplus",
                         "Softsign",
                         "Sqrt",
                         "Tan",
                         "Tanh",
                         "ThresholdedRelu",
                         "Trilu"}) {
    table[op] = same_as_first;
  }
  for (const char* op : {"IsInf", "IsNaN"}) table[op] = same_shape_bool;
  for (const char* op : {"Max", "Mean", "Min", "Sum"}) table[op] = broadcast;
  for (const char* op : {"Add", "And", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Div", "Mod", "Mul", "Or",
                         "Pow", "Sub", "Xor"}) {
    table[op] = broadcast_pair;
  }
  for (const char* op : {"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"}) table[op] = compare;
  for (const char* op : {"Hardmax", "LogSoftmax", "Softmax"}) table[op] = along_axis;
  for (const char* op : {"BatchNormalization", "InstanceNormalization"}) table[op] = per_channel;
  table["Where"] = where;
  table["Dropout"] = dropout;
  table["LayerNormalization"] = layer_norm;
  table["Cast"] = cast;
  table["CastLike"] = cast_like;
  table["QuantizeLinear"] = quantize_linear;
  table["DequantizeLinear"] = dequantize_linear;
  table["DynamicQuantizeLinear"] = dynamic_quantize_linear;
}

}  // namespace tessera::compiler
