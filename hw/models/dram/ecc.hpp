// In-band ECC: 8 check bytes for 64 data bytes lie in the last eighth of the channel's own address space, so that 64
// check bytes (a check line) serve 512 bytes of data. The controller holds a few check lines; this class knows which.
// Leaves out: error injection; lines that are still dirty at the end of a run.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "hw/common/units.hpp"

namespace tessera::dram {

class CheckLines {
 public:
  static constexpr std::uint64_t kDataBytes = 512;
  static constexpr std::size_t kLines = 16;

  explicit CheckLines(Bytes capacity) : base_(static_cast<std::uint64_t>(capacity) / 8 * 7) {}

  struct Access {
    bool held;                             // no further burst
    std::uint64_t line;                    // address of the check line
    std::optional<std::uint64_t> written;  // line that had to make room and was changed
  };
  /// A 64-byte data access; the least recently used line makes room.
  Access access(std::uint64_t address, bool write) {
    const std::uint64_t line = base_ + address % base_ / kDataBytes * 64;
    std::size_t victim = 0;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      if (lines_[i].used != 0 && lines_[i].address == line) {
        lines_[i].used = ++time_;
        lines_[i].dirty = lines_[i].dirty || write;
        return {true, line, std::nullopt};
      }
      if (lines_[i].used < lines_[victim].used) victim = i;
    }
    Access result{false, line, std::nullopt};
    if (lines_[victim].dirty) result.written = lines_[victim].address;
    lines_[victim] = {line, ++time_, write};
    return result;
  }

 private:
  struct Line {
    std::uint64_t address = 0;
    std::uint64_t used = 0;  // 0: empty
    bool dirty = false;
  };
  std::uint64_t base_;
  std::array<Line, kLines> lines_{};
  std::uint64_t time_ = 0;
};

}  // namespace tessera::dram
