// Vector unit: element-wise chains and pooling, a row of a channel block at a time. Padding lanes are computed along
// (they lie inside the row's lines) but never written.
#include <algorithm>

#include "hw/common/units.hpp"
#include "isa/semantics/layout.hpp"
#include "isa/semantics/operands.hpp"
#include "isa/semantics/units.hpp"
#include "isa/semantics/values.hpp"

namespace tessera::semantics {

namespace {

class EdpRun {
 public:
  EdpRun(const isa::Edp& edp, const ChipConfig& chip, Memory& memory)
      : edp_(edp),
        chip_(chip),
        sram_(memory.sram),
        cb_(chip.layout.channel_block),
        v_(static_cast<std::size_t>(edp.w * chip.layout.channel_block)),
        b_(v_.size()) {
    for (const isa::EdpStage& stage : edp.stages) {
      if (stage.op == isa::EdpOp::none) break;
      stages_.push_back(stage);
    }
  }

  void run() {
    for (std::int64_t block = 0; block < ceil_div<std::int64_t>(edp_.c, cb_); ++block) {
      for (std::int64_t row = 0; row < edp_.h; ++row) {
        feed(block, row);
        if (edp_.has_b) read_b(block, row);
        for (const isa::EdpStage& stage : stages_) apply(stage);
        write(block, row);
      }
    }
  }

 private:
  void feed(std::int64_t block, std::int64_t row) {
    switch (edp_.mode) {
      case isa::EdpMode::elementwise: {
        const std::uint8_t* from = sram_ + row_address(edp_.a, chip_, block, row);
        for (std::size_t i = 0; i < v_.size(); ++i) v_[i] = static_cast<std::int8_t>(from[i]);
        break;
      }
      case isa::EdpMode::max_pool:
        max_pool(block, row);
        break;
      case isa::EdpMode::average_pool:
        average_pool(block, row);
        break;
      case isa::EdpMode::global_average:
        global_average(block);
        break;
    }
  }

  void max_pool(std::int64_t block, std::int64_t row) {
    std::fill(v_.begin(), v_.end(), -128);
    for (std::int64_t ky = 0; ky < edp_.kh; ++ky) {
      const std::int64_t y = row * edp_.sy + ky * edp_.dy - edp_.pad_top;
      if (y < 0 || y >= edp_.in_h) continue;
      const std::uint8_t* from_row = sram_ + row_address(edp_.a, chip_, block, y);
      for (std::int64_t x = 0; x < edp_.w; ++x) {
        std::int32_t* v = v_.data() + x * cb_;
        for (std::int64_t kx = 0; kx < edp_.kw; ++kx) {
          const std::int64_t at = x * edp_.sx + kx * edp_.dx - edp_.pad_left;
          if (at < 0 || at >= edp_.in_w) continue;
          const std::uint8_t* from = from_row + at * cb_;
          for (std::int64_t lane = 0; lane < cb_; ++lane) v[lane] = std::max(v[lane], read_i8(from + lane));
        }
      }
    }
  }

  void average_pool(std::int64_t block, std::int64_t row) {
    std::fill(v_.begin(), v_.end(), 0);
    for (std::int64_t ky = 0; ky < edp_.kh; ++ky) {
      const std::int64_t y = row * edp_.sy + ky - edp_.pad_top;
      if (y < 0 || y >= edp_.in_h) continue;
      const std::uint8_t* from_row = sram_ + row_address(edp_.a, chip_, block, y);
      for (std::int64_t x = 0; x < edp_.w; ++x) {
        std::int32_t* v = v_.data() + x * cb_;
        for (std::int64_t kx = 0; kx < edp_.kw; ++kx) {
          const std::int64_t at = x * edp_.sx + kx - edp_.pad_left;
          if (at < 0 || at >= edp_.in_w) continue;
          const std::uint8_t* from = from_row + at * cb_;
          for (std::int64_t lane = 0; lane < cb_; ++lane) v[lane] += read_i8(from + lane) - edp_.a_zp;
        }
      }
    }
    const bool padded = edp_.count_include_pad;
    const std::int64_t rows =
        window_count(row, edp_.kh, edp_.sy, edp_.pad_top, padded ? -std::int64_t{edp_.pad_top} : 0,
                     edp_.in_h + (padded ? std::int64_t{edp_.pad_bottom} : 0));
    for (std::int64_t x = 0; x < edp_.w; ++x) {
      const std::int64_t columns =
          window_count(x, edp_.kw, edp_.sx, edp_.pad_left, padded ? -std::int64_t{edp_.pad_left} : 0,
                       edp_.in_w + (padded ? std::int64_t{edp_.pad_right} : 0));
      average(v_.data() + x * cb_, rows * columns - 1);
    }
  }

  void global_average(std::int64_t block) {
    std::fill(v_.begin(), v_.end(), 0);
    for (std::int64_t y = 0; y < edp_.in_h; ++y) {
      const std::uint8_t* from = sram_ + row_address(edp_.a, chip_, block, y);
      for (std::int64_t x = 0; x < edp_.in_w; ++x, from += cb_) {
        for (std::int64_t lane = 0; lane < cb_; ++lane) {
          std::int32_t& v = v_[static_cast<std::size_t>(lane)];
          v = wrap_add(v, read_i8(from + lane) - edp_.a_zp);
        }
      }
    }
    average(v_.data(), 0);
  }

  /// The sums of one pixel become averages through entry `entry` of p_base.
  void average(std::int32_t* v, std::int64_t entry) {
    const std::uint8_t* at = sram_ + edp_.p_base + kAverageEntryBytes * entry;
    const std::uint32_t multiplier = read_u32(at);
    const std::uint32_t shift = read_u32(at + 4);
    check_scale("edp.params", entry, multiplier, shift);
    for (std::int64_t lane = 0; lane < cb_; ++lane) {
      v[lane] = requantize(v[lane], multiplier, shift, edp_.out_zp, edp_.lo, edp_.hi);
    }
  }

  void read_b(std::int64_t block, std::int64_t row) {
    const bool broadcast = edp_.b_broadcast == 1;
    const std::uint8_t* from = sram_ + row_address(edp_.b, chip_, block, broadcast ? 0 : row);
    if (!broadcast) {
      for (std::size_t i = 0; i < b_.size(); ++i) b_[i] = static_cast<std::int8_t>(from[i]);
      return;
    }
    for (std::int64_t x = 0; x < edp_.w; ++x) {
      for (std::int64_t lane = 0; lane < cb_; ++lane)
        b_[static_cast<std::size_t>(x * cb_ + lane)] = read_i8(from + lane);
    }
  }

  template <typename F>
  void each(F&& f) {
    for (std::size_t i = 0; i < v_.size(); ++i) v_[i] = f(v_[i], b_[i]);
  }

  void apply(const isa::EdpStage& s) {
    const std::int32_t lo = s.lo;
    const std::int32_t hi = s.hi;
    const auto clamp = [lo, hi](std::int32_t v) { return v < lo ? lo : v > hi ? hi : v; };
    switch (s.op) {
      case isa::EdpOp::none:
        break;
      case isa::EdpOp::add: {
        const AddScale scale{s.ma, s.mb, s.shift};
        each([&](std::int32_t v, std::int32_t b) { return two_scale_add(v, b, s.za, s.zb, scale, s.zo, lo, hi); });
        break;
      }
      case isa::EdpOp::mul:
        each([&](std::int32_t v, std::int32_t b) {
          return scaled_multiply(v, b, s.za, s.zb, s.ma, s.shift, s.zo, lo, hi);
        });
        break;
      case isa::EdpOp::min:
        each([&](std::int32_t v, std::int32_t b) { return clamp(std::min(v, b)); });
        break;
      case isa::EdpOp::max:
        each([&](std::int32_t v, std::int32_t b) { return clamp(std::max(v, b)); });
        break;
      case isa::EdpOp::requantize:
        each([&](std::int32_t v, std::int32_t) {
          return add_clamp(round_half_even_shift(std::int64_t{v - s.za} * s.ma, s.shift), s.zo, lo, hi);
        });
        break;
      case isa::EdpOp::clip:
        each([&](std::int32_t v, std::int32_t) { return clamp(v); });
        break;
      case isa::EdpOp::table: {
        const auto* table = reinterpret_cast<const std::int8_t*>(sram_ + s.table_base);
        each([&](std::int32_t v, std::int32_t) { return clamp(apply_table(table, v)); });
        break;
      }
    }
  }

  void write(std::int64_t block, std::int64_t row) {
    const std::int64_t lanes = std::min<std::int64_t>(cb_, edp_.c - block * cb_);
    std::uint8_t* to = sram_ + row_address(edp_.out, chip_, block, row);
    for (std::int64_t x = 0; x < edp_.w; ++x) {
      for (std::int64_t lane = 0; lane < lanes; ++lane) {
        to[x * cb_ + lane] = static_cast<std::uint8_t>(v_[static_cast<std::size_t>(x * cb_ + lane)]);
      }
    }
  }

  const isa::Edp& edp_;
  const ChipConfig& chip_;
  std::uint8_t* sram_;
  std::int64_t cb_;
  std::vector<isa::EdpStage> stages_;
  std::vector<std::int32_t> v_;  // one row of a channel block: w pixels x Cb lanes
  std::vector<std::int32_t> b_;
};

}  // namespace

void execute_edp(const isa::Edp& edp, const ChipConfig& chip, Memory& memory) { EdpRun(edp, chip, memory).run(); }

}  // namespace tessera::semantics
