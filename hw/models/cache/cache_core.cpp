#include "hw/models/cache/cache_core.hpp"

#include "hw/common/error.hpp"

namespace tessera::hw {

CacheCore::CacheCore(const CacheConfig& config) : config_(config) {
  TESSERA_CHECK(config.sets() > 0 && config.sectors() >= 1 && config.sectors() <= 32, "cache of ", config.size_bytes,
                " bytes, ", config.ways, " ways, lines of ", config.line_bytes);
  lines_.resize(static_cast<std::size_t>(config.sets() * config.ways));
}

int CacheCore::bank_of(std::uint64_t address) const {
  return static_cast<int>(address / static_cast<std::uint64_t>(config_.line_bytes) %
                          static_cast<std::uint64_t>(config_.banks));
}

CacheCore::Line* CacheCore::find(std::uint64_t number) {
  const auto set = static_cast<std::size_t>(number % static_cast<std::uint64_t>(config_.sets()));
  Line* first = &lines_[set * static_cast<std::size_t>(config_.ways)];
  for (Line* line = first; line != first + config_.ways; ++line) {
    if (line->used != 0 && line->number == number) return line;
  }
  return nullptr;
}

// The least recently used line of the set that waits for nothing; empty ones first. nullptr: all wait.
CacheCore::Line* CacheCore::victim(std::uint64_t number) {
  const auto set = static_cast<std::size_t>(number % static_cast<std::uint64_t>(config_.sets()));
  Line* first = &lines_[set * static_cast<std::size_t>(config_.ways)];
  Line* best = nullptr;
  for (Line* line = first; line != first + config_.ways; ++line) {
    if (line->pending == 0 && (best == nullptr || line->used < best->used)) best = line;
  }
  return best;
}

void CacheCore::fetch(Line& line, std::uint32_t sectors, int first, CacheAccess& access) {
  if (line.pending == 0) ++outstanding_;
  line.pending |= sectors;
  for (int i = 0; i < config_.sectors(); ++i) {
    const int sector = (first + i) % config_.sectors();
    if ((sectors >> sector & 1U) == 0) continue;
    access.fetches.push_back(line.number * static_cast<std::uint64_t>(config_.line_bytes) +
                             static_cast<std::uint64_t>(sector) * 64);
  }
}

CacheAccess CacheCore::access(std::uint64_t address, bool write, bool whole, bool allocate) {
  CacheAccess result;
  const auto line_bytes = static_cast<std::uint64_t>(config_.line_bytes);
  const std::uint64_t number = address / line_bytes;
  const int sector = static_cast<int>(address % line_bytes / 64);
  const std::uint32_t bit = 1U << sector;
  const bool needs_data = !(write && whole);
  const bool full = outstanding_ >= config_.outstanding_misses;
  Line* line = find(number);
  if (line != nullptr) {
    if (((line->valid | line->pending) & bit) == 0) {  // the line is there without this sector
      if (needs_data && full && line->pending == 0) {
        result.outcome = CacheOutcome::blocked;
        return result;
      }
      result.outcome = CacheOutcome::miss;
      if (needs_data) {
        fetch(*line, bit, sector, result);
      } else {
        line->valid |= bit;
      }
    } else {
      result.outcome = (line->valid & bit) != 0 ? CacheOutcome::hit : CacheOutcome::merged;
    }
    line->used = ++time_;
    if (write) line->dirty |= bit;
    return result;
  }
  if (!allocate) {
    result.outcome = CacheOutcome::bypass;
    return result;
  }
  line = needs_data && full ? nullptr : victim(number);
  if (line == nullptr) {
    result.outcome = CacheOutcome::blocked;
    return result;
  }
  for (int s = 0; s < config_.sectors(); ++s) {
    if ((line->dirty >> s & 1U) != 0) {
      result.write_backs.push_back(line->number * line_bytes + static_cast<std::uint64_t>(s) * 64);
    }
  }
  *line = Line{};
  line->number = number;
  line->used = ++time_;
  result.outcome = CacheOutcome::miss;
  if (!write) {
    const auto all = static_cast<std::uint32_t>((std::uint64_t{1} << config_.sectors()) - 1);
    fetch(*line, all, sector, result);
  } else if (whole) {
    line->valid = bit;
  } else {
    fetch(*line, bit, sector, result);
  }
  if (write) line->dirty = bit;
  return result;
}

void CacheCore::fetched(std::uint64_t address) {
  const auto line_bytes = static_cast<std::uint64_t>(config_.line_bytes);
  Line* line = find(address / line_bytes);
  const std::uint32_t bit = 1U << (address % line_bytes / 64);
  TESSERA_CHECK(line != nullptr && (line->pending & bit) != 0, "sector ", address, " was not asked for");
  line->pending &= ~bit;
  line->valid |= bit;
  if (line->pending == 0) --outstanding_;
}

std::int64_t CacheCore::dirty_sectors() const {
  std::int64_t sum = 0;
  for (const Line& line : lines_) sum += __builtin_popcount(line.dirty);
  return sum;
}

}  // namespace tessera::hw
