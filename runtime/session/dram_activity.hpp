// What the DRAM did during a run, for the timeline and the request trace: each channel's trains of data and its
// refreshes in core cycles, and every 64-byte request. An observer: it never changes a cycle.
#pragma once

#include <string>
#include <vector>

#include "hw/models/dram/command.hpp"
#include "hw/models/interconnect/crossing.hpp"
#include "hw/models/interconnect/memory_observer.hpp"
#include "isa/chip.hpp"
#include "runtime/report/report.hpp"

namespace tessera::runtime {

class DramActivity : public dram::CommandObserver, public hw::MemoryObserver {
 public:
  explicit DramActivity(const isa::ChipConfig& chip);

  void on_command(const dram::Command& command) override;
  void on_burst(const hw::BurstRecord& record) override;

  /// Bars for the timeline, in order of time for each channel.
  [[nodiscard]] std::vector<DramSlice> slices();
  /// Requests as `tessera dram` reads them: "CLOCK R|W 0xADDRESS", in the order in which the interconnect took them.
  [[nodiscard]] std::string request_trace();

 private:
  struct Train {
    DramClocks begin = 0, end = 0;
    Bytes bytes = 0;
  };
  void close(int channel);

  hw::ClockCrossing crossing_;
  DramClocks burst_clocks_ = 0, refresh_clocks_ = 0;
  Bytes burst_bytes_ = 0;
  bool fixed_ = false;
  std::vector<Train> open_;  // by channel; bytes == 0: none
  std::vector<DramSlice> slices_;
  std::vector<hw::BurstRecord> bursts_;
};

}  // namespace tessera::runtime
