#include <limits>

#include "compiler/interpret/op_call.hpp"

namespace tessera::compiler::operators {
namespace {

Shape pooled_shape(const Window& w, const Shape& x) {
  Shape shape = {x[0], x[1]};
  for (std::size_t d = 3 - w.rank; d < 3; ++d) shape.push_back(w.out[d]);
  return shape;
}

/// Calls visit(map, output index, range of input) for every window of every map; begin and end are inside the input.
template <typename Start, typename Visit, typename Finish>
void for_each_window(const Window& w, std::int64_t maps, Start start, Visit visit, Finish finish) {
  std::int64_t out = 0;
  for (std::int64_t map = 0; map < maps; ++map) {
    for (std::int64_t oz = 0; oz < w.out[0]; ++oz) {
      for (std::int64_t oy = 0; oy < w.out[1]; ++oy) {
        for (std::int64_t ox = 0; ox < w.out[2]; ++ox, ++out) {
          start();
          for (std::int64_t kz = 0; kz < w.kernel[0]; ++kz) {
            const std::int64_t z = oz * w.stride[0] + kz * w.dilation[0] - w.begin[0];
            if (z < 0 || z >= w.in[0]) continue;
            for (std::int64_t ky = 0; ky < w.kernel[1]; ++ky) {
              const std::int64_t y = oy * w.stride[1] + ky * w.dilation[1] - w.begin[1];
              if (y < 0 || y >= w.in[1]) continue;
              const std::int64_t row = ((map * w.in[0] + z) * w.in[1] + y) * w.in[2];
              for (std::int64_t kx = 0; kx < w.kernel[2]; ++kx) {
                const std::int64_t x = ox * w.stride[2] + kx * w.dilation[2] - w.begin[2];
                if (x >= 0 && x < w.in[2]) visit(row + x);
              }
            }
          }
          finish(out, oz, oy, ox);
        }
      }
    }
  }
}

void max_pool(OpCall& call) {
  const Tensor x = call.input(0).dtype == DType::f16 ? convert(call, call.input(0), DType::f32) : call.input(0);
  const Window w = promote_window(resolve_window(call.node, x.shape, {}), x.shape);
  Tensor y = Tensor::make(x.dtype, pooled_shape(w, x.shape));
  with_number(call, x.dtype, [&](auto tag) {
    using T = decltype(tag);
    const T* const from = x.data<T>();
    T* const to = y.data<T>();
    T best{};
    for_each_window(
        w, x.shape[0] * x.shape[1], [&] { best = std::numeric_limits<T>::lowest(); },
        [&](std::int64_t i) { best = from[i] > best ? from[i] : best; },
        [&](std::int64_t o, std::int64_t, std::int64_t, std::int64_t) { to[o] = best; });
  });
  call.out.push_back(convert(call, y, call.input(0).dtype));
}

void average_pool(OpCall& call) {
  const Tensor x = convert(call, call.input(0), DType::f32);
  const Window w = promote_window(resolve_window(call.node, x.shape, {}), x.shape);
  const bool with_padding = call.node.int_attr("count_include_pad", 0) != 0;
  Tensor y = Tensor::make(DType::f32, pooled_shape(w, x.shape));
  float sum = 0;
  std::int64_t count = 0;
  for_each_window(
      w, x.shape[0] * x.shape[1],
      [&] {
        sum = 0;
        count = 0;
      },
      [&](std::int64_t i) {
        sum += x.data<float>()[i];
        ++count;
      },
      [&](std::int64_t o, std::int64_t oz, std::int64_t oy, std::int64_t ox) {
        if (with_padding) {  // padding counts, what ceil_mode adds behind it does not
          count = 1;
          const std::int64_t at[3] = {oz, oy, ox};
          for (int d = 0; d < 3; ++d) {
            std::int64_t taps = 0;
            for (std::int64_t k = 0; k < w.kernel[d]; ++k) {
              taps += at[d] * w.stride[d] + k * w.dilation[d] < w.in[d] + w.begin[d] + w.end[d] ? 1 : 0;
            }
            count *= taps;
          }
        }
        y.data<float>()[o] = count == 0 ? 0.0F : sum / static_cast<float>(count);
      });
  call.out.push_back(convert(call, y, call.input(0).dtype));
}

template <typename F>
void global_pool(OpCall& call, F reduce) {
  const Tensor x = convert(call, call.input(0), DType::f32);
  call.require(x.shape.size() >= 3, "input of rank ", x.shape.size(), ": expected at least 3");
  Shape shape(x.shape.size(), 1);
  shape[0] = x.shape[0];
  shape[1] = x.shape[1];
  Tensor y = Tensor::make(DType::f32, shape);
  const std::int64_t maps = y.elements();
  const std::int64_t size = maps == 0 ? 0 : x.elements() / maps;
  call.require(size > 0, "empty maps");
  for (std::int64_t i = 0; i < maps; ++i) y.data<float>()[i] = reduce(x.data<float>() + i * size, size);
  call.out.push_back(convert(call, y, call.input(0).dtype));
}

void global_average_pool(OpCall& call) {
  global_pool(call, [](const float* x, std::int64_t n) {
    float sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += x[i];
    return sum / static_cast<float>(n);
  });
}

void global_max_pool(OpCall& call) {
  global_pool(call, [](const float* x, std::int64_t n) {
    float best = x[0];
    for (std::int64_t i = 1; i < n; ++i) best = x[i] > best ? x[i] : best;
    return best;
  });
}

}  // namespace

OpTable pool_operators() {
  return {{"MaxPool", max_pool},
          {"AveragePool", average_pool},
          {"GlobalAveragePool", global_average_pool},
          {"GlobalMaxPool", global_max_pool}};
}

}  // namespace tessera::compiler::operators
