#include "compiler/interpret/convolve.hpp"

#include <algorithm>
#include <cstddef>

#include "compiler/interpret/kernels.hpp"

namespace tessera::compiler {
namespace {

using kernels::kLanes;
using kernels::kMaxRows;
using kernels::kSlack;
using kernels::Rows;

std::size_t size_of(std::int64_t v) { return static_cast<std::size_t>(v); }
std::size_t padded_length(std::size_t length) { return (length + kLanes - 1) / kLanes * kLanes; }

void run6(const Rows<float, float>& job) { kernels::best().rows6_f32(job); }
void run1(const Rows<float, float>& job) { kernels::best().rows1_f32(job); }
void run6(const Rows<std::int16_t, std::int32_t>& job) { kernels::best().rows6_i16(job); }
void run1(const Rows<std::int16_t, std::int32_t>& job) { kernels::best().rows1_i16(job); }
float dot(const float* a, const float* b, std::size_t n) { return kernels::best().dot_f32(a, b, n); }
std::int32_t dot(const std::int16_t* a, const std::int16_t* b, std::size_t n) {
  return kernels::best().dot_i16(a, b, n);
}

/// Reorders rows [rows][terms] of weights into blocks of kMaxRows, [block][term][row], zeros behind the last row.
template <typename X>
std::vector<X> pack_rows(const X* w, std::size_t rows, std::size_t terms) {
  const std::size_t blocks = (rows + kMaxRows - 1) / kMaxRows;
  std::vector<X> packed(blocks * terms * kMaxRows, X{});
  for (std::size_t r = 0; r < rows; ++r) {
    X* const to = packed.data() + (r / kMaxRows) * terms * kMaxRows + r % kMaxRows;
    for (std::size_t k = 0; k < terms; ++k) to[k * kMaxRows] = w[r * terms + k];
  }
  return packed;
}

/// The padded input of one group, split by stride phase: plane (c, py, px) holds the pixels (y sy + py, x sx + px).
/// Then every tap of the kernel reads consecutive elements: output (oy, ox) is position oy * width + ox of a plane,
/// shifted by a constant of the tap. Positions with ox >= ow are computed and dropped.
template <typename X>
class Planes {
 public:
  explicit Planes(const ConvGeometry& g)
      : g_(g),
        width_(std::max((g.w + g.pad_left + g.pad_right + g.sx - 1) / g.sx, g.ow() + (g.kw - 1) * g.dx / g.sx)),
        height_(std::max((g.h + g.pad_top + g.pad_bottom + g.sy - 1) / g.sy, g.oh() + (g.kh - 1) * g.dy / g.sy)),
        channels_(g.cin / g.groups),
        values_(size_of(channels_ * g.sy * g.sx * width_ * height_) + kSlack) {
    for (std::int64_t c = 0; c < channels_; ++c) {
      for (std::int64_t ky = 0; ky < g.kh; ++ky) {
        for (std::int64_t kx = 0; kx < g.kw; ++kx) {
          const std::int64_t y = ky * g.dy;
          const std::int64_t x = kx * g.dx;
          offsets.push_back(plane(c, y % g.sy, x % g.sx) + size_of(y / g.sy * width_ + x / g.sx));
        }
      }
    }
  }

  void fill(const X* x) {
    for (std::int64_t c = 0; c < channels_; ++c) {
      for (std::int64_t py = 0; py < g_.sy; ++py) {
        for (std::int64_t px = 0; px < g_.sx; ++px)
          fill_plane(x + c * g_.h * g_.w, values_.data() + plane(c, py, px), py, px);
      }
    }
  }

  [[nodiscard]] std::int64_t width() const { return width_; }
  [[nodiscard]] const X* values() const { return values_.data(); }
  std::vector<std::size_t> offsets;  // one a term (channel, ky, kx)

 private:
  [[nodiscard]] std::size_t plane(std::int64_t c, std::int64_t py, std::int64_t px) const {
    return size_of(((c * g_.sy + py) * g_.sx + px) * width_ * height_);
  }

  void fill_plane(const X* x, X* to, std::int64_t py, std::int64_t px) const {
    const std::int64_t shift = px - g_.pad_left;  // column i of the plane is input column i sx + shift
    const std::int64_t begin = std::clamp<std::int64_t>(shift >= 0 ? 0 : (-shift + g_.sx - 1) / g_.sx, 0, width_);
    const std::int64_t end =
        std::clamp<std::int64_t>(g_.w <= shift ? 0 : (g_.w - shift + g_.sx - 1) / g_.sx, begin, width_);
    for (std::int64_t j = 0; j < height_; ++j, to += width_) {
      const std::int64_t row = j * g_.sy + py - g_.pad_top;
      if (row < 0 || row >= g_.h) {
        std::fill(to, to + width_, X{});
        continue;
      }
      const X* const from = x + row * g_.w + shift;
      std::fill(to, to + begin, X{});
      if (g_.sx == 1) {
        std::copy(from + begin, from + end, to + begin);
      } else {
        for (std::int64_t i = begin; i < end; ++i) to[i] = from[i * g_.sx];
      }
      std::fill(to + end, to + width_, X{});
    }
  }

  const ConvGeometry& g_;
  std::int64_t width_, height_, channels_;
  std::vector<X> values_;
};

/// Few output positions: gather the patch of each, then one dot product an output channel.
template <typename X, typename Sum>
void convolve_small(const ConvGeometry& g, const X* x, const X* w, Sum* y) {
  const std::int64_t cin = g.cin / g.groups;
  const std::int64_t cout = g.cout / g.groups;
  const std::int64_t oh = g.oh();
  const std::int64_t ow = g.ow();
  std::vector<X> patch(size_of(cin * g.kh * g.kw));
  for (std::int64_t group = 0; group < g.groups; ++group) {
    for (std::int64_t p = 0; p < oh * ow; ++p) {
      X* to = patch.data();
      for (std::int64_t c = 0; c < cin; ++c) {
        for (std::int64_t ky = 0; ky < g.kh; ++ky) {
          for (std::int64_t kx = 0; kx < g.kw; ++kx) {
            const std::int64_t iy = p / ow * g.sy + ky * g.dy - g.pad_top;
            const std::int64_t ix = p % ow * g.sx + kx * g.dx - g.pad_left;
            const bool inside = iy >= 0 && iy < g.h && ix >= 0 && ix < g.w;
            *to++ = inside ? x[((group * cin + c) * g.h + iy) * g.w + ix] : X{};
          }
        }
      }
      for (std::int64_t o = group * cout; o < (group + 1) * cout; ++o) {
        y[o * oh * ow + p] = dot(patch.data(), w + size_of(o) * patch.size(), patch.size());
      }
    }
  }
}

template <typename X, typename Sum>
void convolve_large(const ConvGeometry& g, const X* images, const X* w, Sum* y) {
  const std::int64_t cout = g.cout / g.groups;
  const std::int64_t oh = g.oh();
  const std::int64_t ow = g.ow();
  Planes<X> planes(g);
  const std::size_t terms = planes.offsets.size();
  const std::size_t length = size_of((oh - 1) * planes.width() + ow);
  const std::size_t pitch = padded_length(length);
  std::vector<Sum> sums(kMaxRows * pitch);
  for (std::int64_t group = 0; group < g.groups; ++group) {
    const X* const group_weights = w + size_of(group * cout) * terms;
    const std::vector<X> packed = cout == 1 ? std::vector<X>() : pack_rows(group_weights, size_of(cout), terms);
    for (std::int64_t n = 0; n < g.n; ++n) {
      planes.fill(images + (n * g.cin + group * (g.cin / g.groups)) * g.h * g.w);
      for (std::int64_t o = 0; o < cout; o += std::int64_t{kMaxRows}) {
        Rows<X, Sum> job{planes.values(), planes.offsets.data(), terms, group_weights, sums.data(), pitch, length};
        if (cout == 1) {
          run1(job);
        } else {
          job.weights = packed.data() + size_of(o) * terms;
          run6(job);
        }
        const std::int64_t rows = std::min<std::int64_t>(kMaxRows, cout - o);
        for (std::int64_t r = 0; r < rows; ++r) {
          Sum* const to = y + ((n * g.cout) + group * cout + o + r) * oh * ow;
          for (std::int64_t row = 0; row < oh; ++row) {
            const Sum* const from = sums.data() + size_of(r) * pitch + size_of(row * planes.width());
            std::copy(from, from + ow, to + row * ow);
          }
        }
      }
    }
  }
}

template <typename X, typename Sum>
void convolve_any(const ConvGeometry& g, const X* x, const X* w, Sum* y) {
  constexpr std::int64_t kFewPositions = 8;
  if (g.oh() * g.ow() >= kFewPositions) return convolve_large(g, x, w, y);
  for (std::int64_t n = 0; n < g.n; ++n) {
    convolve_small(g, x + n * g.cin * g.h * g.w, w, y + n * g.cout * g.oh() * g.ow());
  }
}

}  // namespace

void convolve(const ConvGeometry& g, const float* x, const float* w, float* y) { convolve_any(g, x, w, y); }

void convolve(const ConvGeometry& g, const std::int16_t* x, const std::int16_t* w, std::int32_t* y) {
  convolve_any(g, x, w, y);
}

void multiply(std::int64_t m, std::int64_t k, std::int64_t n, const float* a, const float* b, float* c) {
  if (m == 0 || n == 0) return;
  if (n < std::int64_t{kLanes} / 2 || m == 1) {  // too narrow for lanes: columns of b become rows
    std::vector<float> column(size_of(k));
    if (m == 1) {  // y += a[i] * row i keeps b's rows whole
      std::fill(c, c + n, 0.0F);
      for (std::int64_t i = 0; i < k; ++i) {
        for (std::int64_t j = 0; j < n; ++j) c[j] += a[i] * b[i * n + j];
      }
      return;
    }
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < k; ++i) column[size_of(i)] = b[i * n + j];
      for (std::int64_t i = 0; i < m; ++i) c[i * n + j] = dot(a + i * k, column.data(), size_of(k));
    }
    return;
  }
  std::vector<float> planes(size_of(k * n) + kSlack);
  std::copy(b, b + k * n, planes.begin());
  std::vector<std::size_t> offsets(size_of(k));
  for (std::size_t i = 0; i < offsets.size(); ++i) offsets[i] = i * size_of(n);
  const std::vector<float> packed = pack_rows(a, size_of(m), size_of(k));
  const std::size_t pitch = padded_length(size_of(n));
  std::vector<float> sums(kMaxRows * pitch);
  for (std::int64_t row = 0; row < m; row += std::int64_t{kMaxRows}) {
    run6({planes.data(), offsets.data(), size_of(k), packed.data() + size_of(row * k), sums.data(), pitch, size_of(n)});
    for (std::int64_t r = 0; r < std::min<std::int64_t>(kMaxRows, m - row); ++r) {
      const float* const from = sums.data() + size_of(r) * pitch;
      std::copy(from, from + n, c + (row + r) * n);
    }
  }
}

void multiply_transposed(std::int64_t m, std::int64_t k, std::int64_t n, const float* a, const float* b, float* c) {
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < m; ++i) c[i * n + j] = dot(a + i * k, b + j * k, size_of(k));
  }
}

}  // namespace tessera::compiler
