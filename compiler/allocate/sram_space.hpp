// Where buffers lie in one core's SRAM while the schedule is written down in program order. Lifetimes come from the
// order itself: a buffer is taken, used, released; what was released may be taken again at once, and the dependence
// synthesis (compiler/emit) makes the new writer wait for the old readers. So placement never decides what is right,
// only how far LOAD can run ahead: `oldest` picks the range whose last use is longest ago (a ring around the maps).
#pragma once

#include <cstdint>
#include <vector>

namespace tessera::compiler {

enum class Fit : std::uint8_t {
  low,     // lowest address: long-lived maps stay together
  apart,   // as few banks as possible in common with what is taken, then the lowest address
  oldest,  // least recently used: streamed buffers, prefetch distance as long as the SRAM permits
  aside    // the same; of ranges as old, while half of the SRAM is free, one in whose banks no map (apart) lies
};

/// Of ranges that were used as long ago (oldest, aside), which is taken.
enum class BankChoice : std::uint8_t {
  any,      // the lowest
  emptier,  // one in whose banks least is taken
  rested    // the same; of those, one whose banks nobody has used for longest
};

/// A range of SRAM lines.
struct LineRange {
  std::int64_t first = 0;
  std::int64_t lines = 0;
};

class SramSpace {
 public:
  SramSpace(std::int64_t lines, std::int64_t lines_per_bank, BankChoice choice = BankChoice::any);

  /// Takes `lines` lines; first = -1 when no free range is long enough. Ranges of at least a bank start on a bank where
  /// one that does fits equally well. Where there is a choice, in no bank of `apart_from`. `half_lines` > 0: halves
  /// that are used at the same time; where it costs no bank, the second, which begins there, begins a bank (apart).
  [[nodiscard]] LineRange take(std::int64_t lines, Fit fit, const LineRange& apart_from = {-1, 0},
                               std::int64_t half_lines = 0);
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
    bool taken, map;
  };
  /// Ranges and maps in it, and when the last one was released.
  struct Bank {
    int taken = 0, maps = 0;
    std::int64_t last_use = -1;
  };
  /// What is asked for, and a place for it.
  struct Wish {
    std::int64_t lines;
    Fit fit;
    LineRange apart_from;
    std::int64_t half_lines;
    bool beside_maps;  // costs nothing to avoid
  };
  struct Choice {
    std::int64_t first = -1, age = 0, shared = 0, latest = 0;
    bool aligned = false, meets = false;
  };
  /// Of the free segments [begin, end), which lie one behind the other.
  void choose(const Wish& wish, std::size_t begin, std::size_t end, Choice& best) const;
  void consider(const Wish& wish, std::int64_t first, std::size_t begin, std::size_t end, Choice& best) const;
  [[nodiscard]] std::int64_t bank(std::int64_t line) const { return line / lines_per_bank_; }
  [[nodiscard]] std::int64_t next_bank(std::int64_t line) const;
  /// Banks of the range in which something, or a map, is taken.
  [[nodiscard]] std::int64_t shared_banks(std::int64_t first, std::int64_t lines, bool maps) const;
  /// When the banks of the range were last used by what has been released.
  [[nodiscard]] std::int64_t latest_use(std::int64_t first, std::int64_t lines) const;
  void count(const Segment& segment, int by);
  void occupy(std::int64_t first, std::int64_t lines, bool map);
  void merge();

  std::int64_t lines_, lines_per_bank_;
  BankChoice choice_;
  std::int64_t taken_ = 0, peak_ = 0;
  std::vector<Segment> segments_;  // sorted, covers everything
  std::vector<Bank> banks_;
};

}  // namespace tessera::compiler
