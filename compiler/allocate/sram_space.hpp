// Where buffers lie in one core's SRAM while the schedule is written down in program order. Lifetimes come from the
// order itself: a buffer is taken, used, released; what was released may be taken again at once, and the dependence
// synthesis (compiler/emit) makes the new writer wait for the old readers. So placement never decides what is right,
// only how far LOAD can run ahead: `oldest` picks the range whose last use is longest ago (a ring around the maps).
#pragma once

#include <cstdint>
#include <vector>

namespace tessera::compiler {

enum class Fit : std::uint8_t {
  low,    // lowest address: long-lived maps stay together
  apart,  // as few banks as possible in common with what is taken, then the lowest address
  oldest  // least recently used: streamed buffers, prefetch distance as long as the SRAM permits
};

/// A range of SRAM lines.
struct LineRange {
  std::int64_t first = 0;
  std::int64_t lines = 0;
};

class SramSpace {
 public:
  SramSpace(std::int64_t lines, std::int64_t lines_per_bank);

  /// Takes `lines` lines; first = -1 when no free range is long enough. Ranges of at least a bank start on a bank where
  /// one that does fits equally well. Where there is a choice, in no bank of `apart_from`.
  [[nodiscard]] LineRange take(std::int64_t lines, Fit fit, const LineRange& apart_from = {-1, 0});
  /// Gives a range back; `now` is the program position of its last use.
  void release(const LineRange& range, std::int64_t now);

  [[nodiscard]] std::int64_t free_lines() const;
  [[nodiscard]] std::int64_t largest_free() const;
  /// The most lines taken at one time.
  [[nodiscard]] std::int64_t peak_lines() const { return peak_; }
  [[nodiscard]] std::int64_t lines() const { return lines_; }

 private:
  struct Segment {
    std::int64_t first, lines, last_use;
    bool taken;
  };
  /// Banks of the range in which something is taken.
  [[nodiscard]] std::int64_t shared_banks(std::int64_t first, std::int64_t lines) const;
  void occupy(std::int64_t first, std::int64_t lines);
  void merge();

  std::int64_t lines_, lines_per_bank_;
  std::int64_t taken_ = 0, peak_ = 0;
  std::vector<Segment> segments_;  // sorted, covers everything
};

}  // namespace tessera::compiler
