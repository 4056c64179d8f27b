#include "hw/models/edp/plan.hpp"

#include <algorithm>

#include "hw/models/edp/geometry.hpp"
#include "hw/models/unit/bank_set.hpp"
#include "hw/models/unit/map_lines.hpp"

namespace tessera::hw {
namespace {

/// Walks over the output lines: which one is under way, its first engine cycle and its line times.
class LineCursor {
 public:
  explicit LineCursor(const EdpGeometry& geometry)
      : geometry_(&geometry), start_(static_cast<Cycles>(geometry.constants.size())) {
    measure();
  }
  /// False before the first and behind the last output line; calls come with non-decreasing `at`.
  bool move_to(Cycles at) {
    while (block < geometry_->blocks && at >= end()) {
      start_ = end();
      if (++line == static_cast<std::int64_t>(geometry_->need_lines.size())) {
        line = 0;
        if (++row == geometry_->rows) {
          row = 0;
          ++block;
        }
      }
      measure();
    }
    return block < geometry_->blocks && at >= start_;
  }
  [[nodiscard]] Cycles start() const { return start_; }
  [[nodiscard]] Cycles end() const { return start_ + std::max<std::int64_t>(reads, 1) * geometry_->line_cycles; }

  std::int64_t block = 0, row = 0, line = 0;
  std::int64_t reads = 0;

 private:
  void measure() { reads = geometry_->reads(row, line); }
  const EdpGeometry* geometry_;
  Cycles start_;
};

class EdpPlan final : public AccessPlan {
 public:
  EdpPlan(const isa::Edp& edp, const isa::ChipConfig& chip)
      : shared_(std::make_shared<const EdpGeometry>(edp, chip)),
        geometry_(*shared_),
        length_(geometry_.cycles()),
        lanes_(chip.edp.lanes),
        has_b_(edp.has_b),
        broadcast_(edp.b_broadcast == 1),
        a_(edp.a, chip.sram.line_bytes),
        b_(edp.b, chip.sram.line_bytes),
        out_(edp.out, chip.sram.line_bytes),
        read_cursor_(geometry_),
        write_cursor_(geometry_) {
    const bool pooled = edp.mode != isa::EdpMode::elementwise;
    BankMask a = banks_of_map(edp.a, chip, geometry_.blocks, pooled ? edp.in_h : edp.h, pooled ? edp.in_w : edp.w);
    for (const std::int64_t line : geometry_.constants) a |= banks_of_lines(line, 1, chip);
    const BankMask b =
        edp.has_b ? banks_of_map(edp.b, chip, geometry_.blocks, broadcast_ ? 1 : edp.h, broadcast_ ? 1 : edp.w) : 0;
    const BankMask o = banks_of_map(edp.out, chip, geometry_.blocks, edp.h, edp.w);
    banks_ = a | b | o;
    self_conflict_ = ((a & b) | ((a | b) & o)) != 0;
  }

  [[nodiscard]] Cycles length() const override { return length_; }
  [[nodiscard]] std::unique_ptr<AccessPlan> clone() const override { return std::make_unique<EdpPlan>(*this); }
  [[nodiscard]] BankMask banks() const override { return banks_; }
  [[nodiscard]] bool may_self_conflict() const override { return self_conflict_; }
  [[nodiscard]] std::int64_t macs_issued() const override { return geometry_.steps() * geometry_.line_cycles * lanes_; }

  void accesses(Cycles e, AccessSet& out) override {
    out.clear();
    if (e < static_cast<Cycles>(geometry_.constants.size())) {
      out.add(static_cast<std::uint32_t>(geometry_.constants[static_cast<std::size_t>(e)]), false);
    } else if (read_cursor_.move_to(e)) {
      read(e - read_cursor_.start(), out);
    }
    const Cycles at = e - geometry_.latency;
    if (write_cursor_.move_to(at) && at == write_cursor_.end() - 1) {
      out.add(out_.line(write_cursor_.block, write_cursor_.row, write_cursor_.line), true);
    }
  }

 private:
  void read(Cycles at, AccessSet& out) const {
    const LineCursor& c = read_cursor_;
    const std::int64_t index = at / geometry_.line_cycles;
    if (at % geometry_.line_cycles == 0 && index < c.reads) {
      const EdpNeed& rows = geometry_.need_rows[static_cast<std::size_t>(c.row)];
      const EdpNeed& lines = geometry_.need_lines[static_cast<std::size_t>(c.line)];
      out.add(
          a_.line(c.block, rows.first + index / lines.count * geometry_.row_step, lines.first + index % lines.count),
          false);
    }
    if (!has_b_ || at != 0) return;
    if (!broadcast_) {
      out.add(b_.line(c.block, c.row, c.line), false);
    } else if (c.row == 0 && c.line == 0) {
      out.add(b_.line(c.block, 0, 0), false);
    }
  }

  std::shared_ptr<const EdpGeometry> shared_;  // with the clones
  const EdpGeometry& geometry_;
  Cycles length_;
  std::int64_t lanes_;
  bool has_b_, broadcast_;
  MapLines a_, b_, out_;
  LineCursor read_cursor_, write_cursor_;
  BankMask banks_ = 0;
  bool self_conflict_ = false;
};

}  // namespace

std::unique_ptr<AccessPlan> make_edp_plan(const isa::Edp& edp, const isa::ChipConfig& chip) {
  return std::make_unique<EdpPlan>(edp, chip);
}

}  // namespace tessera::hw
