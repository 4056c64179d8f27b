#include "compiler/allocate/sram_space.hpp"

#include <algorithm>
#include <tuple>

#include "hw/common/error.hpp"

namespace tessera::compiler {

SramSpace::SramSpace(std::int64_t lines, std::int64_t lines_per_bank, BankChoice choice)
    : lines_(lines), lines_per_bank_(lines_per_bank), choice_(choice), segments_{{0, lines, -1, false, false}} {
  TESSERA_CHECK(lines > 0 && lines_per_bank > 0, "SRAM of ", lines, " lines, ", lines_per_bank, " a bank");
  banks_.resize(static_cast<std::size_t>(bank(lines - 1) + 1));
}

LineRange SramSpace::take(std::int64_t lines, Fit fit, const LineRange& apart_from, std::int64_t half_lines) {
  TESSERA_CHECK(lines > 0, "an empty SRAM buffer");
  const Wish wish{lines, fit, apart_from, half_lines, fit == Fit::aside && 2 * taken_ <= lines_};
  Choice best;
  for (std::size_t begin = 0; begin < segments_.size();) {
    if (segments_[begin].taken) {
      ++begin;
      continue;
    }
    std::size_t end = begin;
    while (end < segments_.size() && !segments_[end].taken) ++end;
    choose(wish, begin, end, best);
    begin = end;
  }
  if (best.first < 0) return {-1, 0};
  occupy(best.first, lines, fit == Fit::apart);
  taken_ += lines;
  peak_ = std::max(peak_, taken_);
  return {best.first, lines};
}

std::int64_t SramSpace::next_bank(std::int64_t line) const {
  return (line + lines_per_bank_ - 1) / lines_per_bank_ * lines_per_bank_;
}

void SramSpace::choose(const Wish& wish, std::size_t begin, std::size_t end, Choice& best) const {
  const std::int64_t run_first = segments_[begin].first;
  const std::int64_t run_end = segments_[end - 1].first + segments_[end - 1].lines;
  const auto offer = [&](std::int64_t first) {
    if (first >= run_first && first + wish.lines <= run_end) consider(wish, first, begin, end, best);
  };
  if (wish.fit == Fit::low) {
    offer(run_first);
    return;
  }
  const bool all_banks = wish.fit == Fit::apart || choice_ != BankChoice::any;
  const bool next_banks =
      !all_banks && (wish.beside_maps || wish.lines >= lines_per_bank_ || wish.apart_from.first >= 0);
  for (std::size_t i = begin; i < end; ++i) {
    const Segment& s = segments_[i];
    // What holds a segment that was used later than the best place is no better.
    const bool late = wish.fit != Fit::apart && best.first >= 0 && !best.meets && s.last_use > best.age;
    if (!late) {
      offer(s.first);
      offer(s.first + s.lines - wish.lines);
    }
    if (next_banks) offer(next_bank(s.first));
  }
  if (!all_banks) return;
  const std::int64_t front = next_bank(wish.half_lines) - wish.half_lines;  // the part of a bank in front of the range
  for (std::int64_t at = bank(run_first) * lines_per_bank_; at < run_end; at += lines_per_bank_) {
    offer(at);
    if (wish.half_lines > 0) offer(at + front);
  }
}

/// A place is better when it meets `apart_from` in no bank, then when its latest earlier use is older (oldest, aside),
/// then when its banks hold less, then when those were left alone for longer (rested), then when it or its second half
/// begins a bank, then lower.
void SramSpace::consider(const Wish& wish, std::int64_t first, std::size_t begin, std::size_t end, Choice& best) const {
  Choice choice;
  choice.first = first;
  const std::int64_t last = first + wish.lines - 1;
  const LineRange& other = wish.apart_from;
  choice.meets =
      other.first >= 0 && bank(first) <= bank(other.first + other.lines - 1) && bank(other.first) <= bank(last);
  const auto lost = [&] {
    return best.first >= 0 && std::make_pair(choice.meets, choice.age) > std::make_pair(best.meets, best.age);
  };
  const bool streamed = wish.fit == Fit::oldest || wish.fit == Fit::aside;
  if (streamed) {
    choice.age = -1;
    const auto before = [](const Segment& s, std::int64_t line) { return s.first + s.lines <= line; };
    const auto from = segments_.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto to = segments_.begin() + static_cast<std::ptrdiff_t>(end);
    for (auto s = std::lower_bound(from, to, first, before); s != to && s->first <= last && !lost(); ++s) {
      choice.age = std::max(choice.age, s->last_use);
    }
  }
  if (lost()) return;
  const bool emptier = streamed && choice_ != BankChoice::any;
  const bool maps = wish.beside_maps && !emptier;
  if (wish.fit == Fit::apart || maps || emptier) choice.shared = shared_banks(first, wish.lines, maps);
  if (streamed && choice_ == BankChoice::rested) choice.latest = latest_use(first, wish.lines);
  choice.aligned =
      (wish.half_lines > 0 || wish.lines >= lines_per_bank_) && (first + wish.half_lines) % lines_per_bank_ == 0;
  const auto rank = [](const Choice& c) {
    return std::make_tuple(c.meets, c.age, c.shared, c.latest, !c.aligned, c.first);
  };
  if (best.first < 0 || rank(choice) < rank(best)) best = choice;
}

std::int64_t SramSpace::shared_banks(std::int64_t first, std::int64_t lines, bool maps) const {
  std::int64_t shared = 0;
  for (std::int64_t b = bank(first); b <= bank(first + lines - 1); ++b) {
    const Bank& held = banks_[static_cast<std::size_t>(b)];
    shared += (maps ? held.maps : held.taken) > 0 ? 1 : 0;
  }
  return shared;
}

std::int64_t SramSpace::latest_use(std::int64_t first, std::int64_t lines) const {
  std::int64_t latest = -1;
  for (std::int64_t b = bank(first); b <= bank(first + lines - 1); ++b) {
    latest = std::max(latest, banks_[static_cast<std::size_t>(b)].last_use);
  }
  return latest;
}

void SramSpace::count(const Segment& segment, int by) {
  for (std::int64_t b = bank(segment.first); b <= bank(segment.first + segment.lines - 1); ++b) {
    Bank& held = banks_[static_cast<std::size_t>(b)];
    held.taken += by;
    if (segment.map) held.maps += by;
  }
}

void SramSpace::occupy(std::int64_t first, std::int64_t lines, bool map) {
  std::vector<Segment> next;
  next.reserve(segments_.size() + 2);
  bool placed = false;
  for (const Segment& s : segments_) {
    const std::int64_t end = s.first + s.lines;
    if (end <= first || s.first >= first + lines) {
      next.push_back(s);
      continue;
    }
    TESSERA_CHECK(!s.taken, "SRAM lines ", s.first, "..", end, " are taken twice");
    if (s.first < first) next.push_back({s.first, first - s.first, s.last_use, false, false});
    if (!placed) {
      next.push_back({first, lines, -1, true, map});
      count(next.back(), 1);
      placed = true;
    }
    if (end > first + lines) next.push_back({first + lines, end - first - lines, s.last_use, false, false});
  }
  segments_ = std::move(next);
}

void SramSpace::release(const LineRange& range, std::int64_t now) {
  for (Segment& s : segments_) {
    if (s.first == range.first && s.taken) {
      TESSERA_CHECK(s.lines == range.lines, "release of ", range.lines, " lines at ", range.first, ", taken ", s.lines);
      count(s, -1);
      for (std::int64_t b = bank(s.first); b <= bank(s.first + s.lines - 1); ++b) {
        banks_[static_cast<std::size_t>(b)].last_use = now;
      }
      s.taken = false;
      s.last_use = now;
      taken_ -= s.lines;
      merge();
      return;
    }
  }
  TESSERA_CHECK(false, "release of SRAM lines at ", range.first, " that nobody took");
}

void SramSpace::merge() {
  std::vector<Segment> next;
  next.reserve(segments_.size());
  for (const Segment& s : segments_) {
    if (!next.empty() && !s.taken && !next.back().taken && next.back().last_use == s.last_use) {
      next.back().lines += s.lines;
    } else {
      next.push_back(s);
    }
  }
  segments_ = std::move(next);
}

std::int64_t SramSpace::free_lines() const { return lines_ - taken_; }

std::int64_t SramSpace::largest_free() const {
  std::int64_t largest = 0, run = 0;
  for (const Segment& s : segments_) {
    run = s.taken ? 0 : run + s.lines;
    largest = std::max(largest, run);
  }
  return largest;
}

}  // namespace tessera::compiler
