#include "hw/reference/race.hpp"

#include <algorithm>
#include <tuple>

#include "hw/common/error.hpp"

namespace tessera::reference {

using semantics::Range;

RaceChecker::RaceChecker(const Section& section, const HappensBefore& order, const isa::ChipConfig& chip,
                         const BaseAddresses& bases)
    : section_(section), order_(order), chip_(chip), bases_(bases), sram_(static_cast<std::size_t>(chip.cores)) {}

RaceChecker::Space& RaceChecker::space_of(InstructionId id, const Range& range) {
  return range.dram ? dram_ : sram_[section_.queues()[id.queue].core];
}

std::int64_t RaceChecker::offset_of(const Range& range) const {
  return range.dram ? static_cast<std::int64_t>(bases_[range.base_register]) : 0;
}

void RaceChecker::access(InstructionId id, const std::vector<Range>& ranges) {
  for (const bool writes : {false, true}) {  // an instruction reads before it writes
    for (const Range& range : ranges) {
      if (range.write != writes) continue;
      const std::int64_t offset = offset_of(range);
      Space& space = space_of(id, range);
      if (writes) {
        write(space, range.begin + offset, range.end + offset, id, range);
      } else {
        read(space, range.begin + offset, range.end + offset, id, range);
      }
    }
  }
}

void RaceChecker::split(Space& space, std::int64_t at) {
  auto it = space.upper_bound(at);
  if (it == space.begin()) return;
  --it;
  if (it->first == at || it->second.end <= at) return;
  Piece right = it->second;
  it->second.end = at;
  space.emplace_hint(std::next(it), at, std::move(right));
}

void RaceChecker::read(Space& space, std::int64_t begin, std::int64_t end, InstructionId id, const Range& range) {
  split(space, begin);
  split(space, end);
  auto it = space.lower_bound(begin);
  std::int64_t at = begin;
  while (at < end) {
    if (it == space.end() || it->first > at) {  // nobody was here yet
      const std::int64_t stop = it == space.end() ? end : std::min(end, it->first);
      Piece piece;
      piece.end = stop;
      piece.readers.push_back(id);
      space.emplace_hint(it, at, std::move(piece));
      at = stop;
      continue;
    }
    Piece& piece = it->second;
    if (piece.written && !order_.before(piece.writer, id)) report(piece.writer, true, id, range);
    const auto same =
        std::find_if(piece.readers.begin(), piece.readers.end(), [&](InstructionId r) { return r.queue == id.queue; });
    if (same == piece.readers.end()) {
      piece.readers.push_back(id);
    } else {
      same->index = id.index;
    }
    at = piece.end;
    ++it;
  }
}

void RaceChecker::write(Space& space, std::int64_t begin, std::int64_t end, InstructionId id, const Range& range) {
  split(space, begin);
  split(space, end);
  const auto first = space.lower_bound(begin);
  auto it = first;
  if (first != space.end() && first->first == begin && first->second.end == end) {
    // The usual case, a piece written again as a whole: no new node.
    check_before_write(first->second, id, range);
    first->second.writer = id;
    first->second.written = true;
    first->second.readers.clear();
    return;
  }
  for (; it != space.end() && it->first < end; ++it) {
    check_before_write(it->second, id, range);
  }
  space.erase(first, it);
  Piece piece;
  piece.end = end;
  piece.writer = id;
  piece.written = true;
  space.emplace(begin, std::move(piece));
}

void RaceChecker::check_before_write(const Piece& piece, InstructionId id, const Range& range) const {
  const auto unordered = [&](InstructionId earlier) {
    // An instruction may touch its own bytes again (in place, repeated rows); check_own_ranges decides which.
    return !(earlier.queue == id.queue && earlier.index == id.index) && !order_.before(earlier, id);
  };
  if (piece.written && unordered(piece.writer)) report(piece.writer, true, id, range);
  for (const InstructionId& reader : piece.readers) {
    if (unordered(reader)) report(reader, false, id, range);
  }
}

void RaceChecker::report(InstructionId earlier, bool earlier_writes, InstructionId id, const Range& range) const {
  // The earlier instruction's range is not kept; its footprint tells it again.
  std::string other = "the same bytes";
  for (const Range& r : semantics::footprint(section_.at(earlier), chip_)) {
    const std::int64_t mine = offset_of(range);
    const std::int64_t its = offset_of(r);
    if (r.dram == range.dram && r.write == earlier_writes && r.begin + its < range.end + mine &&
        range.begin + mine < r.end + its) {
      other = detail::concat(semantics::range_text(r), " (", r.operand, ")");
      break;
    }
  }
  throw ProgramError(detail::concat("race in section ", section_.name(), ": ", section_.text(earlier),
                                    earlier_writes ? " writes " : " reads ", other, " and ", section_.text(id),
                                    range.write ? " writes " : " reads ", semantics::range_text(range), " (",
                                    range.operand, "); neither queue order nor semaphores order them"));
}

namespace {
bool hulls_meet(const std::vector<Range>& a, const std::vector<Range>& b) {
  const auto hull = [](const std::vector<Range>& ranges, bool dram) {
    std::pair<std::int64_t, std::int64_t> h{INT64_MAX, INT64_MIN};
    for (const Range& r : ranges) {
      if (r.dram == dram) h = {std::min(h.first, r.begin), std::max(h.second, r.end)};
    }
    return h;
  };
  for (const bool dram : {false, true}) {
    const auto x = hull(a, dram);
    const auto y = hull(b, dram);
    if (x.first < y.second && y.first < x.second) return true;
  }
  return false;
}
}  // namespace

bool find_conflict(const std::vector<Range>& a, const std::vector<Range>& b, RangePair& found) {
  const auto before = [](const Range& x, const Range& y) {
    return std::tie(x.dram, x.base_register, x.begin) < std::tie(y.dram, y.base_register, y.begin);
  };
  if (!hulls_meet(a, b)) return false;
  std::vector<Range> sorted = b;
  std::sort(sorted.begin(), sorted.end(), before);
  std::int64_t longest = 0;
  for (const Range& r : sorted) longest = std::max(longest, r.end - r.begin);
  for (const Range& x : a) {
    Range from = x;
    from.begin -= longest;
    for (auto it = std::lower_bound(sorted.begin(), sorted.end(), from, before); it != sorted.end(); ++it) {
      if (it->dram != x.dram || it->base_register != x.base_register || it->begin >= x.end) break;
      if (semantics::conflict(x, *it)) {
        found = {x, *it};
        return true;
      }
    }
  }
  return false;
}

namespace {

/// Reads that may lie on the result because each element is read before its own place is written.
bool in_place(const isa::Instruction& instruction, const std::string& operand) {
  if (const auto* edp = std::get_if<isa::Edp>(&instruction.body)) {
    if (operand == "edp.a") return edp->mode == isa::EdpMode::elementwise && edp->a == edp->out;
    if (operand == "edp.b") return edp->b_broadcast == 0 && edp->b == edp->out;
  }
  if (const auto* conv = std::get_if<isa::Conv>(&instruction.body)) {
    return operand == "conv.residual" && conv->residual == conv->out;
  }
  return false;
}

}  // namespace

void check_own_ranges(const Section& section, InstructionId id, const std::vector<Range>& ranges,
                      const std::vector<Range>& predecessor) {
  const isa::Instruction& instruction = section.at(id);
  std::vector<Range> reads;
  std::vector<Range> writes;
  for (const Range& r : ranges) {
    if (r.write) {
      writes.push_back(r);
    } else if (!in_place(instruction, r.operand)) {
      reads.push_back(r);
    }
  }
  RangePair pair;
  if (find_conflict(reads, writes, pair)) {
    throw ProgramError(detail::concat("race in section ", section.name(), ": ", section.text(id), " reads ",
                                      semantics::range_text(pair.a), " (", pair.a.operand, ") and writes ",
                                      semantics::range_text(pair.b), " (", pair.b.operand, ") itself"));
  }
  if (!instruction.header.overlap || id.index == 0) return;
  if (find_conflict(ranges, predecessor, pair)) {
    throw ProgramError(detail::concat(
        "race in section ", section.name(), ": ", section.text(id), " has its overlap bit set, but ",
        pair.a.write ? "writes " : "reads ", semantics::range_text(pair.a), " (", pair.a.operand, "), which ",
        section.text({id.queue, id.index - 1}), pair.b.write ? " writes" : " reads", " (", pair.b.operand, ")"));
  }
}

}  // namespace tessera::reference
