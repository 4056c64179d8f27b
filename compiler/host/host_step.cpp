#include "compiler/host/host_step.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "compiler/host/math.hpp"
#include "compiler/host/node_step.hpp"
#include "hw/common/error.hpp"

namespace tessera::compiler::host {
namespace {

std::size_t size_of(std::int64_t v) { return static_cast<std::size_t>(v); }

std::int64_t elements_of(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t d : shape) count *= d;
  return count;
}

struct StoredType {
  const char* name;
  std::size_t bytes;
  double low, high;
};
constexpr StoredType kStoredTypes[] = {{"int8", 1, -128, 127},
                                       {"uint8", 1, 0, 255},
                                       {"int16", 2, -32768, 32767},
                                       {"int32", 4, -2147483648.0, 2147483647.0}};

struct Step {
  const std::string& name;
  const std::string& op;
  const StepAttributes& attributes;
  const std::vector<TensorIn>& inputs;
  const std::vector<TensorOut>& outputs;

  template <typename... Parts>
  void require(bool condition, const Parts&... parts) const {
    if (!condition) user_error("node '", name, "' (", op, " on the host): ", parts...);
  }
  [[nodiscard]] double attribute(const char* key, double otherwise) const {
    const auto found = attributes.find(key);
    return found == attributes.end() || found->second.empty() ? otherwise : found->second.front();
  }
  [[nodiscard]] const StoredType& stored(const std::string& dtype) const {
    for (const StoredType& type : kStoredTypes) {
      if (dtype == type.name) return type;
    }
    user_error("node '", name, "' (", op, " on the host): type ", dtype, ": expected int8, uint8, int16 or int32");
  }
};

std::vector<double> dequantized(const Step& step, const TensorIn& t) {
  const StoredType& type = step.stored(t.dtype);
  std::vector<double> values(size_of(elements_of(t.shape)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint32_t raw = 0;
    for (std::size_t b = 0; b < type.bytes; ++b)
      raw |= static_cast<std::uint32_t>(t.data[i * type.bytes + b]) << (8 * b);
    auto v = static_cast<double>(raw);
    if (type.low < 0 && v > type.high) v -= 2.0 * (type.high + 1.0);
    values[i] = (v - t.zero_point) * t.scale;
  }
  return values;
}

void store(const Step& step, const TensorOut& t, const std::vector<double>& values) {
  const StoredType& type = step.stored(t.dtype);
  step.require(values.size() == size_of(elements_of(t.shape)), "the output has ", elements_of(t.shape),
               " elements, expected ", values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double v = std::clamp(std::nearbyint(values[i] / t.scale) + t.zero_point, type.low, type.high);
    const auto raw = static_cast<std::uint32_t>(static_cast<std::int64_t>(v));
    for (std::size_t b = 0; b < type.bytes; ++b) t.data[i * type.bytes + b] = static_cast<std::uint8_t>(raw >> (8 * b));
  }
}

/// Softmax and LogSoftmax along `axis` (default the last); with `coerced_2d` everything from axis on is one line.
void softmax_step(const Step& step, bool logarithm) {
  const TensorIn& x = step.inputs.at(0);
  const auto rank = static_cast<std::int64_t>(x.shape.size());
  std::int64_t axis = std::llround(step.attribute("axis", -1.0));
  step.require(axis >= -rank && axis < rank, "axis ", axis, " is outside [", -rank, ", ", rank, ")");
  if (axis < 0) axis += rank;
  const bool coerced = step.attribute("coerced_2d", 0.0) != 0.0;
  std::int64_t outer = 1;
  std::int64_t length = x.shape[size_of(axis)];
  std::int64_t inner = 1;
  for (std::int64_t d = 0; d < axis; ++d) outer *= x.shape[size_of(d)];
  for (std::int64_t d = axis + 1; d < rank; ++d) (coerced ? length : inner) *= x.shape[size_of(d)];
  std::vector<double> values = dequantized(step, x);
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t i = 0; i < inner; ++i) {
      double* const line = values.data() + o * length * inner + i;
      double top = -std::numeric_limits<double>::infinity();
      for (std::int64_t k = 0; k < length; ++k) top = std::max(top, line[k * inner]);
      double sum = 0;
      for (std::int64_t k = 0; k < length; ++k) sum += exp(line[k * inner] - top);
      const double log_sum = logarithm ? log(sum) : 0.0;
      for (std::int64_t k = 0; k < length; ++k) {
        const double v = line[k * inner] - top;
        line[k * inner] = logarithm ? v - log_sum : exp(v) / sum;
      }
    }
  }
  store(step, step.outputs.at(0), values);
}

void softmax(const Step& step) { softmax_step(step, false); }
void log_softmax(const Step& step) { softmax_step(step, true); }

/// y = x / (bias + alpha / size * sum of squares over `size` neighbouring channels) ^ beta.
void lrn(const Step& step) {
  const TensorIn& x = step.inputs.at(0);
  step.require(x.shape.size() >= 2, "input of rank ", x.shape.size(), ": expected at least 2");
  const std::int64_t size = std::llround(step.attribute("size", 1.0));
  const double alpha = step.attribute("alpha", 1e-4);
  const double beta = step.attribute("beta", 0.75);
  const double bias = step.attribute("bias", 1.0);
  step.require(size >= 1, "size ", size, ": expected at least 1");
  const std::int64_t channels = x.shape[1];
  const std::int64_t map = elements_of(std::vector<std::int64_t>(x.shape.begin() + 2, x.shape.end()));
  const std::vector<double> values = dequantized(step, x);
  std::vector<double> result(values.size());
  for (std::int64_t n = 0; n < x.shape[0]; ++n) {
    for (std::int64_t c = 0; c < channels; ++c) {
      const std::int64_t first = std::max<std::int64_t>(0, c - (size - 1) / 2);
      const std::int64_t last = std::min(channels - 1, c + size / 2);
      for (std::int64_t i = 0; i < map; ++i) {
        double sum = 0;
        for (std::int64_t k = first; k <= last; ++k) {
          const double v = values[size_of((n * channels + k) * map + i)];
          sum += v * v;
        }
        const std::size_t at = size_of((n * channels + c) * map + i);
        result[at] = values[at] / exp(beta * log(bias + alpha / static_cast<double>(size) * sum));
      }
    }
  }
  store(step, step.outputs.at(0), result);
}

struct Entry {
  const char* op;
  void (*run)(const Step&);
};
constexpr Entry kSteps[] = {{"Softmax", softmax}, {"LogSoftmax", log_softmax}, {"LRN", lrn}};

}  // namespace

const std::vector<std::string>& host_operators() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const Entry& entry : kSteps) list.emplace_back(entry.op);
    return list;
  }();
  return names;
}

bool host_supports(const std::string& op) {
  return std::any_of(std::begin(kSteps), std::end(kSteps), [&](const Entry& entry) { return op == entry.op; });
}

void run_host_step(const std::string& name, const std::string& op, const StepAttributes& attributes,
                   const std::vector<TensorIn>& inputs, const std::vector<TensorOut>& outputs) {
  if (is_node_step(attributes)) return run_node_step(name, op, attributes, inputs, outputs);
  const Step step{name, op, attributes, inputs, outputs};
  for (const Entry& entry : kSteps) {
    if (op != entry.op) continue;
    step.require(inputs.size() == 1 && outputs.size() == 1, inputs.size(), " inputs and ", outputs.size(),
                 " outputs: expected one each");
    return entry.run(step);
  }
  std::string legal;
  for (const std::string& known : host_operators()) legal += (legal.empty() ? "" : ", ") + known;
  user_error("node '", name, "' (", op, "): is no host step: expected ", legal);
}

}  // namespace tessera::compiler::host
