// The verilated core (hw/rtl) as a SystemC module: the AXI initiator sockets of the models' core, driven in the same
// phases of a cycle (hw/tlm/clock.hpp), so that the same MemorySystem stands behind both. Moves real data: R beats are
// read from DramStorage when they are delivered, W beats are written when they are on the bus. Leaves out: programs
// (rtl_run.hpp). The control port takes clock edges, but no simulated time.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <systemc>
#include <utility>
#include <vector>

#include <tlm_utils/simple_initiator_socket.h>

#include "hw/common/units.hpp"
#include "hw/cosim/verilated_core.hpp"
#include "hw/models/dram/storage.hpp"
#include "hw/models/interconnect/memory_system.hpp"
#include "hw/tlm/axi.hpp"
#include "hw/tlm/payload_pool.hpp"
#include "isa/chip.hpp"

namespace tessera::cosim {

/// The units of the slice, in the order of its bit vectors (tessera_core_pkg.sv).
inline constexpr std::array<std::uint8_t, kUnits> kQueueOfUnit = {0, 1, 2, 3, 6, 7, 8};  // isa::QueueId
inline constexpr std::array<const char*, kUnits> kUnitNames = {"load", "store", "conv0",  "conv1",
                                                               "gemm", "edp",   "reorder"};

/// What happened that a test wants to have happened.
struct Coverage {
  std::array<std::int64_t, tlm_base::kManagersPerCore> refused{};  // AR or AW not accepted in the cycle it was raised
  std::array<std::int64_t, kUnits> full_queue{};                   // cycles without room for the words to come
  std::int64_t pairs_on_a_bank = 0;                                // cycles in which two units wanted one bank
  std::int64_t triples_on_a_bank = 0;                              // cycles in which three or more did
  std::int64_t cycles = 0;                                         // clocked in simulated time
  void add(const Coverage& other);
};

/// Called in phase evaluate of the cycle in question.
class RtlListener {
 public:
  virtual ~RtlListener() = default;
  virtual void on_start(int unit, Cycles n) = 0;
  virtual void on_finish(int unit, Cycles n) = 0;
  /// The section is over (quiet, or a soft reset is done) or nothing can move any more (stuck).
  virtual void on_stop(bool stuck, Cycles n) = 0;
  /// An assertion of the RTL failed: the run is over.
  virtual void on_assertion(const std::string& text, Cycles n) = 0;
};

class RtlCore : public sc_core::sc_module {
 public:
  SC_HAS_PROCESS(RtlCore);
  RtlCore(const sc_core::sc_module_name& name, const isa::ChipConfig& chip, hw::DramStorage& dram,
          RtlListener& listener);

  tlm_utils::simple_initiator_socket_tagged<RtlCore> fetch_isock;
  tlm_utils::simple_initiator_socket_tagged<RtlCore> load_isock;
  tlm_utils::simple_initiator_socket_tagged<RtlCore> store_isock;

  /// Whose bursts wait for what is asked here, for the counters.
  void connect(hw::MemorySystem& memory) { memory_ = &memory; }

  /// Calls it in each cycle that is clocked, after its handshakes.
  void observe(std::function<void(Cycles n, const WavePins& pins)> wave) { wave_ = std::move(wave); }

  /// Control port, between sections: one clock edge each.
  void write_register(std::uint32_t offset, std::uint32_t value);
  /// Phase deliver of a cycle in which a section runs: with the edge of this cycle.
  void write_register_in_cycle(std::uint32_t offset, std::uint32_t value);
  [[nodiscard]] bool running() const { return running_; }
  [[nodiscard]] std::uint32_t read_register(std::uint32_t offset) { return rtl_.read_register(offset); }
  /// After the doorbell: the current cycle is the section's cycle 0.
  void run();

  [[nodiscard]] std::vector<std::uint8_t> sram() const { return rtl_.sram(); }
  [[nodiscard]] const Coverage& coverage() const { return coverage_; }
  /// Cycles with a fetch outstanding.
  [[nodiscard]] Cycles fetch_busy() const { return fetch_busy_; }
  /// Bytes on the data channel of a manager.
  [[nodiscard]] Bytes axi_bytes(tlm_base::Manager manager) const {
    return axi_bytes_[static_cast<std::size_t>(manager)];
  }

 private:
  struct Burst {
    const tlm::tlm_generic_payload* trans = nullptr;
    std::uint64_t address = 0;
    int beats = 0;
    int moved = 0;
  };

  void on_evaluate();
  void on_commit();
  void offer(std::size_t manager, const AddressPins& request);
  void take_write_beat(const CoreOutputs& out);
  void observe(Cycles n, const CoreOutputs& out);
  [[nodiscard]] std::uint8_t wait_of(tlm_base::Manager manager);
  tlm::tlm_sync_enum nb_bw(int manager, tlm::tlm_generic_payload& trans, tlm::tlm_phase& phase,
                           sc_core::sc_time& delay);

  hw::DramStorage& dram_;
  RtlListener& listener_;
  hw::MemorySystem* memory_ = nullptr;
  std::size_t data_bytes_;  // of a beat
  VerilatedCore rtl_;
  CoreInputs in_;  // of this cycle
  tlm_base::PayloadPool pool_;
  std::array<std::deque<Burst>, tlm_base::kManagersPerCore> bursts_;  // read: awaiting beats; write: awaiting W
  std::array<bool, tlm_base::kManagersPerCore> held_{};               // raised and refused, not yet accepted
  std::array<Bytes, tlm_base::kManagersPerCore> axi_bytes_{};
  Coverage coverage_;
  std::function<void(Cycles, const WavePins&)> wave_;
  Cycles fetch_busy_ = 0;
  bool fetch_ends_ = false;  // the last beat of a fetch came in this cycle
  bool running_ = false;
  bool reset_done_ = false;  // a soft reset ends in this cycle
  sc_core::sc_event evaluate_event_;
  sc_core::sc_event commit_event_;
};

}  // namespace tessera::cosim
