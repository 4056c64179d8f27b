#include "compiler/allocate/sram_space.hpp"

#include <algorithm>
#include <tuple>

#include "hw/common/error.hpp"

namespace tessera::compiler {

SramSpace::SramSpace(std::int64_t lines, std::int64_t lines_per_bank)
    : lines_(lines), lines_per_bank_(lines_per_bank), segments_{{0, lines, -1, false}} {
  TESSERA_CHECK(lines > 0 && lines_per_bank > 0, "SRAM of ", lines, " lines, ", lines_per_bank, " a bank");
}

LineRange SramSpace::take(std::int64_t lines, Fit fit, const LineRange& apart_from) {
  TESSERA_CHECK(lines > 0, "an empty SRAM buffer");
  // A candidate is better when it meets `apart_from` in no bank, then when its latest earlier use is older (oldest),
  // then bank-aligned when large, then lower.
  struct Choice {
    std::int64_t first = -1, age = 0, shared = 0;
    bool aligned = false, meets = false;
  } best;
  const auto bank = [&](std::int64_t at) { return at / lines_per_bank_; };
  const auto consider = [&](std::int64_t first, std::size_t begin, std::size_t end) {
    std::int64_t age = -1;
    for (std::size_t i = begin; i < end && segments_[i].first < first + lines; ++i) {
      if (segments_[i].first + segments_[i].lines > first) age = std::max(age, segments_[i].last_use);
    }
    const bool aligned = lines >= lines_per_bank_ && first % lines_per_bank_ == 0;
    const std::int64_t key = fit == Fit::oldest ? age : 0;
    const std::int64_t shared = fit == Fit::apart ? shared_banks(first, lines) : 0;
    const bool meets = apart_from.first >= 0 && bank(first) <= bank(apart_from.first + apart_from.lines - 1) &&
                       bank(apart_from.first) <= bank(first + lines - 1);
    const auto rank = [](const Choice& c) { return std::make_tuple(c.meets, c.age, c.shared, !c.aligned, c.first); };
    const Choice choice{first, key, shared, aligned, meets};
    if (best.first < 0 || rank(choice) < rank(best)) best = choice;
  };
  for (std::size_t begin = 0; begin < segments_.size();) {
    if (segments_[begin].taken) {
      ++begin;
      continue;
    }
    std::size_t end = begin;
    while (end < segments_.size() && !segments_[end].taken) ++end;
    const std::int64_t run_first = segments_[begin].first;
    const std::int64_t run_end = segments_[end - 1].first + segments_[end - 1].lines;
    const auto fits = [&](std::int64_t first) { return first >= run_first && first + lines <= run_end; };
    if (fits(run_first)) {
      if (fit == Fit::low) {
        consider(run_first, begin, end);
      } else {
        for (std::size_t i = begin; i < end; ++i) {
          const std::int64_t first = segments_[i].first;
          if (fits(first)) consider(first, begin, end);
          const std::int64_t tail = first + segments_[i].lines - lines;
          if (fits(tail)) consider(tail, begin, end);
          const std::int64_t next_bank = (first + lines_per_bank_ - 1) / lines_per_bank_ * lines_per_bank_;
          const bool wanted = fit == Fit::apart || lines >= lines_per_bank_ || apart_from.first >= 0;
          if (wanted && fits(next_bank)) consider(next_bank, begin, end);
        }
        if (fit == Fit::apart) {
          for (std::int64_t at = run_first / lines_per_bank_ * lines_per_bank_; at < run_end; at += lines_per_bank_) {
            if (fits(at)) consider(at, begin, end);
          }
        }
      }
    }
    begin = end;
  }
  if (best.first < 0) return {-1, 0};
  occupy(best.first, lines);
  taken_ += lines;
  peak_ = std::max(peak_, taken_);
  return {best.first, lines};
}

std::int64_t SramSpace::shared_banks(std::int64_t first, std::int64_t lines) const {
  std::int64_t shared = 0;
  std::int64_t counted = -1;  // the last bank that was counted
  for (const Segment& s : segments_) {
    if (!s.taken) continue;
    const std::int64_t low = std::max(s.first / lines_per_bank_, first / lines_per_bank_);
    const std::int64_t high =
        std::min((s.first + s.lines - 1) / lines_per_bank_, (first + lines - 1) / lines_per_bank_);
    if (high < low) continue;
    shared += high - std::max(low, counted + 1) + 1;
    counted = high;
  }
  return shared;
}

void SramSpace::occupy(std::int64_t first, std::int64_t lines) {
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
    if (s.first < first) next.push_back({s.first, first - s.first, s.last_use, false});
    if (!placed) {
      next.push_back({first, lines, -1, true});
      placed = true;
    }
    if (end > first + lines) next.push_back({first + lines, end - first - lines, s.last_use, false});
  }
  segments_ = std::move(next);
}

void SramSpace::release(const LineRange& range, std::int64_t now) {
  for (Segment& s : segments_) {
    if (s.first == range.first && s.taken) {
      TESSERA_CHECK(s.lines == range.lines, "release of ", range.lines, " lines at ", range.first, ", taken ", s.lines);
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
