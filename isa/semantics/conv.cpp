// Convolution. The input window is widened to int16 with the zero point taken off and zeros for padding, so that the
// inner loop knows neither borders nor layouts; weights are gathered through WeightLayout, whatever the mode.
#include <algorithm>

#include "hw/common/units.hpp"
#include "isa/semantics/accumulate.hpp"
#include "isa/semantics/layout.hpp"
#include "isa/semantics/operands.hpp"
#include "isa/semantics/units.hpp"
#include "isa/semantics/values.hpp"

namespace tessera::semantics {

namespace {

class ConvRun {
 public:
  ConvRun(const isa::Conv& conv, const ChipConfig& chip, Memory& memory)
      : conv_(conv),
        chip_(chip),
        sram_(memory.sram),
        cb_(chip.layout.channel_block),
        window_h_((conv.out_h - 1) * std::int64_t{conv.sy} + (conv.kh - 1) * std::int64_t{conv.dy} + 1),
        window_w_((conv.out_w - 1) * std::int64_t{conv.sx} + (conv.kw - 1) * std::int64_t{conv.dx} + 1),
        weights_(conv_shape(conv), chip) {
    std::vector<ChannelParams> params = read_params("conv.params", sram_ + conv.p_base, conv.cout);
    lanes_.resize(params.size());
    for (std::size_t c = 0; c < lanes_.size(); ++c) {
      const auto channel = static_cast<std::int64_t>(c);
      if (conv.shift_only) params[c].multiplier = 1;
      lanes_[c].params = params[c];
      lanes_[c].out = channel / cb_ * conv.out.block_pitch * chip.sram.line_bytes + channel % cb_;
      lanes_[c].residual = channel / cb_ * conv.residual.block_pitch * chip.sram.line_bytes + channel % cb_;
    }
  }

  void run() {
    if (conv_.mode == isa::ConvMode::depthwise) {
      depthwise();
    } else {
      dense();
    }
  }

 private:
  struct Lane {
    ChannelParams params;
    std::int64_t out = 0;  // byte offset of the channel from its row in block 0
    std::int64_t residual = 0;
  };

  [[nodiscard]] std::vector<std::int64_t> tap_offsets(std::int64_t channels) const {
    std::vector<std::int64_t> taps;
    for (std::int64_t ky = 0; ky < conv_.kh; ++ky) {
      for (std::int64_t kx = 0; kx < conv_.kw; ++kx) {
        taps.push_back((ky * conv_.dy * window_w_ + kx * conv_.dx) * channels);
      }
    }
    return taps;
  }

  /// Channels [first, first + count) of the input as window_[y][x][pitch] = x - in_zp; padding stays 0.
  void gather_input(std::int64_t first, std::int64_t count, std::int64_t pitch) {
    window_.resize(static_cast<std::size_t>(window_h_ * window_w_ * pitch), 0);
    const std::int64_t columns = std::min<std::int64_t>(conv_.in_w, window_w_ - conv_.pad_left);
    const auto zp = static_cast<std::int16_t>(conv_.in_zp);
    for (const Span& span : window_rows(conv_.out_h, conv_.kh, conv_.sy, conv_.dy, conv_.pad_top, conv_.in_h)) {
      for (std::int64_t row = span.first; row < span.first + span.count; ++row) {
        std::int16_t* to_row = window_.data() + ((row + conv_.pad_top) * window_w_ + conv_.pad_left) * pitch;
        for (std::int64_t c = first; c < first + count;) {
          const std::int64_t n = std::min(cb_ - c % cb_, first + count - c);
          const std::uint8_t* from = sram_ + row_address(conv_.in, chip_, c / cb_, row) + c % cb_;
          std::int16_t* to = to_row + (c - first);
          for (std::int64_t x = 0; x < columns; ++x, from += cb_, to += pitch) {
            for (std::int64_t lane = 0; lane < n; ++lane) {
              to[lane] = static_cast<std::int16_t>(static_cast<std::int8_t>(from[lane]) - zp);
            }
          }
          c += n;
        }
      }
    }
  }

  /// Weights of output channels [o, o + count) of group g as [tap][pair][kLanes][2], zero point taken off.
  void gather_weights(std::int64_t g, std::int64_t o, std::int64_t count, std::int64_t cin_g, std::int64_t pairs) {
    panel_.assign(static_cast<std::size_t>(std::int64_t{conv_.kh} * conv_.kw * pairs * kLanes * 2), 0);
    const std::uint8_t* base = sram_ + conv_.w_base;
    std::int16_t* tap = panel_.data();
    for (std::int64_t ky = 0; ky < conv_.kh; ++ky) {
      for (std::int64_t kx = 0; kx < conv_.kw; ++kx, tap += pairs * kLanes * 2) {
        for (std::int64_t i = 0; i < cin_g; ++i) {
          std::int16_t* to = tap + i / 2 * kLanes * 2 + i % 2;
          const std::uint8_t* from = nullptr;
          for (std::int64_t lane = 0; lane < count; ++lane, ++from) {
            // Lanes of one tile lie next to each other.
            if (lane == 0 || (weights_.cout_lane(g) + o + lane) % chip_.conv.cout_lanes == 0) {
              from = base + weights_.offset(g, o + lane, i, ky, kx);
            }
            to[2 * lane] = static_cast<std::int16_t>(static_cast<std::int8_t>(*from) - conv_.w_zp);
          }
        }
      }
    }
  }

  void dense() {
    const std::int64_t cin_g = conv_.cin / conv_.groups;
    const std::int64_t cout_g = conv_.cout / conv_.groups;
    const std::int64_t pairs = ceil_div<std::int64_t>(cin_g, 2);
    const std::vector<std::int64_t> taps = tap_offsets(2 * pairs);
    const std::int64_t pixel_stride = conv_.sx * 2 * pairs;
    std::int32_t acc[kMaxPixels * kLanes];
    for (std::int64_t g = 0; g < conv_.groups; ++g) {
      gather_input(g * cin_g, cin_g, 2 * pairs);
      for (std::int64_t o = 0; o < cout_g; o += kLanes) {
        const std::int64_t count = std::min<std::int64_t>(kLanes, cout_g - o);
        gather_weights(g, o, count, cin_g, pairs);
        for (std::int64_t oy = 0; oy < conv_.out_h; ++oy) {
          const std::int16_t* row = window_.data() + oy * conv_.sy * window_w_ * 2 * pairs;
          for (std::int64_t ox = 0; ox < conv_.out_w; ox += kMaxPixels) {
            const auto pixels = static_cast<int>(std::min<std::int64_t>(kMaxPixels, conv_.out_w - ox));
            accumulate(row + ox * pixel_stride, pixel_stride, pixels, taps, pairs, panel_.data(), acc);
            for (int p = 0; p < pixels; ++p) drain(acc + p * kLanes, g * cout_g + o, count, oy, ox + p);
          }
        }
      }
    }
  }

  void depthwise() {
    const std::vector<std::int64_t> taps = tap_offsets(cb_);
    std::vector<std::int32_t> acc(static_cast<std::size_t>(cb_));
    for (std::int64_t first = 0; first < conv_.cout; first += cb_) {
      const std::int64_t count = std::min<std::int64_t>(cb_, conv_.cout - first);
      gather_input(first, count, cb_);
      panel_.assign(static_cast<std::size_t>(static_cast<std::int64_t>(taps.size()) * cb_), 0);
      std::int16_t* to = panel_.data();
      for (std::int64_t ky = 0; ky < conv_.kh; ++ky) {
        for (std::int64_t kx = 0; kx < conv_.kw; ++kx, to += cb_) {
          for (std::int64_t lane = 0; lane < count; ++lane) {
            const std::uint8_t* from = sram_ + conv_.w_base + weights_.offset(first + lane, 0, 0, ky, kx);
            to[lane] = static_cast<std::int16_t>(static_cast<std::int8_t>(*from) - conv_.w_zp);
          }
        }
      }
      for (std::int64_t oy = 0; oy < conv_.out_h; ++oy) {
        for (std::int64_t ox = 0; ox < conv_.out_w; ++ox) {
          const std::int16_t* at = window_.data() + (oy * conv_.sy * window_w_ + ox * conv_.sx) * cb_;
          std::fill(acc.begin(), acc.end(), 0);
          for (std::size_t t = 0; t < taps.size(); ++t) {
            multiply_add(at + taps[t], panel_.data() + static_cast<std::int64_t>(t) * cb_, acc.data(), acc.size());
          }
          drain(acc.data(), first, count, oy, ox);
        }
      }
    }
  }

  /// Bias, requantisation, residual, clip: channels [first, first + count) of one pixel.
  void drain(const std::int32_t* acc, std::int64_t first, std::int64_t count, std::int64_t oy, std::int64_t ox) {
    std::uint8_t* out = sram_ + row_address(conv_.out, chip_, 0, oy) + ox * cb_;
    const Lane* lanes = lanes_.data() + first;
    if (!conv_.has_residual) {
      for (std::int64_t c = 0; c < count; ++c) {
        const ChannelParams& p = lanes[c].params;
        const std::int32_t y =
            requantize(wrap_add(acc[c], p.bias), p.multiplier, p.shift, conv_.out_zp, conv_.lo, conv_.hi);
        out[lanes[c].out] = static_cast<std::uint8_t>(y);
      }
      return;
    }
    const std::uint8_t* residual = sram_ + row_address(conv_.residual, chip_, 0, oy) + ox * cb_;
    const AddScale scale{conv_.res_ma, conv_.res_mb, conv_.res_shift};
    for (std::int64_t c = 0; c < count; ++c) {
      const ChannelParams& p = lanes[c].params;
      const std::int32_t own = requantize(wrap_add(acc[c], p.bias), p.multiplier, p.shift, conv_.out_zp, -128, 127);
      const std::int32_t y = two_scale_add(own, read_i8(residual + lanes[c].residual), conv_.out_zp, conv_.res_zb,
                                           scale, conv_.res_zo, conv_.lo, conv_.hi);
      out[lanes[c].out] = static_cast<std::uint8_t>(y);
    }
  }

  const isa::Conv& conv_;
  const ChipConfig& chip_;
  std::uint8_t* sram_;
  std::int64_t cb_;
  std::int64_t window_h_, window_w_;  // input extent that the output needs, padding included
  WeightLayout weights_;
  std::vector<Lane> lanes_;
  std::vector<std::int16_t> window_;
  std::vector<std::int16_t> panel_;
};

}  // namespace

void execute_conv(const isa::Conv& conv, const ChipConfig& chip, Memory& memory) { ConvRun(conv, chip, memory).run(); }

}  // namespace tessera::semantics
