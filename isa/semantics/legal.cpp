#include "isa/semantics/legal.hpp"

#include "hw/common/error.hpp"
#include "hw/common/units.hpp"
#include "isa/semantics/dma.hpp"
#include "isa/semantics/layout.hpp"
#include "isa/semantics/operands.hpp"

namespace tessera::semantics {

namespace {

/// Keeps the first broken rule of one instruction.
class Rules {
 public:
  Rules(const char* name, const ChipConfig& chip) : name_(name), chip_(chip) {}

  template <typename... Parts>
  void require(bool holds, const char* field, std::int64_t value, const Parts&... expected) {
    if (holds || fault_) return;
    fault_ = Fault{isa::FaultCause::illegal_word, detail::concat(name_, ".", field, " = ", value, ": ", expected...)};
  }
  void at_least_one(const char* field, std::int64_t value) { require(value >= 1, field, value, "expected at least 1"); }
  void line_aligned(const char* field, std::int64_t value) {
    require(value % chip_.sram.line_bytes == 0, field, value,
            "expected a multiple of sram.line_bytes = ", chip_.sram.line_bytes);
  }
  /// Bounds of a value that ends as int8.
  void int8_clamp(const char* lo_field, std::int64_t lo, const char* hi_field, std::int64_t hi) {
    require(lo >= -128 && lo <= 127, lo_field, lo, "expected an int8 value in [-128, 127]");
    require(hi >= lo && hi <= 127, hi_field, hi, "expected an int8 value in [", lo, ", 127]");
  }
  /// `rows` rows (first to last that is touched) of `columns` pixels.
  void map(const char* field, const isa::SramTensor& t, std::int64_t rows, std::int64_t columns) {
    const std::string base = std::string(field) + ".base";
    line_aligned(base.c_str(), t.base);
    const std::int64_t row_lines = ceil_div(columns, pixels_per_line(chip_));
    const std::string pitch = std::string(field) + ".row_pitch";
    require(rows <= 1 || t.row_pitch >= row_lines, pitch.c_str(), t.row_pitch, "expected at least ", row_lines,
            " lines, a row of ", columns, " pixels");
    if (t.wrap_rows != 0) {
      const std::string wrap = std::string(field) + ".wrap_rows";
      require(t.wrap_rows >= rows, wrap.c_str(), t.wrap_rows, "expected at least ", rows,
              " rows, as many as the instruction touches at once");
      const std::string first = std::string(field) + ".first_row";
      require(t.first_row < t.wrap_rows, first.c_str(), t.first_row, "expected less than wrap_rows = ", t.wrap_rows);
    }
  }
  void matrix(const char* base_field, std::int64_t base, const char* pitch_field, std::int64_t pitch, std::int64_t rows,
              std::int64_t bytes) {
    line_aligned(base_field, base);
    const std::int64_t lines = ceil_div(bytes, chip_.sram.line_bytes);
    require(rows <= 1 || pitch >= lines, pitch_field, pitch, "expected at least ", lines, " lines, a row of ", bytes,
            " bytes");
  }
  [[nodiscard]] std::optional<Fault> result() const { return fault_; }

 private:
  const char* name_;
  const ChipConfig& chip_;
  std::optional<Fault> fault_;
};

std::int64_t touched_rows(const std::vector<Span>& rows) {
  return rows.empty() ? 0 : rows.back().first + rows.back().count - rows.front().first;
}

void check(Rules& r, const isa::Nop& i, const ChipConfig&) { r.at_least_one("cycles", i.cycles); }

void check(Rules& r, const isa::Dsp& i, const ChipConfig&) {
  r.require(false, "entry", i.entry, "kernels of the DSP are not supported yet");
}

void check_dma(Rules& r, const DmaShape& s) {
  r.at_least_one("row_bytes", s.row_bytes);
  r.at_least_one("group_bytes", s.group_bytes);
  for (int d = 0; d < 3; ++d) {
    static constexpr const char* kCounts[] = {"dims[0].count", "dims[1].count", "dims[2].count"};
    r.at_least_one(kCounts[d], s.count[d]);
  }
  if (r.result()) return;
  r.require(s.row_groups() == 1 || s.group_stride >= s.group_bytes, "group_stride", s.group_stride,
            "expected at least group_bytes = ", s.group_bytes);
  if (s.wrap_rows != 0) {
    r.require(s.wrap_rows >= s.run_rows(), "wrap_rows", s.wrap_rows, "expected at least ", s.run_rows(),
              " rows, as many as a run has");
    r.require(s.first_row < s.wrap_rows, "first_row", s.first_row, "expected less than wrap_rows = ", s.wrap_rows);
  }
}
void check(Rules& r, const isa::Load& i, const ChipConfig&) { check_dma(r, dma_shape(i)); }
void check(Rules& r, const isa::Store& i, const ChipConfig&) { check_dma(r, dma_shape(i)); }

void check_shape(Rules& r, const isa::Conv& i, const ChipConfig& chip) {
  r.require(!i.a_int16, "a_int16", i.a_int16, "expected 0; int16 activations are not supported yet");
  r.require(!i.w_int16, "w_int16", i.w_int16, "expected 0; int16 weights are not supported yet");
  r.require(!i.out_int16, "out_int16", i.out_int16, "expected 0; int16 results are not supported yet");
  r.require(static_cast<std::size_t>(i.mode) < isa::kConvModeValues, "mode", static_cast<int>(i.mode),
            "expected dense, depthwise or fold");
  r.require(static_cast<std::size_t>(i.pixel_shape) < chip.conv.pixel_shapes.size(), "pixel_shape", i.pixel_shape,
            "expected an index into the ", chip.conv.pixel_shapes.size(), " entries of conv.pixel_shapes");
  r.at_least_one("in_h", i.in_h);
  r.at_least_one("in_w", i.in_w);
  r.at_least_one("cin", i.cin);
  r.at_least_one("out_h", i.out_h);
  r.at_least_one("out_w", i.out_w);
  r.at_least_one("cout", i.cout);
  r.at_least_one("groups", i.groups);
  r.at_least_one("kh", i.kh);
  r.at_least_one("kw", i.kw);
  r.at_least_one("sy", i.sy);
  r.at_least_one("sx", i.sx);
  r.at_least_one("dy", i.dy);
  r.at_least_one("dx", i.dx);
  r.at_least_one("gx", i.gx);
  r.at_least_one("gy", i.gy);
  r.at_least_one("t", i.t);
  if (r.result()) return;
  const std::int64_t entries = std::int64_t{i.gx} * i.gy * i.t;
  r.require(entries <= chip.conv.accumulators, "gx*gy*t", entries,
            "expected at most conv.accumulators = ", chip.conv.accumulators);
  r.require(i.cin % i.groups == 0 && i.cout % i.groups == 0, "groups", i.groups, "expected a divisor of cin = ", i.cin,
            " and cout = ", i.cout);
  if (i.mode == isa::ConvMode::depthwise) {
    r.require(i.groups == i.cin && i.groups == i.cout, "groups", i.groups, "expected cin = cout = groups in depthwise ",
              "mode, cin is ", i.cin, " and cout ", i.cout);
  }
  if (i.mode == isa::ConvMode::fold) {
    r.require(i.groups == 1, "groups", i.groups, "expected 1 in fold mode");
    r.require(i.fold >= 1 && std::int64_t{i.fold} * i.cin <= chip.conv.cin_lanes, "fold", i.fold,
              "expected at least 1 and fold x cin (", i.cin, ") at most conv.cin_lanes = ", chip.conv.cin_lanes);
  }
}

void check(Rules& r, const isa::Conv& i, const ChipConfig& chip) {
  check_shape(r, i, chip);
  if (r.result()) return;
  r.int8_clamp("lo", i.lo, "hi", i.hi);
  r.require(i.res_shift <= kMaxShift, "res_shift", i.res_shift, "expected at most 62");
  if (r.result()) return;
  r.map("in", i.in, touched_rows(window_rows(i.out_h, i.kh, i.sy, i.dy, i.pad_top, i.in_h)), i.in_w);
  r.map("out", i.out, i.out_h, i.out_w);
  if (i.has_residual) r.map("residual", i.residual, i.out_h, i.out_w);
  r.line_aligned("w_base", i.w_base);
}

void check_shape(Rules& r, const isa::Gemm& i) {
  r.at_least_one("m", i.m);
  r.at_least_one("n", i.n);
  r.at_least_one("k", i.k);
  r.at_least_one("batch", i.batch);
}

void check(Rules& r, const isa::Gemm& i, const ChipConfig&) {
  check_shape(r, i);
  r.require(i.shift <= kMaxShift, "shift", i.shift, "expected at most 62");
  r.int8_clamp("lo", i.lo, "hi", i.hi);
  r.matrix("a_base", i.a_base, "a_pitch", i.a_pitch, i.trans_a ? i.k : i.m, i.trans_a ? i.m : i.k);
  r.matrix("b_base", i.b_base, "b_pitch", i.b_pitch, i.trans_b ? i.n : i.k, i.trans_b ? i.k : i.n);
  r.matrix("o_base", i.o_base, "o_pitch", i.o_pitch, i.m, i.n);
}

void check_window(Rules& r, const isa::Edp& i) {
  const bool average = i.mode == isa::EdpMode::average_pool;
  r.at_least_one("in_h", i.in_h);
  r.at_least_one("in_w", i.in_w);
  r.at_least_one("kh", i.kh);
  r.at_least_one("kw", i.kw);
  r.at_least_one("sy", i.sy);
  r.at_least_one("sx", i.sx);
  if (average) {
    r.require(i.dy <= 1, "dy", i.dy, "expected at most 1; only max_pool may be dilated");
    r.require(i.dx <= 1, "dx", i.dx, "expected at most 1; only max_pool may be dilated");
  } else {
    r.at_least_one("dy", i.dy);
    r.at_least_one("dx", i.dx);
  }
  if (r.result()) return;
  // Every window must hold an element. Windows move monotonically, but a dilated one may step over a short map.
  const auto holds_one = [](std::int64_t out, std::int64_t k, std::int64_t s, std::int64_t d, std::int64_t pad,
                            std::int64_t low, std::int64_t high) {
    for (std::int64_t o = 0; o < out; ++o) {
      bool any = false;
      for (std::int64_t tap = 0; tap < k && !any; ++tap) {
        const std::int64_t at = o * s + tap * d - pad;
        any = at >= low && at < high;
      }
      if (!any) return false;
    }
    return true;
  };
  const bool padded = average && i.count_include_pad;
  r.require(holds_one(i.h, i.kh, i.sy, average ? 1 : i.dy, i.pad_top, padded ? -std::int64_t{i.pad_top} : 0,
                      i.in_h + (padded ? std::int64_t{i.pad_bottom} : 0)),
            "h", i.h, "a pooling window of row extent ", static_cast<int>(i.kh), " holds no element");
  r.require(holds_one(i.w, i.kw, i.sx, average ? 1 : i.dx, i.pad_left, padded ? -std::int64_t{i.pad_left} : 0,
                      i.in_w + (padded ? std::int64_t{i.pad_right} : 0)),
            "w", i.w, "a pooling window of column extent ", static_cast<int>(i.kw), " holds no element");
}

void check_chain(Rules& r, const isa::Edp& i) {
  bool ended = false;
  for (std::size_t s = 0; s < i.stages.size(); ++s) {
    const isa::EdpStage& stage = i.stages[s];
    const std::string prefix = "stages[" + std::to_string(s) + "].";
    const auto field = [&](const char* name) { return prefix + name; };
    const int op = static_cast<int>(stage.op);
    r.require(op >= 0 && static_cast<std::size_t>(op) < isa::kEdpOpValues, field("op").c_str(), op,
              "expected an EdpOp");
    if (stage.op == isa::EdpOp::none) {
      ended = true;
      continue;
    }
    r.require(!ended, field("op").c_str(), op, "expected none after the end of the chain");
    const bool needs_b = stage.op == isa::EdpOp::add || stage.op == isa::EdpOp::mul || stage.op == isa::EdpOp::min ||
                         stage.op == isa::EdpOp::max;
    r.require(!needs_b || i.has_b, field("op").c_str(), op, "expected has_b = 1 for an operation with two operands");
    r.require(stage.shift <= kMaxShift, field("shift").c_str(), stage.shift, "expected at most 62");
    const bool last = s + 1 == i.stages.size() || i.stages[s + 1].op == isa::EdpOp::none;
    if (last) {
      r.int8_clamp(field("lo").c_str(), stage.lo, field("hi").c_str(), stage.hi);
    } else {
      r.require(stage.lo <= stage.hi, field("lo").c_str(), stage.lo, "expected at most hi = ", stage.hi);
    }
    if (stage.op == isa::EdpOp::table) r.line_aligned(field("table_base").c_str(), stage.table_base);
  }
}

void check(Rules& r, const isa::Edp& i, const ChipConfig&) {
  r.require(static_cast<std::size_t>(i.mode) < isa::kEdpModeValues, "mode", static_cast<int>(i.mode),
            "expected elementwise, max_pool, average_pool or global_average");
  r.at_least_one("h", i.h);
  r.at_least_one("w", i.w);
  r.at_least_one("c", i.c);
  r.require(i.b_broadcast <= 1, "b_broadcast", i.b_broadcast, "expected 0 or 1");
  if (r.result()) return;
  switch (i.mode) {
    case isa::EdpMode::elementwise:
      r.map("a", i.a, i.h, i.w);
      break;
    case isa::EdpMode::max_pool:
    case isa::EdpMode::average_pool:
      check_window(r, i);
      if (r.result()) return;
      r.map("a", i.a,
            touched_rows(window_rows(i.h, i.kh, i.sy, i.mode == isa::EdpMode::max_pool ? i.dy : 1, i.pad_top, i.in_h)),
            i.in_w);
      break;
    case isa::EdpMode::global_average:
      r.at_least_one("in_h", i.in_h);
      r.at_least_one("in_w", i.in_w);
      r.require(i.h == 1, "h", i.h, "expected 1 for global_average");
      r.require(i.w == 1, "w", i.w, "expected 1 for global_average");
      r.map("a", i.a, i.in_h, i.in_w);
      break;
  }
  if (i.mode == isa::EdpMode::average_pool || i.mode == isa::EdpMode::global_average) {
    if (i.stages[0].op == isa::EdpOp::none) {
      r.int8_clamp("lo", i.lo, "hi", i.hi);
    } else {
      r.require(i.lo <= i.hi, "lo", i.lo, "expected at most hi = ", i.hi);
    }
  }
  if (i.has_b) r.map("b", i.b, i.b_broadcast == 1 ? 1 : i.h, i.b_broadcast == 1 ? 1 : i.w);
  r.map("out", i.out, i.h, i.w);
  check_chain(r, i);
}

void check(Rules& r, const isa::Reorder& i, const ChipConfig&) {
  r.at_least_one("run_bytes", i.run_bytes);
  for (std::size_t d = 0; d < i.dims.size(); ++d) {
    r.at_least_one(("dims[" + std::to_string(d) + "].count").c_str(), i.dims[d].count);
  }
}

}  // namespace

namespace {

std::optional<std::string> text_of(const Rules& rules) {
  const std::optional<Fault> fault = rules.result();
  return fault ? std::optional<std::string>(fault->text) : std::nullopt;
}

}  // namespace

std::optional<std::string> find_shape_fault(const isa::Conv& conv, const ChipConfig& chip) {
  Rules rules(isa::to_string(isa::opcode_of(conv)), chip);
  check_shape(rules, conv, chip);
  return text_of(rules);
}

std::optional<std::string> find_shape_fault(const isa::Gemm& gemm, const ChipConfig& chip) {
  Rules rules(isa::to_string(isa::opcode_of(gemm)), chip);
  check_shape(rules, gemm);
  return text_of(rules);
}

std::optional<Fault> find_field_fault(const isa::Instruction& instruction, const ChipConfig& chip) {
  return std::visit(
      [&](const auto& body) {
        Rules rules(isa::to_string(isa::opcode_of(body)), chip);
        check(rules, body, chip);
        return rules.result();
      },
      instruction.body);
}

std::optional<Fault> find_range_fault(const std::vector<Range>& ranges, const ChipConfig& chip,
                                      const DramLimits& limits) {
  const std::int64_t sram_bytes = chip.sram.banks * chip.sram.size_bytes;
  for (const Range& range : ranges) {
    if (range.dram) {
      const std::uint64_t limit = limits[range.base_register];
      if (range.begin < 0 || static_cast<std::uint64_t>(range.end) > limit) {
        return Fault{isa::FaultCause::dram_limit,
                     detail::concat(range.operand, " touches ", range_text(range), ", outside the limit of ", limit,
                                    " bytes of that base register")};
      }
    } else if (range.begin < 0 || range.end > sram_bytes) {
      return Fault{isa::FaultCause::sram_range, detail::concat(range.operand, " touches ", range_text(range),
                                                               ", outside the SRAM of ", sram_bytes, " bytes")};
    }
  }
  return std::nullopt;
}

std::optional<Fault> find_fault(const isa::Instruction& instruction, const ChipConfig& chip, const DramLimits& limits) {
  if (auto fault = find_field_fault(instruction, chip)) return fault;
  return find_range_fault(footprint(instruction, chip), chip, limits);
}

}  // namespace tessera::semantics
