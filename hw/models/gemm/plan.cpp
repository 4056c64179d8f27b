#include "hw/models/gemm/plan.hpp"

#include <algorithm>

#include "hw/common/error.hpp"
#include "hw/models/gemm/cost.hpp"
#include "hw/models/gemm/schedule.hpp"
#include "hw/models/unit/bank_set.hpp"
#include "isa/semantics/layout.hpp"

namespace tessera::hw {
namespace {

/// One port's view of the folds: in each fold it is busy from `stream + offset` for at most `duration` cycles. Windows
/// of successive folds never overlap.
class FoldCursor {
 public:
  explicit FoldCursor(const GemmSchedule& schedule) : schedule_(&schedule), fold_(schedule.first()) {}
  /// The fold whose window holds `at`, or null. Calls come with non-decreasing `at`; duration(fold) may not exceed
  /// the interval to the next window.
  template <typename Duration>
  const GemmFold* locate(Cycles at, Cycles offset, const Duration& duration) {
    while (!done_ && at >= fold_.stream + offset + duration(fold_)) done_ = !schedule_->advance(fold_);
    return !done_ && at >= fold_.stream + offset ? &fold_ : nullptr;
  }

 private:
  const GemmSchedule* schedule_;
  GemmFold fold_;
  bool done_ = false;
};

/// A matrix whose rows begin on lines.
struct Rows {
  std::int64_t line = 0;
  std::int64_t pitch = 0;
  std::int64_t batch_pitch = 0;
};

class GemmPlan final : public AccessPlan {
 public:
  GemmPlan(const isa::Gemm& gemm, const isa::ChipConfig& chip)
      : shared_(std::make_shared<const GemmSchedule>(gemm, chip)),
        schedule_(*shared_),
        line_bytes_(chip.sram.line_bytes),
        a_{static_cast<std::int64_t>(gemm.a_base) / line_bytes_, gemm.a_pitch, gemm.a_batch_pitch},
        b_{static_cast<std::int64_t>(gemm.b_base) / line_bytes_, gemm.b_pitch, gemm.b_batch_pitch},
        o_{static_cast<std::int64_t>(gemm.o_base) / line_bytes_, gemm.o_pitch, gemm.o_batch_pitch},
        p_base_(gemm.p_base),
        trans_a_(gemm.trans_a),
        trans_b_(gemm.trans_b),
        cursor_a_(schedule_),
        cursor_b_(schedule_),
        cursor_p_(schedule_),
        cursor_o_(schedule_) {
    const auto rows_of = [&](const Rows& matrix, std::int64_t rows, std::int64_t bytes) {
      BankMask mask = 0;
      for (std::int64_t batch = 0; batch < schedule_.batches; ++batch) {
        mask |= banks_of_lines(matrix.line + batch * matrix.batch_pitch,
                               (rows - 1) * matrix.pitch + ceil_div(bytes, line_bytes_), chip);
      }
      return mask;
    };
    const GemmSchedule& s = schedule_;
    const BankMask a = trans_a_ ? rows_of(a_, s.k, s.m) : rows_of(a_, s.m, s.k);
    const BankMask b = trans_b_ ? rows_of(b_, s.n, s.k) : rows_of(b_, s.k, s.n);
    const BankMask p = s.per_column ? banks_of_bytes(p_base_, s.n * semantics::kParamBytes, chip) : 0;
    const BankMask o = rows_of(o_, s.m, s.n);
    banks_ = a | b | p | o;
    self_conflict_ = ((a & b) | ((a | b) & p) | ((a | b | p) & o)) != 0;
  }

  [[nodiscard]] Cycles length() const override { return schedule_.cycles(); }
  [[nodiscard]] std::unique_ptr<AccessPlan> clone() const override { return std::make_unique<GemmPlan>(*this); }
  [[nodiscard]] BankMask banks() const override { return banks_; }
  [[nodiscard]] bool may_self_conflict() const override { return self_conflict_; }
  [[nodiscard]] std::int64_t macs_issued() const override { return schedule_.macs_issued(); }
  [[nodiscard]] Cycles array_cycles() const override { return schedule_.array_cycles(); }

  void accesses(Cycles e, AccessSet& out) override {
    out.clear();
    read_a(e, out);
    if (schedule_.stationary_b) {
      load_b(e, out);
    } else {
      stream_b(e, out);
    }
    if (schedule_.per_column) read_p(e, out);
    write_o(e, out);
  }

 private:
  /// Bytes [first, first + count) of `row`: the access of the slice's line number `line`, if it has that many.
  void slice(const Rows& matrix, std::int64_t batch, std::int64_t row, std::int64_t first, std::int64_t count,
             std::int64_t line, bool write, AccessSet& out) const {
    if (count <= 0) return;
    const std::int64_t from = first / line_bytes_ + line;
    if (from > (first + count - 1) / line_bytes_) return;
    out.add(static_cast<std::uint32_t>(matrix.line + batch * matrix.batch_pitch + row * matrix.pitch + from), write);
  }

  void read_a(Cycles e, AccessSet& out) {
    const GemmSchedule& s = schedule_;
    const Cycles step = s.step_cycles;
    const Cycles offset = s.block_a ? -s.rows * step : 0;
    const auto window = [&](const GemmFold& fold) {
      return (s.block_a ? round_up(s.steps(fold.m_tile), s.rows) : s.steps(fold.m_tile)) * step;
    };
    const GemmFold* fold = cursor_a_.locate(e, offset, window);
    if (fold == nullptr) return;
    const Cycles at = e - fold->stream - offset;
    const std::int64_t index = at / step;
    const std::int64_t m0 = fold->m_tile * s.m_tile_rows;
    const std::int64_t rows = s.tile_rows(fold->m_tile);
    if (s.stationary_b) {
      const std::int64_t k0 = fold->k_tile * s.rows;
      const std::int64_t depth = std::min(s.rows, s.k - k0);
      if (!s.block_a) {
        slice(a_, fold->batch, m0 + index, k0, depth, at % step, false, out);
      } else if (index % s.rows < depth) {  // A lies K x M: row k of the block of R columns m
        const std::int64_t m = index / s.rows * s.rows;
        slice(a_, fold->batch, k0 + index % s.rows, m0 + m, std::min(s.rows, rows - m), at % step, false, out);
      }
    } else if (!s.block_a) {  // A lies K x M: row k holds the R values of a step
      slice(a_, fold->batch, index, m0, rows, at % step, false, out);
    } else if (index % s.rows < rows) {  // row m of the block of R steps k
      const std::int64_t k = index / s.rows * s.rows;
      slice(a_, fold->batch, m0 + index % s.rows, k, std::min(s.rows, s.k - k), at % step, false, out);
    }
  }

  void load_b(Cycles e, AccessSet& out) {
    const GemmSchedule& s = schedule_;
    const Cycles offset = -s.load_cycles * (s.block_b ? 2 : 1);
    const GemmFold* fold = cursor_b_.locate(e, offset, [&](const GemmFold&) { return s.load_cycles; });
    if (fold == nullptr) return;
    const Cycles at = e - fold->stream - offset;
    const Cycles lines = s.load_cycles / s.rows;
    const std::int64_t index = at / lines;
    const std::int64_t k0 = fold->k_tile * s.rows;
    const std::int64_t n0 = fold->n_tile * s.cols;
    const std::int64_t depth = std::min(s.rows, s.k - k0);
    const std::int64_t width = std::min(s.cols, s.n - n0);
    if (!s.block_b) {
      if (index < depth) slice(b_, fold->batch, k0 + index, n0, width, at % lines, false, out);
    } else if (index < width) {  // B lies N x K
      slice(b_, fold->batch, n0 + index, k0, depth, at % lines, false, out);
    }
  }

  void stream_b(Cycles e, AccessSet& out) {
    const GemmSchedule& s = schedule_;
    const Cycles step = s.step_cycles;
    const Cycles offset = s.block_b ? -s.rows * step : 0;
    const Cycles window = (s.block_b ? round_up(s.k, s.rows) : s.k) * step;
    const GemmFold* fold = cursor_b_.locate(e, offset, [&](const GemmFold&) { return window; });
    if (fold == nullptr) return;
    const Cycles at = e - fold->stream - offset;
    const std::int64_t index = at / step;
    const std::int64_t n0 = fold->n_tile * s.cols;
    const std::int64_t width = std::min(s.cols, s.n - n0);
    if (!s.block_b) {
      slice(b_, fold->batch, index, n0, width, at % step, false, out);
    } else if (index % s.rows < width) {
      const std::int64_t k = index / s.rows * s.rows;
      slice(b_, fold->batch, n0 + index % s.rows, k, std::min(s.rows, s.k - k), at % step, false, out);
    }
  }

  void read_p(Cycles e, AccessSet& out) {
    const GemmSchedule& s = schedule_;
    const Cycles offset = -s.load_cycles - s.param_lead;
    const GemmFold* fold = cursor_p_.locate(e, offset, [&](const GemmFold&) { return s.param_lines; });
    if (fold == nullptr || fold->k_tile != 0) return;
    const std::int64_t first = p_base_ + fold->n_tile * s.cols * semantics::kParamBytes;
    const std::int64_t end = p_base_ + std::min(s.n, (fold->n_tile + 1) * s.cols) * semantics::kParamBytes;
    const std::int64_t line = first / line_bytes_ + e - fold->stream - offset;
    if (line <= (end - 1) / line_bytes_) out.add(static_cast<std::uint32_t>(line), false);
  }

  void write_o(Cycles e, AccessSet& out) {
    const GemmSchedule& s = schedule_;
    const Cycles at = e - s.write_skew;
    const Cycles slot = s.stationary_b ? s.step_cycles : s.write_lines;
    // Weight-stationary: a row's sums are complete fill_cycles behind its step. Output-stationary: the shadow plane
    // is emptied row by row behind the last sum.
    const Cycles offset = s.fill_cycles + (s.stationary_b ? slot - 1 : s.k * s.step_cycles);
    const auto window = [&](const GemmFold& fold) { return s.tile_rows(fold.m_tile) * slot; };
    const GemmFold* fold = cursor_o_.locate(at, offset, window);
    if (fold == nullptr || fold->k_tile + 1 != s.k_tiles) return;
    const Cycles in_fold = at - fold->stream - offset;
    const std::int64_t n0 = fold->n_tile * s.cols;
    slice(o_, fold->batch, fold->m_tile * s.m_tile_rows + in_fold / slot, n0, std::min(s.cols, s.n - n0),
          in_fold % slot, true, out);
  }

  std::shared_ptr<const GemmSchedule> shared_;  // with the clones
  const GemmSchedule& schedule_;
  std::int64_t line_bytes_;
  Rows a_, b_, o_;
  std::int64_t p_base_;
  bool trans_a_, trans_b_;
  FoldCursor cursor_a_, cursor_b_, cursor_p_, cursor_o_;
  BankMask banks_ = 0;
  bool self_conflict_ = false;
};

}  // namespace

std::unique_ptr<AccessPlan> make_gemm_plan(const isa::Gemm& gemm, const isa::ChipConfig& chip) {
  const std::optional<std::string> problem = gemm_check(gemm, chip);
  TESSERA_CHECK(!problem, "GEMM: ", problem.value_or(""));
  return std::make_unique<GemmPlan>(gemm, chip);
}

}  // namespace tessera::hw
