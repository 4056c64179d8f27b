// The two sides of a DMA instruction as small state machines over semantics::DmaShape: BurstWalk cuts the DRAM rows
// into AXI bursts, SegmentWalk cuts the SRAM rows into what one cycle moves. Shared by LOAD and STORE, their cost
// functions and their RTL. No time, no bytes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "hw/common/units.hpp"
#include "isa/semantics/dma.hpp"

namespace tessera::hw {

/// What the DMA engines know of the chip.
struct DmaConfig {
  std::int64_t data_bytes = 64;       // axi.data_bytes
  std::int64_t max_burst_beats = 16;  // axi.max_burst_beats
  std::int64_t buffer_beats = 64;     // landing or store buffer, in beats
  int outstanding = 8;                // axi.read_outstanding or write_outstanding
  int in_flight = 4;                  // load.in_flight or store.in_flight
  std::int64_t line_bytes = 128;
  std::int64_t lines_per_bank = 1024;
  Cycles read_latency = 1;  // sram.read_latency (STORE)
  /// A burst always fits the buffer.
  [[nodiscard]] std::int64_t burst_limit() const { return std::min(max_burst_beats, buffer_beats); }
};

inline constexpr std::int64_t kAxiBoundary = 4096;

/// Bursts of whole bus beats that cover the DRAM rows one after the other. Rows are never merged.
class BurstWalk {
 public:
  BurstWalk() = default;
  BurstWalk(const semantics::DmaShape& shape, std::uint64_t base, const DmaConfig& config)
      : shape_(shape), base_(static_cast<std::int64_t>(base)), data_(config.data_bytes), limit_(config.burst_limit()) {
    begin_row();
  }
  [[nodiscard]] bool done() const { return i0_ >= shape_.count[0]; }
  [[nodiscard]] std::uint64_t address() const { return static_cast<std::uint64_t>(next_); }
  [[nodiscard]] std::int64_t beats() const {
    const std::int64_t to_row_end = (row_end_ - next_ + data_ - 1) / data_;
    const std::int64_t to_boundary = (kAxiBoundary - next_ % kAxiBoundary) / data_;
    return std::min({to_row_end, to_boundary, limit_});
  }
  /// Bytes of the row that the burst carries (first and last beat may be partial).
  [[nodiscard]] std::int64_t payload_bytes() const {
    return std::min(row_end_, next_ + beats() * data_) - std::max(row_begin_, next_);
  }
  void advance() {
    next_ += beats() * data_;
    if (next_ < row_end_) return;
    if (++i2_ == shape_.count[2]) {
      i2_ = 0;
      if (++i1_ == shape_.count[1]) {
        i1_ = 0;
        ++i0_;
      }
    }
    if (!done()) begin_row();
  }
  [[nodiscard]] bool last() const {
    return i0_ + 1 == shape_.count[0] && i1_ + 1 == shape_.count[1] && i2_ + 1 == shape_.count[2] &&
           next_ + beats() * data_ >= row_end_;
  }

 private:
  void begin_row() {
    row_begin_ = base_ + shape_.dram_row(i0_, i1_, i2_);
    row_end_ = row_begin_ + shape_.row_bytes;
    next_ = row_begin_ - row_begin_ % data_;
  }
  semantics::DmaShape shape_;
  std::int64_t base_ = 0, data_ = 1, limit_ = 1;
  std::int64_t i0_ = 0, i1_ = 0, i2_ = 0;
  std::int64_t row_begin_ = 0, row_end_ = 0, next_ = 0;
};

/// What one cycle moves between a buffer and one SRAM line.
struct Segment {
  std::int64_t line = 0;
  std::int64_t bytes = 0;
  bool fill = false;    // padding: no byte of a beat
  bool closes = false;  // the row ends here, or its next byte lies in another line
  bool ends_row = false;
  bool last = false;  // of the instruction
};

/// The SRAM rows of an instruction, padding included, as a sequence of segments.
class SegmentWalk {
 public:
  SegmentWalk() = default;
  SegmentWalk(const semantics::DmaShape& shape, std::int64_t line_bytes) : shape_(shape), line_bytes_(line_bytes) {
    data_first_ = shape_.groups_before;
    data_end_ = data_first_ + shape_.data_groups();
    groups_ = shape_.row_groups();
    last_group_bytes_ = shape_.row_bytes - (shape_.data_groups() - 1) * shape_.group_bytes;
    begin_row();
  }
  [[nodiscard]] bool done() const { return i0_ >= shape_.count[0]; }
  /// Is the next byte padding?
  [[nodiscard]] bool fill() const { return fill_row_ || group_ < data_first_ || group_ >= data_end_; }
  /// Byte of the DRAM row that is next (data only), and the row itself.
  [[nodiscard]] std::int64_t row_position() const { return position_; }
  [[nodiscard]] std::int64_t dram_address() const {
    return shape_.dram_row(i0_, i1_, r_ - shape_.rows_before) + position_;
  }

  /// The next segment, at most `limit` bytes of data (padding knows no limit); the walk moves past it.
  Segment next(std::int64_t limit) {
    Segment segment;
    segment.fill = fill();
    const std::int64_t first = address();
    segment.line = first / line_bytes_;
    const std::int64_t line_end = (segment.line + 1) * line_bytes_;
    const std::int64_t line_begin = line_end - line_bytes_;
    while (true) {
      std::int64_t run = std::min(group_size() - offset_, line_end - address());
      if (!segment.fill) run = std::min(run, limit - segment.bytes);
      segment.bytes += run;
      offset_ += run;
      if (!segment.fill) position_ += run;
      if (offset_ == group_size()) {
        offset_ = 0;
        ++group_;
        if (group_ == groups_) {
          segment.closes = segment.ends_row = true;
          next_row();
          segment.last = done();
          return segment;
        }
      }
      const std::int64_t at = address();
      if (at < line_begin || at >= line_end) {
        segment.closes = true;
        return segment;
      }
      if (fill() != segment.fill || (!segment.fill && segment.bytes == limit)) return segment;
    }
  }

 private:
  [[nodiscard]] std::int64_t address() const { return row_ + group_ * shape_.group_stride + offset_; }
  [[nodiscard]] std::int64_t group_size() const {
    return group_ == data_end_ - 1 ? last_group_bytes_ : shape_.group_bytes;
  }
  void begin_row() {
    fill_row_ = r_ < shape_.rows_before || r_ >= shape_.rows_before + shape_.count[2];
    row_ = shape_.sram_row(i0_, i1_, r_);
    group_ = 0;
    offset_ = 0;
    position_ = 0;
  }
  void next_row() {
    if (++r_ == shape_.run_rows()) {
      r_ = 0;
      if (++i1_ == shape_.count[1]) {
        i1_ = 0;
        ++i0_;
      }
    }
    if (!done()) begin_row();
  }

  semantics::DmaShape shape_;
  std::int64_t line_bytes_ = 1;
  std::int64_t data_first_ = 0, data_end_ = 0, groups_ = 0, last_group_bytes_ = 0;
  std::int64_t i0_ = 0, i1_ = 0, r_ = 0;
  bool fill_row_ = false;
  std::int64_t row_ = 0, group_ = 0, offset_ = 0, position_ = 0;
};

/// LOAD: bytes of the row in the landing head beat that are not yet taken. `walk` stands at data.
[[nodiscard]] inline std::int64_t beat_limit(const SegmentWalk& walk, const semantics::DmaShape& shape,
                                             std::uint64_t base, const DmaConfig& config) {
  const std::int64_t address = static_cast<std::int64_t>(base) + walk.dram_address();
  return std::min(config.data_bytes - address % config.data_bytes, shape.row_bytes - walk.row_position());
}

/// Banks that the SRAM side may touch (a superset): the union over the outer loops of the hull of one run.
[[nodiscard]] BankMask dma_banks(const semantics::DmaShape& shape, const DmaConfig& config);
/// Smallest and largest + 1 byte touched, relative to the base register (DRAM) and absolute (SRAM).
struct DmaHull {
  std::int64_t dram_begin = 0, dram_end = 0, sram_begin = 0, sram_end = 0;
};
[[nodiscard]] DmaHull dma_hull(const semantics::DmaShape& shape);

}  // namespace tessera::hw
