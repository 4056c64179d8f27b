// From the request FIFOs through the clock crossing to the DRAM channels and back.
#pragma once

#include "hw/common/error.hpp"
#include "hw/models/interconnect/memory_core.hpp"

namespace tessera::hw {

class DramPath {
 public:
  explicit DramPath(MemoryCore& core) {
    user_error("/dram/device = ", core.config_.device, ": only \"fixed\" can be simulated by this build");
  }
  void advance(Cycles) {}
  void catch_up(Cycles) {}
  [[nodiscard]] Cycles next_event() const { return kNever; }
  [[nodiscard]] Cycles next_delivery(int) const { return kNever; }
  void delivered(int) {}
  void finished(int) {}
  template <typename F>
  void causes(int, Cycles, Cycles, F&&) {}
  void results(Cycles, MemoryResult&) {}
};

}  // namespace tessera::hw
