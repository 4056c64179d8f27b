#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "compiler/host/math.hpp"
#include "compiler/interpret/op_call.hpp"

namespace tessera::compiler::operators {
namespace {

/// float16 is computed in float32, as onnxruntime does, and rounded once.
template <typename Run>
void through_float(OpCall& call, Run&& run) {
  std::vector<Tensor> wide(call.in.size());
  const std::vector<const Tensor*> given = call.in;
  bool half = false;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i] == nullptr || given[i]->dtype != DType::f16) continue;
    wide[i] = convert(call, *given[i], DType::f32);
    call.in[i] = &wide[i];
    half = true;
  }
  run();
  call.in = given;
  if (!half) return;
  for (Tensor& out : call.out) {
    if (out.dtype == DType::f32) out = convert(call, out, DType::f16);
  }
}

// --- one input, real numbers: f(x, call) in double, rounded to the type once ---

using Real = double (*)(double x, const OpCall& call);

template <Real f>
void real_unary(OpCall& call) {
  through_float(call, [&] {
    const Tensor& x = call.input(0);
    call.require(x.dtype == DType::f32 || x.dtype == DType::f64, "type ", dtype_name(x.dtype),
                 ": expected a float type");
    Tensor y = Tensor::make(x.dtype, x.shape);
    const std::int64_t n = x.elements();
    if (x.dtype == DType::f32) {
      for (std::int64_t i = 0; i < n; ++i) {
        y.data<float>()[i] = static_cast<float>(f(static_cast<double>(x.data<float>()[i]), call));
      }
    } else {
      for (std::int64_t i = 0; i < n; ++i) y.data<double>()[i] = f(x.data<double>()[i], call);
    }
    call.out.push_back(std::move(y));
  });
}

double attr(const OpCall& call, const char* key, float otherwise) {
  return static_cast<double>(call.node.float_attr(key, otherwise));
}

double sigmoid(double x, const OpCall&) { return 1.0 / (1.0 + host::exp(-x)); }
double tanh_of(double x, const OpCall&) {
  if (std::fabs(x) < 1e-4) return x - x * x * x / 3.0;  // 1 - exp loses digits here
  const double e = host::exp(-2.0 * std::fabs(x));
  return std::copysign((1.0 - e) / (1.0 + e), x);
}
double exp_of(double x, const OpCall&) { return host::exp(x); }
double log_of(double x, const OpCall&) { return host::log(x); }
double sqrt_of(double x, const OpCall&) { return std::sqrt(x); }
double erf_of(double x, const OpCall&) { return std::erf(x); }
double sin_of(double x, const OpCall&) { return std::sin(x); }
double cos_of(double x, const OpCall&) { return std::cos(x); }
double tan_of(double x, const OpCall&) { return std::tan(x); }
double atan_of(double x, const OpCall&) { return std::atan(x); }
double reciprocal(double x, const OpCall&) { return 1.0 / x; }
double round_of(double x, const OpCall&) { return std::nearbyint(x); }
double floor_of(double x, const OpCall&) { return std::floor(x); }
double ceil_of(double x, const OpCall&) { return std::ceil(x); }
double softplus(double x, const OpCall&) { return std::max(x, 0.0) + host::log(1.0 + host::exp(-std::fabs(x))); }
double softsign(double x, const OpCall&) { return x / (1.0 + std::fabs(x)); }
double mish(double x, const OpCall& call) { return x * tanh_of(softplus(x, call), call); }
double hard_sigmoid(double x, const OpCall& call) {
  return std::clamp(attr(call, "alpha", 0.2F) * x + attr(call, "beta", 0.5F), 0.0, 1.0);
}
double hard_swish(double x, const OpCall&) { return x * std::clamp(x / 6.0 + 0.5, 0.0, 1.0); }
double leaky_relu(double x, const OpCall& call) { return x < 0 ? attr(call, "alpha", 0.01F) * x : x; }
double elu(double x, const OpCall& call) { return x < 0 ? attr(call, "alpha", 1.0F) * (host::exp(x) - 1.0) : x; }
double celu(double x, const OpCall& call) {
  const double alpha = attr(call, "alpha", 1.0F);
  return std::max(0.0, x) + std::min(0.0, alpha * (host::exp(x / alpha) - 1.0));
}
double selu(double x, const OpCall& call) {
  const double alpha = attr(call, "alpha", 1.67326319217681884765625F);
  return attr(call, "gamma", 1.05070102214813232421875F) * (x <= 0 ? alpha * host::exp(x) - alpha : x);
}
double thresholded_relu(double x, const OpCall& call) { return x > attr(call, "alpha", 1.0F) ? x : 0.0; }
double gelu(double x, const OpCall& call) {
  if (call.node.string_attr("approximate", "none") == "tanh") {
    return 0.5 * x * (1.0 + tanh_of(std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x), call));
  }
  return 0.5 * x * (1.0 + std::erf(x * M_SQRT1_2));
}

// --- one input, any number type ---

template <typename F>
void number_unary(OpCall& call, F f) {
  through_float(call, [&] {
    const Tensor& x = call.input(0);
    Tensor y = Tensor::make(x.dtype, x.shape);
    with_number(call, x.dtype, [&](auto tag) {
      using T = decltype(tag);
      const T* const from = x.data<T>();
      T* const to = y.data<T>();
      const std::int64_t n = x.elements();
      for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(f(from[i]));
    });
    call.out.push_back(std::move(y));
  });
}

void relu(OpCall& call) {
  number_unary(call, [](auto v) { return v > decltype(v){} ? v : decltype(v){}; });
}
void abs_of(OpCall& call) {
  number_unary(call, [](auto v) {
    if constexpr (std::is_signed_v<decltype(v)>)
      return v < decltype(v){} ? -v : +v;
    else
      return v;
  });
}
void neg(OpCall& call) {
  number_unary(call, [](auto v) { return -v; });
}
void sign_of(OpCall& call) {
  number_unary(call, [](auto v) { return (v > decltype(v){} ? 1 : 0) - (v < decltype(v){} ? 1 : 0); });
}
void not_of(OpCall& call) {
  number_unary(call, [](auto v) { return v == decltype(v){} ? 1 : 0; });
}
void identity(OpCall& call) { call.out.push_back(call.input(0)); }

void dropout(OpCall& call) {
  const bool training = call.has(2) && call.ints_input(2).at(0) != 0;
  const double ratio = call.has(1) ? call.input(1).as_doubles().at(0) : 0.5;
  call.require(!training || ratio == 0.0, "training mode is not supported: expected inference");
  call.out.push_back(call.input(0));
  Tensor mask = Tensor::make(DType::boolean, call.input(0).shape);
  std::fill(mask.bytes.begin(), mask.bytes.end(), std::uint8_t{1});
  call.out.push_back(std::move(mask));
}

void clip(OpCall& call) {
  through_float(call, [&] {
    const Tensor& x = call.input(0);
    Tensor y = x;
    with_number(call, x.dtype, [&](auto tag) {
      using T = decltype(tag);
      const T low = call.has(1) ? *call.input(1).data<T>() : std::numeric_limits<T>::lowest();
      const T high = call.has(2) ? *call.input(2).data<T>() : std::numeric_limits<T>::max();
      T* const to = y.data<T>();
      for (std::int64_t i = 0; i < x.elements(); ++i) to[i] = std::min(std::max(to[i], low), high);
    });
    call.out.push_back(std::move(y));
  });
}

void cast(OpCall& call) {
  constexpr DType kTypes[] = {DType::undefined, DType::f32, DType::u8,  DType::i8,     DType::u16,
                              DType::i16,       DType::i32, DType::i64, DType::string, DType::boolean,
                              DType::f16,       DType::f64, DType::u32, DType::u64};
  const std::int64_t to = call.node.int_attr("to", 0);
  call.require(to >= 1 && to <= 13 && to != 8, "type code ", to, " is not supported: expected a number type");
  call.out.push_back(convert(call, call.input(0), kTypes[to]));
}

void cast_like(OpCall& call) { call.out.push_back(convert(call, call.input(0), call.input(1).dtype)); }

// --- two inputs ---

template <typename T, typename R, typename F>
Tensor binary_tensor(const OpCall& call, const Tensor& a, const Tensor& b, DType out, F f) {
  Tensor y = Tensor::make(out, broadcast_shape(call, a.shape, b.shape));
  const T* const pa = a.data<T>();
  const T* const pb = b.data<T>();
  R* to = y.data<R>();
  for_each_run(y.shape, broadcast_strides(a.shape, y.shape), broadcast_strides(b.shape, y.shape),
               [&](std::int64_t ia, std::int64_t ib, std::int64_t n, std::int64_t sa, std::int64_t sb) {
                 if (sa == 1 && sb == 1) {
                   for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<R>(f(pa[ia + i], pb[ib + i]));
                 } else {
                   for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<R>(f(pa[ia + i * sa], pb[ib + i * sb]));
                 }
                 to += n;
               });
  return y;
}

/// y = f(a, b) of one number type, for any number of inputs from the left.
template <typename F>
void fold(OpCall& call, F f) {
  through_float(call, [&] {
    Tensor sum = call.input(0);
    for (std::size_t i = 1; i < call.in.size(); ++i) {
      const Tensor& b = call.input(i);
      call.require(b.dtype == sum.dtype, "inputs of types ", dtype_name(sum.dtype), " and ", dtype_name(b.dtype));
      with_number(call, sum.dtype, [&](auto tag) {
        using T = decltype(tag);
        sum = binary_tensor<T, T>(call, sum, b, sum.dtype, f);
      });
    }
    call.out.push_back(std::move(sum));
  });
}

void add(OpCall& call) {
  fold(call, [](auto a, auto b) { return a + b; });
}
void subtract(OpCall& call) {
  fold(call, [](auto a, auto b) { return a - b; });
}
void multiply_elements(OpCall& call) {
  fold(call, [](auto a, auto b) { return a * b; });
}
void divide(OpCall& call) {
  fold(call, [&call](auto a, auto b) {
    if constexpr (std::is_integral_v<decltype(a)>) call.require(b != 0, "integer division by zero");
    return a / b;
  });
}
void min_of(OpCall& call) {
  fold(call, [](auto a, auto b) { return b < a ? b : a; });
}
void max_of(OpCall& call) {
  fold(call, [](auto a, auto b) { return a < b ? b : a; });
}

void mean(OpCall& call) {
  const auto n = static_cast<float>(call.in.size());
  add(call);
  call.require(call.out.back().dtype == DType::f32, "expected float32 inputs");
  Tensor& y = call.out.back();
  for (std::int64_t i = 0; i < y.elements(); ++i) y.data<float>()[i] /= n;
}

void prelu(OpCall& call) {
  fold(call, [](auto x, auto slope) { return x < decltype(x){} ? x * slope : x; });
}

void mod(OpCall& call) {
  const bool c_sign = call.node.int_attr("fmod", 0) != 0;
  fold(call, [&](auto a, auto b) {
    using T = decltype(a);
    if constexpr (std::is_floating_point_v<T>) {
      call.require(c_sign, "float inputs need fmod = 1");
      return std::fmod(a, b);
    } else {
      call.require(b != 0, "modulo by zero");
      const auto rest = a % b;
      const bool fix = !c_sign && rest != 0 && ((rest < 0) != (b < 0));
      return static_cast<T>(fix ? rest + b : rest);
    }
  });
}

void power(OpCall& call) {
  through_float(call, [&] {
    const Tensor& a = call.input(0);
    const Tensor x = convert(call, a, DType::f64);
    const Tensor y = convert(call, call.input(1), DType::f64);
    const Tensor z = binary_tensor<double, double>(call, x, y, DType::f64, [](double u, double v) {
      if (v == 2.0) return u * u;
      return std::pow(u, v);
    });
    call.out.push_back(convert(call, z, a.dtype));
  });
}

template <typename F>
void compare(OpCall& call, F f) {
  through_float(call, [&] {
    const Tensor& a = call.input(0);
    const Tensor& b = call.input(1);
    call.require(a.dtype == b.dtype, "inputs of types ", dtype_name(a.dtype), " and ", dtype_name(b.dtype));
    with_number(call, a.dtype, [&](auto tag) {
      using T = decltype(tag);
      call.out.push_back(binary_tensor<T, std::uint8_t>(call, a, b, DType::boolean, f));
    });
  });
}

void equal(OpCall& call) {
  compare(call, [](auto a, auto b) { return a == b ? 1 : 0; });
}
void greater(OpCall& call) {
  compare(call, [](auto a, auto b) { return a > b ? 1 : 0; });
}
void less(OpCall& call) {
  compare(call, [](auto a, auto b) { return a < b ? 1 : 0; });
}
void greater_equal(OpCall& call) {
  compare(call, [](auto a, auto b) { return a >= b ? 1 : 0; });
}
void less_equal(OpCall& call) {
  compare(call, [](auto a, auto b) { return a <= b ? 1 : 0; });
}
void logical_and(OpCall& call) {
  compare(call, [](auto a, auto b) { return a != 0 && b != 0 ? 1 : 0; });
}
void logical_or(OpCall& call) {
  compare(call, [](auto a, auto b) { return a != 0 || b != 0 ? 1 : 0; });
}
void logical_xor(OpCall& call) {
  compare(call, [](auto a, auto b) { return (a != 0) != (b != 0) ? 1 : 0; });
}

void where(OpCall& call) {
  const Tensor& condition = call.input(0);
  const Tensor& a = call.input(1);
  const Tensor& b = call.input(2);
  call.require(a.dtype == b.dtype, "inputs of types ", dtype_name(a.dtype), " and ", dtype_name(b.dtype));
  const Shape shape = broadcast_shape(call, condition.shape, broadcast_shape(call, a.shape, b.shape));
  const auto spread = [&](const Tensor& t, DType type) {  // repeats t to the whole shape
    Tensor wide = Tensor::make(type, shape);
    const std::size_t size = dtype_size(type);
    const auto strides = broadcast_strides(t.shape, shape);
    std::uint8_t* to = wide.bytes.data();
    for_each_run(shape, strides, strides,
                 [&](std::int64_t from, std::int64_t, std::int64_t n, std::int64_t s, std::int64_t) {
                   for (std::int64_t i = 0; i < n; ++i, to += size) {
                     std::copy_n(t.bytes.data() + static_cast<std::size_t>(from + i * s) * size, size, to);
                   }
                 });
    return wide;
  };
  const Tensor c = spread(condition, DType::boolean);
  Tensor y = spread(b, b.dtype);
  const Tensor x = spread(a, a.dtype);
  const std::size_t size = dtype_size(y.dtype);
  for (std::size_t i = 0; i < c.bytes.size(); ++i) {
    if (c.bytes[i] != 0) std::copy_n(x.bytes.data() + i * size, size, y.bytes.data() + i * size);
  }
  call.out.push_back(std::move(y));
}

}  // namespace

OpTable elementwise_operators() {
  return {{"Sigmoid", real_unary<sigmoid>},
          {"Tanh", real_unary<tanh_of>},
          {"Exp", real_unary<exp_of>},
          {"Log", real_unary<log_of>},
          {"Sqrt", real_unary<sqrt_of>},
          {"Erf", real_unary<erf_of>},
          {"Sin", real_unary<sin_of>},
          {"Cos", real_unary<cos_of>},
          {"Tan", real_unary<tan_of>},
          {"Atan", real_unary<atan_of>},
          {"Reciprocal", real_unary<reciprocal>},
          {"Round", real_unary<round_of>},
          {"Floor", real_unary<floor_of>},
          {"Ceil", real_unary<ceil_of>},
          {"Softplus", real_unary<softplus>},
          {"Softsign", real_unary<softsign>},
          {"Mish", real_unary<mish>},
          {"HardSigmoid", real_unary<hard_sigmoid>},
          {"HardSwish", real_unary<hard_swish>},
          {"LeakyRelu", real_unary<leaky_relu>},
          {"Elu", real_unary<elu>},
          {"Celu", real_unary<celu>},
          {"Selu", real_unary<selu>},
          {"ThresholdedRelu", real_unary<thresholded_relu>},
          {"Gelu", real_unary<gelu>},
          {"Relu", relu},
          {"Abs", abs_of},
          {"Neg", neg},
          {"Sign", sign_of},
          {"Not", not_of},
          {"Identity", identity},
          {"Dropout", dropout},
          {"Clip", clip},
          {"Cast", cast},
          {"CastLike", cast_like},
          {"Add", add},
          {"Sum", add},
          {"Sub", subtract},
          {"Mul", multiply_elements},
          {"Div", divide},
          {"Min", min_of},
          {"Max", max_of},
          {"Mean", mean},
          {"PRelu", prelu},
          {"Mod", mod},
          {"Pow", power},
          {"Equal", equal},
          {"Greater", greater},
          {"Less", less},
          {"GreaterOrEqual", greater_equal},
          {"LessOrEqual", less_equal},
          {"And", logical_and},
          {"Or", logical_or},
          {"Xor", logical_xor},
          {"Where", where}};
}

}  // namespace tessera::compiler::operators
