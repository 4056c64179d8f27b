// Traffic of the rest of the chip, as the chip file describes it (traffic.*): a camera that writes its frames evenly,
// and CPU-like random accesses. Sources of 64-byte requests in core cycles; the DRAM path arbitrates them like ports.
// Leaves out: blanking of the camera, dependences between CPU accesses, data.
#pragma once

#include <cstdint>
#include <vector>

#include "hw/common/random.hpp"
#include "hw/common/units.hpp"
#include "hw/models/interconnect/memory_config.hpp"

namespace tessera::hw {

class BackgroundSource {
 public:
  enum class Kind : std::uint8_t { camera, cpu };
  struct Access {
    Cycles due = 0;  // cycle from which it is offered
    std::uint64_t address = 0;
    Bytes bytes = 64;
    bool write = false;
  };

  BackgroundSource(Kind kind, const MemoryConfig& config);
  /// The oldest access that was not taken yet.
  [[nodiscard]] const Access& head() const { return head_; }
  /// It was taken in cycle `now`.
  void take(Cycles now);
  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] Bytes bytes_taken() const { return taken_; }
  [[nodiscard]] std::int64_t requests() const { return requests_; }
  /// Longest time an access waited to be taken.
  [[nodiscard]] Cycles longest_wait() const { return longest_wait_; }

 private:
  void next();

  const Kind kind_;
  const std::int64_t clock_hz_;
  const TrafficConfig config_;
  const Bytes memory_bytes_;
  Random random_;
  std::int64_t frame_ = 0;     // camera
  Bytes frame_bytes_ = 0;      // of this frame, offered so far
  Cycles last_due_ = 0;        // cpu
  std::int64_t fraction_ = 0;  // cpu: of a cycle, in units of 1 / (2 x bytes a second)
  Access head_;
  Bytes taken_ = 0;
  std::int64_t requests_ = 0;
  Cycles longest_wait_ = 0;
};

/// The sources that the configuration asks for, camera first.
[[nodiscard]] std::vector<BackgroundSource> background_sources(const MemoryConfig& config);

}  // namespace tessera::hw
