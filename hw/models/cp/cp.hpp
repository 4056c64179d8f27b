// The command processor's SystemC module: FETCH (AXI read manager, nb_transport) and the control port (b_transport and
// transport_dbg, generated register offsets) around CpCore; knows who owns each cycle in which a queue's unit has
// nothing in flight. Leaves out: values, sections and host steps (hw/platform).
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <systemc>
#include <utility>
#include <vector>

#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

#include "hw/models/cp/cp_core.hpp"
#include "hw/models/unit/issue.hpp"
#include "hw/platform/run_result.hpp"
#include "hw/tlm/agenda.hpp"
#include "hw/tlm/payload_pool.hpp"

namespace tessera::hw {

enum class CpState : std::uint8_t { running, quiet, stuck };

/// What the chip around a core wants to know. Called in phase evaluate of the cycle in question.
class CpListener {
 public:
  virtual ~CpListener() = default;
  /// An instruction finishes in this cycle (record complete but for `section`): its values become visible now.
  virtual void on_finish(int core, const isa::Instruction& instruction, const InstructionRecord& record) = 0;
  /// A signal to a global semaphore is issued in this cycle.
  virtual void on_global_signal(int core, const isa::Signal& signal) = 0;
  /// After every step: quiet (section done), stuck, or running.
  virtual void on_state(int core, CpState state) = 0;
};

class Cp : public sc_core::sc_module, public IssueSource {
 public:
  using ReadWord = CpCore::ReadWord;
  /// Checks an instruction against the given limits of the base registers.
  using Check = std::function<isa::FaultCause(const isa::Instruction&, const std::array<std::uint64_t, 8>& limits,
                                              std::string& text)>;

  Cp(const sc_core::sc_module_name& name, int core, const CpConfig& config, Check check, ReadWord read_word,
     CpListener& listener);

  tlm_utils::simple_initiator_socket<Cp> fetch_isock;
  tlm_utils::simple_target_socket<Cp> control_tsock;

  void attach(int queue, IssueTarget& unit) { units_[static_cast<std::size_t>(queue)] = &unit; }
  /// A global increment that arrives in cycle n.
  void remote_signal(Cycles n, const isa::Signal& signal);
  [[nodiscard]] bool remote_pending() const { return !remote_.empty(); }

  // IssueSource
  void finished(int queue, Cycles finish, const StallCounts& stalls, Bytes axi) override;
  void wake(Cycles cycle) override;
  void bus_error(int queue) override;

  /// Ideal runs: see CpCore::replace_semaphores.
  void replace_semaphores(std::function<bool(int queue)> blocked) { core_.replace_semaphores(std::move(blocked)); }
  /// Ideal runs: something that `blocked` looks at changes until cycle n; called in phase evaluate.
  void step_until(Cycles n);

  /// Charges the cycles up to `n` (a section's end, or the end of a host step with cause host).
  void account_until(Cycles n);
  void account_host(Cycles from, Cycles to);
  [[nodiscard]] const UnitAccount& account(int queue) const { return accounts_[static_cast<std::size_t>(queue)]; }
  /// Instructions of the queue started in this section.
  [[nodiscard]] std::uint32_t started(int queue) const { return next_index_[static_cast<std::size_t>(queue)]; }
  [[nodiscard]] Cycles fetch_busy() const { return fetch_busy_; }
  [[nodiscard]] Bytes fetch_bytes() const { return fetch_bytes_; }
  [[nodiscard]] const CpCore& core() const { return core_; }
  [[nodiscard]] const std::array<std::uint64_t, 8>& bases() const { return bases_; }

 private:
  struct InFlight {
    isa::Instruction instruction;
    InstructionRecord record;
  };
  struct Finish {
    Cycles cycle = -1;
    StallCounts stalls{};
    Bytes axi = 0;
  };
  enum class Owner : std::uint8_t { unit, idle, stall };

  void on_evaluate();
  void end_reset();
  CpInputs gather(Cycles n);
  void finish(Cycles n, std::uint32_t done);
  void start(Cycles n, std::uint32_t mask);
  bool raise_ar(const CpOutputs& out);
  void own(const CpInputs& in, const CpOutputs& out);
  [[nodiscard]] StallCause semaphore_cause(int queue, int semaphore) const;
  tlm::tlm_sync_enum nb_bw(tlm::tlm_generic_payload& trans, tlm::tlm_phase& phase, sc_core::sc_time& delay);
  void b_transport(tlm::tlm_generic_payload& trans, sc_core::sc_time& delay);
  unsigned transport_dbg(tlm::tlm_generic_payload& trans);
  [[nodiscard]] bool read_register(std::uint32_t offset, std::uint32_t& value, bool side_effects);
  [[nodiscard]] bool write_register(std::uint32_t offset, std::uint32_t value);
  void latch_counters();

  int core_id_;
  CpConfig config_;
  CpListener& listener_;
  std::array<std::uint64_t, 8> bases_{};
  std::array<std::uint64_t, 8> limits_{};
  CpCore core_;
  std::array<IssueTarget*, kQueues> units_{};
  tlm_base::PayloadPool pool_;

  // Inputs of the next step
  std::array<Finish, kQueues> finishes_;
  std::deque<std::pair<Cycles, isa::Signal>> remote_;
  int beat_queue_ = -1;
  bool handshake_ = false;
  std::uint32_t bus_error_ = 0;
  std::array<const tlm::tlm_generic_payload*, kQueues> bursts_{};  // outstanding, to find a beat's queue

  std::array<std::deque<InFlight>, kQueues> in_flight_;
  std::array<std::uint32_t, kQueues> next_index_{};

  // Attribution of cycles [accounted_, next step)
  Cycles accounted_ = 0;
  bool running_ = false;
  Cycles step_until_ = -1;
  std::array<Owner, kQueues> owner_{};
  std::array<StallCause, kQueues> cause_{};
  bool was_fetching_ = false;
  std::array<UnitAccount, kQueues> accounts_;
  std::array<StallCounts, kQueues> head_stalls_{};
  Cycles fetch_busy_ = 0;
  Bytes fetch_bytes_ = 0;
  // Signals still to come in this section, by queue (kQueues: from another core). Only for attribution: the waits of a
  // head are charged to the lowest queue that still has signals for it.
  std::array<std::array<int, kQueues + 1>, kSemaphores> pending_signals_{};
  std::array<int, kSemaphores> last_signaller_{};

  // Registers without a home in the core
  std::array<std::uint64_t, 16> ring_bases_{};
  std::array<std::uint32_t, 16> ring_words_{};
  CpState state_ = CpState::quiet;
  std::uint32_t irq_status_ = 0, irq_enable_ = 0, counter_select_ = 0, cycle_latch_ = 0;
  std::array<Cycles, 1 + kStallCauses> counters_{};  // of the selected unit, as latched: busy, then each cause
  Cycles doorbell_ = 0;
  tlm_base::Process evaluate_;
};

}  // namespace tessera::hw
