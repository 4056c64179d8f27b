// Finds accesses to one byte, at least one of them a write, that neither queue order nor semaphores order. Works on
// intervals: for each piece of memory the last writer and the last reader of every queue since.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "hw/reference/order.hpp"
#include "hw/reference/section.hpp"
#include "isa/semantics/footprint.hpp"

namespace tessera::reference {

/// DRAM addresses behind the base registers.
using BaseAddresses = std::array<std::uint64_t, 8>;

class RaceChecker {
 public:
  RaceChecker(const Section& section, const HappensBefore& order, const isa::ChipConfig& chip,
              const BaseAddresses& bases);

  /// Records the accesses of an instruction; calls follow some legal order. ProgramError that names both instructions.
  void access(InstructionId id, const std::vector<semantics::Range>& ranges);

 private:
  struct Piece {
    std::int64_t end = 0;
    InstructionId writer;
    bool written = false;
    std::vector<InstructionId> readers;  // since the write, the last of each queue
  };
  using Space = std::map<std::int64_t, Piece>;  // key: first byte

  [[nodiscard]] Space& space_of(InstructionId id, const semantics::Range& range);
  [[nodiscard]] std::int64_t offset_of(const semantics::Range& range) const;
  static void split(Space& space, std::int64_t at);
  void read(Space& space, std::int64_t begin, std::int64_t end, InstructionId id, const semantics::Range& range);
  void write(Space& space, std::int64_t begin, std::int64_t end, InstructionId id, const semantics::Range& range);
  void check_before_write(const Piece& piece, InstructionId id, const semantics::Range& range) const;
  [[noreturn]] void report(InstructionId earlier, bool earlier_writes, InstructionId id,
                           const semantics::Range& range) const;

  const Section& section_;
  const HappensBefore& order_;
  const isa::ChipConfig& chip_;
  BaseAddresses bases_;
  std::vector<Space> sram_;  // a core
  Space dram_;               // absolute addresses
};

/// First pair of ranges, one of each list, that conflict. The ranges of both lists are behind the same base registers.
struct RangePair {
  semantics::Range a, b;
};
[[nodiscard]] bool find_conflict(const std::vector<semantics::Range>& a, const std::vector<semantics::Range>& b,
                                 RangePair& found);

/// ProgramError if an instruction reads what it writes, unless element by element in place (EDP operand or CONV
/// residual that is the result itself), or if its overlap bit is set and its ranges conflict with its predecessor's.
void check_own_ranges(const Section& section, InstructionId id, const std::vector<semantics::Range>& ranges,
                      const std::vector<semantics::Range>& predecessor);

}  // namespace tessera::reference
