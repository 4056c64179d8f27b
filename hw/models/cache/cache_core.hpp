// Contents of the system cache: which 64-byte sectors are there, changed, or on their way; which line makes room. Plain
// state without time: the stage in hw/models/interconnect decides when an access happens. Write-back, least recently
// used, sectored, so that a whole sector is written without being fetched. Leaves out: data (functional elsewhere).
#pragma once

#include <cstdint>
#include <vector>

#include "hw/common/units.hpp"

namespace tessera::hw {

struct CacheConfig {
  Bytes size_bytes = 0;  // 0: no cache
  int ways = 8;
  Bytes line_bytes = 64;
  int banks = 4;
  int outstanding_misses = 64;  // lines with sectors on their way

  [[nodiscard]] std::int64_t sets() const { return size_bytes / (ways * line_bytes); }
  [[nodiscard]] int sectors() const { return static_cast<int>(line_bytes / 64); }
};

enum class CacheOutcome : std::uint8_t {
  hit,
  merged,   // the sector is on its way
  miss,     // read: to be fetched; write of a whole sector: placed without a fetch
  bypass,   // not there, and the stream does not allocate
  blocked,  // nothing was changed: no miss may be added, or every way of the set waits for sectors
};

struct CacheAccess {
  CacheOutcome outcome = CacheOutcome::hit;
  std::vector<std::uint64_t> fetches;      // addresses of 64-byte sectors, the one asked for first
  std::vector<std::uint64_t> write_backs;  // changed sectors that make room, before the fetches
};

class CacheCore {
 public:
  explicit CacheCore(const CacheConfig& config);

  /// An access to the sector at `address` (a multiple of 64). `whole`: a write covers all of it.
  [[nodiscard]] CacheAccess access(std::uint64_t address, bool write, bool whole, bool allocate);
  /// A fetched sector has arrived.
  void fetched(std::uint64_t address);

  [[nodiscard]] int bank_of(std::uint64_t address) const;
  [[nodiscard]] int outstanding() const { return outstanding_; }
  /// Changed sectors that still have to go to DRAM.
  [[nodiscard]] std::int64_t dirty_sectors() const;
  [[nodiscard]] const CacheConfig& config() const { return config_; }

 private:
  struct Line {
    std::uint64_t number = 0;                         // address / line_bytes
    std::uint64_t used = 0;                           // order of the last access; 0: empty
    std::uint32_t valid = 0, dirty = 0, pending = 0;  // by sector
  };
  [[nodiscard]] Line* find(std::uint64_t number);
  [[nodiscard]] Line* victim(std::uint64_t number);
  void fetch(Line& line, std::uint32_t sectors, int first, CacheAccess& access);

  const CacheConfig config_;
  std::vector<Line> lines_;  // set x ways
  std::uint64_t time_ = 0;
  int outstanding_ = 0;
};

}  // namespace tessera::hw
