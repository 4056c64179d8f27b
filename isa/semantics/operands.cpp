#include "isa/semantics/operands.hpp"

#include <algorithm>

#include "hw/common/units.hpp"
#include "isa/semantics/dma.hpp"
#include "isa/semantics/layout.hpp"

namespace tessera::semantics {

namespace {

std::vector<Span> runs_of(const std::vector<bool>& used) {
  std::vector<Span> runs;
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) continue;
    const auto at = static_cast<std::int64_t>(i);
    if (!runs.empty() && runs.back().first + runs.back().count == at) {
      ++runs.back().count;
    } else {
      runs.push_back({at, 1});
    }
  }
  return runs;
}

class Collector {
 public:
  Collector(const ChipConfig& chip, Granularity granularity)
      : chip_(chip), granularity_(granularity), line_(chip.sram.line_bytes) {}

  [[nodiscard]] std::vector<Box> take() { return std::move(boxes_); }

  Box& sram(const char* operand, bool write, std::int64_t base, std::int64_t run) {
    Box box;
    box.operand = operand;
    box.write = write;
    box.base = base;
    box.run = run;
    boxes_.push_back(box);
    return boxes_.back();
  }

  /// Rows `rows` of a blocked map with `columns` pixels and `channels` channels.
  void map(const char* operand, bool write, const isa::SramTensor& t, std::int64_t channels,
           const std::vector<Span>& rows, std::int64_t columns) {
    for (const Span& span : rows) {
      for (std::int64_t row = span.first; row < span.first + span.count;) {
        std::int64_t count = span.first + span.count - row;
        if (t.wrap_rows != 0) count = std::min<std::int64_t>(count, t.wrap_rows - buffer_row(t, row));
        map_piece(operand, write, t, channels, {row, count}, columns);
        row += count;
      }
    }
  }

  /// `rows` rows of `bytes` bytes, each on its own line, for each of `batch` matrices.
  void matrix(const char* operand, bool write, std::int64_t base, std::int64_t rows, std::int64_t bytes,
              std::int64_t pitch, std::int64_t batch, std::int64_t batch_pitch) {
    Box& box = sram(operand, write, base, granularity_ == Granularity::lines ? round_up(bytes, line_) : bytes);
    box.add_dim(batch, batch_pitch * line_);
    box.add_dim(rows, pitch * line_);
  }

  void dma(const DmaShape& s, bool load) {
    const char* dram_name = load ? "load.dram" : "store.dram";
    const char* sram_name = load ? "load.sram" : "store.sram";
    Box dram;
    dram.operand = dram_name;
    dram.write = !load;
    dram.dram = true;
    dram.base_register = s.base_register;
    dram.base = s.dram_offset;
    dram.run = s.row_bytes;
    for (int d = 0; d < 3; ++d) dram.add_dim(s.count[d], s.dram_stride[d]);
    boxes_.push_back(dram);

    const std::int64_t full = s.row_bytes / s.group_bytes;
    const std::int64_t rest = s.row_bytes % s.group_bytes;
    for (std::int64_t row = 0; row < s.run_rows();) {
      std::int64_t count = s.run_rows() - row;
      if (s.wrap_rows != 0) count = std::min(count, s.wrap_rows - (s.first_row + row) % s.wrap_rows);
      const std::int64_t base = s.sram_row(0, 0, row);
      const auto groups = [&](std::int64_t first, std::int64_t n, std::int64_t bytes) {
        if (n == 0) return;
        Box& box = sram(sram_name, load, base + first * s.group_stride, bytes);
        box.add_dim(s.count[0], s.sram_stride[0]);
        box.add_dim(s.count[1], s.sram_stride[1]);
        box.add_dim(count, s.sram_stride[2]);
        box.add_dim(n, s.group_stride);
      };
      if (rest == 0) {
        groups(0, s.row_groups(), s.group_bytes);
      } else {
        groups(0, s.groups_before + full, s.group_bytes);
        groups(s.groups_before + full, 1, rest);
        groups(s.groups_before + full + 1, s.groups_after, s.group_bytes);
      }
      row += count;
    }
  }

 private:
  void map_piece(const char* operand, bool write, const isa::SramTensor& t, std::int64_t channels, Span rows,
                 std::int64_t columns) {
    const std::int64_t cb = chip_.layout.channel_block;
    const std::int64_t block_bytes = static_cast<std::int64_t>(t.block_pitch) * line_;
    const std::int64_t row_bytes = static_cast<std::int64_t>(t.row_pitch) * line_;
    if (granularity_ == Granularity::lines) {
      Box& box = sram(operand, write, row_address(t, chip_, 0, rows.first), round_up(columns * cb, line_));
      box.add_dim(ceil_div(channels, cb), block_bytes);
      box.add_dim(rows.count, row_bytes);
      return;
    }
    const std::int64_t whole = channels / cb;
    if (whole > 0) {
      Box& box = sram(operand, write, row_address(t, chip_, 0, rows.first), columns * cb);
      box.add_dim(whole, block_bytes);
      box.add_dim(rows.count, row_bytes);
    }
    if (channels % cb != 0) {
      Box& box = sram(operand, write, row_address(t, chip_, whole, rows.first), channels % cb);
      box.add_dim(rows.count, row_bytes);
      box.add_dim(columns, cb);
    }
  }

  const ChipConfig& chip_;
  Granularity granularity_;
  std::int64_t line_;
  std::vector<Box> boxes_;
};

void collect(Collector&, const isa::Nop&, const ChipConfig&) {}
void collect(Collector&, const isa::Dsp&, const ChipConfig&) {}
void collect(Collector& c, const isa::Load& i, const ChipConfig&) { c.dma(dma_shape(i), true); }
void collect(Collector& c, const isa::Store& i, const ChipConfig&) { c.dma(dma_shape(i), false); }

void collect(Collector& c, const isa::Conv& i, const ChipConfig& chip) {
  c.map("conv.in", false, i.in, i.cin, window_rows(i.out_h, i.kh, i.sy, i.dy, i.pad_top, i.in_h), i.in_w);
  const WeightLayout weights(conv_shape(i), chip);
  if (weights.packed()) {
    c.sram("conv.weights", false, i.w_base, weights.valid_bytes()).add_dim(weights.tiles(), weights.tile_bytes());
  } else {
    c.sram("conv.weights", false, i.w_base, weights.sram_bytes());
  }
  c.sram("conv.params", false, i.p_base, kParamBytes * i.cout);
  if (i.has_residual) c.map("conv.residual", false, i.residual, i.cout, {{0, i.out_h}}, i.out_w);
  c.map("conv.out", true, i.out, i.cout, {{0, i.out_h}}, i.out_w);
}

void collect(Collector& c, const isa::Gemm& i, const ChipConfig&) {
  c.matrix("gemm.a", false, i.a_base, i.trans_a ? i.k : i.m, i.trans_a ? i.m : i.k, i.a_pitch, i.batch,
           i.a_batch_pitch);
  c.matrix("gemm.b", false, i.b_base, i.trans_b ? i.n : i.k, i.trans_b ? i.k : i.n, i.b_pitch, i.batch,
           i.b_batch_pitch);
  if (i.per_column) c.sram("gemm.params", false, i.p_base, kParamBytes * i.n);
  c.matrix("gemm.out", true, i.o_base, i.m, i.n, i.o_pitch, i.batch, i.o_batch_pitch);
}

void average_entries(Collector& c, const isa::Edp& i) {
  const auto counts = [&](std::int64_t out, std::int64_t kernel, std::int64_t stride, std::int64_t pad_before,
                          std::int64_t pad_after, std::int64_t in) {
    std::vector<bool> seen(static_cast<std::size_t>(kernel) + 1, false);
    for (std::int64_t o = 0; o < out; ++o) {
      const std::int64_t low = i.count_include_pad ? -pad_before : 0;
      const std::int64_t high = i.count_include_pad ? in + pad_after : in;
      seen[static_cast<std::size_t>(window_count(o, kernel, stride, pad_before, low, high))] = true;
    }
    return seen;
  };
  const std::vector<bool> by_row = counts(i.h, i.kh, i.sy, i.pad_top, i.pad_bottom, i.in_h);
  const std::vector<bool> by_column = counts(i.w, i.kw, i.sx, i.pad_left, i.pad_right, i.in_w);
  std::vector<bool> used(static_cast<std::size_t>(i.kh) * i.kw, false);
  for (std::size_t r = 1; r < by_row.size(); ++r) {
    for (std::size_t k = 1; k < by_column.size(); ++k) {
      if (by_row[r] && by_column[k]) used[r * k - 1] = true;
    }
  }
  for (const Span& s : runs_of(used)) {
    c.sram("edp.params", false, i.p_base + kAverageEntryBytes * s.first, kAverageEntryBytes * s.count);
  }
}

void collect(Collector& c, const isa::Edp& i, const ChipConfig&) {
  switch (i.mode) {
    case isa::EdpMode::elementwise:
      c.map("edp.a", false, i.a, i.c, {{0, i.h}}, i.w);
      break;
    case isa::EdpMode::max_pool:
      c.map("edp.a", false, i.a, i.c, window_rows(i.h, i.kh, i.sy, i.dy, i.pad_top, i.in_h), i.in_w);
      break;
    case isa::EdpMode::average_pool:
      c.map("edp.a", false, i.a, i.c, window_rows(i.h, i.kh, i.sy, 1, i.pad_top, i.in_h), i.in_w);
      average_entries(c, i);
      break;
    case isa::EdpMode::global_average:
      c.map("edp.a", false, i.a, i.c, {{0, i.in_h}}, i.in_w);
      c.sram("edp.params", false, i.p_base, kAverageEntryBytes);
      break;
  }
  if (i.has_b) {
    if (i.b_broadcast == 1) {
      c.map("edp.b", false, i.b, i.c, {{0, 1}}, 1);
    } else {
      c.map("edp.b", false, i.b, i.c, {{0, i.h}}, i.w);
    }
  }
  for (const isa::EdpStage& stage : i.stages) {
    if (stage.op == isa::EdpOp::none) break;
    if (stage.op == isa::EdpOp::table) c.sram("edp.table", false, stage.table_base, 256);
  }
  c.map("edp.out", true, i.out, i.c, {{0, i.h}}, i.w);
}

void collect(Collector& c, const isa::Reorder& i, const ChipConfig&) {
  if (!i.fill) {
    Box& src = c.sram("reorder.src", false, i.src_base, i.run_bytes);
    for (const isa::ReorderDim& d : i.dims) src.add_dim(d.count, d.src_stride);
  }
  Box& dst = c.sram("reorder.dst", true, i.dst_base, i.run_bytes);
  for (const isa::ReorderDim& d : i.dims) dst.add_dim(d.count, d.dst_stride);
}

}  // namespace

void simplify(Box& box, std::int64_t gap, std::int64_t max_pieces) {
  const auto loops = static_cast<std::size_t>(box.dim_count);
  Int128 pieces = 1;  // six counts of 16 bits
  for (std::size_t d = 0; d < loops; ++d) {
    Box::Dim dim = box.dims[d];
    if (dim.stride < 0) {
      box.base += dim.stride * (dim.count - 1);
      dim.stride = -dim.stride;
    }
    pieces *= dim.count;
    std::size_t at = d;  // insertion sort, at most six loops
    for (; at > 0 && box.dims[at - 1].stride > dim.stride; --at) box.dims[at] = box.dims[at - 1];
    box.dims[at] = dim;
  }
  std::size_t kept = 0;
  for (std::size_t d = 0; d < loops; ++d) {
    const Box::Dim dim = box.dims[d];
    if (dim.stride <= box.run + gap || pieces > max_pieces) {
      box.run += dim.stride * (dim.count - 1);
      pieces /= dim.count;
    } else {
      box.dims[kept++] = dim;
    }
  }
  box.dim_count = static_cast<int>(kept);
}

std::vector<Span> window_rows(std::int64_t out_rows, std::int64_t kernel, std::int64_t stride, std::int64_t dilation,
                              std::int64_t pad_before, std::int64_t in_rows) {
  std::vector<bool> used(static_cast<std::size_t>(in_rows), false);
  for (std::int64_t o = 0; o < out_rows; ++o) {
    for (std::int64_t k = 0; k < kernel; ++k) {
      const std::int64_t row = o * stride + k * dilation - pad_before;
      if (row >= 0 && row < in_rows) used[static_cast<std::size_t>(row)] = true;
    }
  }
  return runs_of(used);
}

std::int64_t window_count(std::int64_t out, std::int64_t kernel, std::int64_t stride, std::int64_t pad_before,
                          std::int64_t low, std::int64_t high) {
  const std::int64_t first = out * stride - pad_before;
  return std::max<std::int64_t>(0, std::min(first + kernel, high) - std::max(first, low));
}

std::vector<Box> operand_boxes(const isa::Instruction& instruction, const ChipConfig& chip, Granularity granularity) {
  Collector collector(chip, granularity);
  std::visit([&](const auto& body) { collect(collector, body, chip); }, instruction.body);
  return collector.take();
}

}  // namespace tessera::semantics
