#include "hw/models/conv/plan.hpp"

#include <algorithm>

#include "hw/common/error.hpp"
#include "hw/models/conv/cost.hpp"
#include "hw/models/conv/geometry.hpp"
#include "hw/models/unit/bank_set.hpp"
#include "hw/models/unit/map_lines.hpp"

namespace tessera::hw {
namespace {

/// Walks over the tiles in engine time: which tile, its first cycle, its length.
class TileClock {
 public:
  explicit TileClock(const ConvGeometry& geometry) : geometry_(&geometry), start_(geometry.prologue_cycles()) {
    tile_ = next_ = geometry.first();
    measure();
  }
  [[nodiscard]] bool done() const { return done_; }
  [[nodiscard]] const ConvTile& tile() const { return tile_; }
  [[nodiscard]] const ConvTile& next() const { return next_; }
  [[nodiscard]] bool has_next() const { return has_next_; }
  [[nodiscard]] Cycles start() const { return start_; }
  [[nodiscard]] Cycles end() const { return start_ + length_; }
  void advance() {
    start_ += length_;
    previous_drain_ = geometry_->drain_cycles(tile_);
    if (!has_next_) {
      done_ = true;
      return;
    }
    tile_ = next_;
    measure();
  }

 private:
  void measure() {
    has_next_ = geometry_->advance(next_);
    length_ = geometry_->tile_cycles(tile_, has_next_ ? &next_ : nullptr, previous_drain_);
  }
  const ConvGeometry* geometry_;
  ConvTile tile_, next_;
  bool has_next_ = false, done_ = false;
  Cycles start_ = 0, length_ = 0, previous_drain_ = 0;
};

/// Which output line is drained in a nominal cycle: the drain of a tile begins where the tile ends.
class DrainCursor {
 public:
  explicit DrainCursor(const ConvGeometry& geometry) : geometry_(&geometry), clock_(geometry) { measure(); }

  /// False if nothing is drained in cycle `at`; calls come with non-decreasing `at`.
  bool locate(Cycles at, std::int64_t& block, std::int64_t& row, std::int64_t& line) {
    while (!clock_.done() && at >= clock_.end() + length_) {
      clock_.advance();
      if (!clock_.done()) measure();
    }
    if (clock_.done() || at < clock_.end()) return false;
    const ConvXTile& x = geometry_->x(clock_.tile());
    const ConvYTile& y = geometry_->y(clock_.tile());
    const auto index = static_cast<std::uint32_t>(at - clock_.end());
    const std::uint32_t rows = index / static_cast<std::uint32_t>(x.drain_lines);
    line = x.drain_first + index % static_cast<std::uint32_t>(x.drain_lines);
    row = y.out_first + rows % static_cast<std::uint32_t>(y.out_count);
    block = geometry_->channels(clock_.tile()).out_block + rows / static_cast<std::uint32_t>(y.out_count);
    return true;
  }

 private:
  void measure() { length_ = geometry_->drain_cycles(clock_.tile()); }
  const ConvGeometry* geometry_;
  TileClock clock_;
  Cycles length_ = 0;
};

class ConvPlan final : public AccessPlan {
 public:
  ConvPlan(const isa::Conv& conv, const isa::ChipConfig& chip)
      : shared_(std::make_shared<const ConvGeometry>(conv, chip, ConvGeometry::Detail::plan)),
        geometry_(*shared_),
        cost_(conv_cost(conv, chip)),
        in_(conv.in, chip.sram.line_bytes),
        residual_(conv.residual, chip.sram.line_bytes),
        out_(conv.out, chip.sram.line_bytes),
        weight_line_(static_cast<std::int64_t>(conv.w_base) / chip.sram.line_bytes),
        param_line_(static_cast<std::int64_t>(conv.p_base) / chip.sram.line_bytes),
        has_residual_(conv.has_residual),
        prologue_(geometry_.prologue_cycles()),
        clock_(geometry_),
        write_cursor_(geometry_),
        residual_cursor_(geometry_) {
    claim_banks(conv, chip);
    fill_ = geometry_.fill_cycles(geometry_.first(), 0);
    if (fill_ > 0) begin_window(geometry_.first(), 0);
  }

  [[nodiscard]] Cycles length() const override { return cost_.cycles; }
  [[nodiscard]] std::unique_ptr<AccessPlan> clone() const override { return std::make_unique<ConvPlan>(*this); }
  [[nodiscard]] BankMask banks() const override { return banks_; }
  [[nodiscard]] bool may_self_conflict() const override { return self_conflict_; }
  [[nodiscard]] std::int64_t macs_issued() const override { return cost_.macs_issued; }

  void accesses(Cycles e, AccessSet& out) override {
    out.clear();
    if (e < prologue_) {
      if (e < fill_) read_window(e, out);
      if (e < geometry_.slot_weight_lines(0)) {
        read_weights(geometry_.slot_weight_line(geometry_.first(), 0, 0) + e, out);
      }
    } else {
      if (e >= next_change_) move_to(e);
      if (!clock_.done()) phase_reads(e, out);
    }
    std::int64_t block = 0, row = 0, line = 0;
    if (has_residual_ && residual_cursor_.locate(e - geometry_.residual_skew(), block, row, line)) {
      out.add(residual_.line(block, row, line), false);
    }
    if (write_cursor_.locate(e - geometry_.write_skew(), block, row, line)) {
      out.add(out_.line(block, row, line), true);
    }
  }

 private:
  void claim_banks(const isa::Conv& conv, const isa::ChipConfig& chip) {
    const std::int64_t channel_block = chip.layout.channel_block;
    const std::int64_t out_blocks = ceil_div<std::int64_t>(conv.cout, channel_block);
    const BankMask a =
        banks_of_map(conv.in, chip, ceil_div<std::int64_t>(conv.cin, channel_block), conv.in_h, conv.in_w);
    const semantics::WeightLayout weights(semantics::conv_shape(conv), chip);
    const BankMask w = banks_of_lines(weight_line_, weights.sram_bytes() / chip.sram.line_bytes, chip) |
                       banks_of_bytes(conv.p_base, conv.cout * semantics::kParamBytes, chip);
    const BankMask r = has_residual_ ? banks_of_map(conv.residual, chip, out_blocks, conv.out_h, conv.out_w) : 0;
    const BankMask o = banks_of_map(conv.out, chip, out_blocks, conv.out_h, conv.out_w);
    banks_ = a | w | r | o;
    self_conflict_ = ((a & w) | ((a | w) & r) | ((a | w | r) & o)) != 0;
  }

  // A phase: the cin tile `cin_` of the clock's tile, from `phase_start_` to `phase_end_`.
  void begin_phase(std::int64_t cin, Cycles start) {
    cin_ = cin;
    phase_start_ = start;
    const bool last = cin + 1 == geometry_.cin_tiles(clock_.tile());
    fill_ = !last ? geometry_.fill_cycles(clock_.tile(), cin + 1)
                  : (clock_.has_next() ? geometry_.next_fill_cycles(clock_.tile(), clock_.next()) : 0);
    if (fill_ > 0) last ? begin_window(clock_.next(), 0) : begin_window(clock_.tile(), cin + 1);
    // A tile's last phase lasts to the tile's end, which may be the end of the previous drain.
    phase_end_ =
        last ? clock_.end() : start + std::max(geometry_.compute_cycles(clock_.tile(), cin == 0, false), fill_);
    slots_ = geometry_.slots(clock_.tile());
    has_next_phase_ = !last || clock_.has_next();
    begin_slot(0, start);
  }

  void begin_slot(std::int64_t slot, Cycles start) {
    slot_ = slot;
    slot_start_ = start;
    next_change_ = phase_end_;
    if (slot >= slots_) return;
    const ConvTile& tile = clock_.tile();
    slot_end_ = start + geometry_.slot_cycles(tile, slot, cin_ == 0, has_next_phase_);
    next_change_ = std::min(next_change_, slot_end_);
    weight_count_ = 0;
    if (slot + 1 < slots_) {
      weight_count_ = geometry_.slot_weight_lines(slot + 1);
      weight_first_ = geometry_.slot_weight_line(tile, cin_, slot + 1);
    } else if (has_next_phase_) {
      const bool next_tile = cin_ + 1 == geometry_.cin_tiles(tile);
      weight_count_ = geometry_.slot_weight_lines(0);
      weight_first_ =
          next_tile ? geometry_.slot_weight_line(clock_.next(), 0, 0) : geometry_.slot_weight_line(tile, cin_ + 1, 0);
    }
    param_count_ = 0;
    if (cin_ == 0 && slot < geometry_.channels(tile).tiles) {
      param_count_ = geometry_.param_lines(tile, slot);
      param_first_ = geometry_.param_line(tile, slot);
    }
  }

  void move_to(Cycles e) {
    if (next_change_ == 0) begin_phase(0, clock_.start());
    while (!clock_.done() && e >= phase_end_) {
      const Cycles end = phase_end_;
      if (e >= clock_.end() || cin_ + 1 == geometry_.cin_tiles(clock_.tile())) {
        clock_.advance();
        if (!clock_.done()) begin_phase(0, clock_.start());
      } else {
        begin_phase(cin_ + 1, end);
      }
    }
    while (!clock_.done() && slot_ < slots_ && e >= slot_end_) begin_slot(slot_ + 1, slot_end_);
    if (clock_.done()) next_change_ = kNever;
  }

  void phase_reads(Cycles e, AccessSet& out) {
    if (e - phase_start_ < fill_) read_window(e - phase_start_, out);
    if (slot_ >= slots_) return;
    const Cycles in_slot = e - slot_start_;
    if (in_slot < weight_count_) {
      read_weights(weight_first_ + in_slot, out);
    } else if (in_slot < weight_count_ + param_count_) {
      out.add(static_cast<std::uint32_t>(param_line_ + param_first_ + in_slot - weight_count_), false);
    }
  }

  void read_weights(std::int64_t line, AccessSet& out) const {
    out.add(static_cast<std::uint32_t>(weight_line_ + line), false);
  }

  /// From here on read_window() reads the window of (tile, cin tile).
  void begin_window(const ConvTile& tile, std::int64_t cin) {
    window_ = tile;
    window_block_ = geometry_.input_block(tile, cin);
    window_blocks_ = geometry_.input_blocks(tile, cin);
    row_cycles_ = geometry_.row_fill_cycles(tile, cin);
    row_index_ = 0;
    row_begin_ = 0;
    row_ = geometry_.input_row(tile, 0);
  }

  /// Port A in cycle `at` of the fill; calls for one window come with non-decreasing `at`.
  void read_window(Cycles at, AccessSet& out) {
    if (at >= row_begin_ + row_cycles_) {
      row_index_ = at / row_cycles_;
      row_begin_ = row_index_ * row_cycles_;
      row_ = geometry_.input_row(window_, row_index_);
    }
    const ConvXTile& x = geometry_.x(window_);
    const auto in_row = static_cast<std::uint32_t>(at - row_begin_);
    const std::uint32_t block = in_row / static_cast<std::uint32_t>(x.row_cycles);
    const std::uint32_t cycle = in_row % static_cast<std::uint32_t>(x.row_cycles);
    if (block >= window_blocks_) return;  // fold: the patches take longer than the lines
    const std::int64_t line = geometry_.mode() == isa::ConvMode::fold ? x.line_first + cycle : x.line_of_cycle[cycle];
    if (line >= 0) out.add(in_.line(window_block_ + block, row_, line), false);
  }

  std::shared_ptr<const ConvGeometry> shared_;  // with the clones
  const ConvGeometry& geometry_;
  ConvCost cost_;
  MapLines in_, residual_, out_;
  std::int64_t weight_line_, param_line_;
  bool has_residual_;
  Cycles prologue_;
  BankMask banks_ = 0;
  bool self_conflict_ = false;
  TileClock clock_;
  DrainCursor write_cursor_, residual_cursor_;
  // The present phase and slot.
  std::int64_t cin_ = 0, slots_ = 0, slot_ = 0;
  bool has_next_phase_ = false;
  Cycles phase_start_ = 0, phase_end_ = 0, fill_ = 0, slot_start_ = 0, slot_end_ = 0;
  Cycles next_change_ = 0;  // of the phase or slot; 0: in the prologue
  // The window that is filled, and the row of it that is read.
  ConvTile window_;
  std::int64_t window_block_ = 0, window_blocks_ = 0, row_ = 0, row_index_ = 0;
  Cycles row_cycles_ = 0, row_begin_ = 0;
  std::int64_t weight_first_ = 0, weight_count_ = 0, param_first_ = 0, param_count_ = 0;
};

}  // namespace

std::unique_ptr<AccessPlan> make_conv_plan(const isa::Conv& conv, const isa::ChipConfig& chip) {
  const std::optional<std::string> problem = conv_check(conv, chip);
  TESSERA_CHECK(!problem, "CONV: ", problem.value_or(""));
  return std::make_unique<ConvPlan>(conv, chip);
}

}  // namespace tessera::hw
