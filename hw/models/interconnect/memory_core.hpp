// The memory system behind the AXI sockets as a clocked core without SystemC: request FIFO per manager, round-robin
// arbitration, the `fixed` test memory or (dram_path.hpp) crossing and DRAM channels, in-order return, and who owns
// each cycle a manager waits. Event-driven: advance() is called only in cycles named by next_event().
// Leaves out: data (functional, hw/models/dram/storage.hpp). Cycle rules: README.md of this folder.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "hw/common/stall.hpp"
#include "hw/common/units.hpp"
#include "hw/models/interconnect/history.hpp"
#include "hw/models/interconnect/memory_config.hpp"
#include "hw/models/interconnect/memory_observer.hpp"
#include "hw/models/interconnect/ring.hpp"
#include "hw/platform/run_result.hpp"

namespace tessera::dram {
class CommandObserver;
}

namespace tessera::hw {

using CauseTotals = std::array<Cycles, kStallCauses>;
inline constexpr int kPortsPerCore = 3;  // fetch, load, store: tlm_base::Manager order

struct BurstRequest {
  std::uint64_t address = 0;
  int beats = 1;  // of axi.data_bytes
  bool write = false;
  void* user = nullptr;
};

/// What the memory system hands over, always from inside advance(), i.e. at the deliver phase of that cycle.
class MemoryListener {
 public:
  virtual ~MemoryListener() = default;
  virtual void on_accept(int port, void* user) = 0;    // handshake of a burst that was refused before
  virtual void on_beat(int port, void* user) = 0;      // an R beat, not the last one
  virtual void on_response(int port, void* user) = 0;  // the last R beat, or B
};

struct MemoryResult {
  std::vector<DramChannelResult> channels;
  std::int64_t dram_bursts = 0;
  Bytes read_bytes = 0;  // beats x axi.data_bytes, all managers
  Bytes write_bytes = 0;
  CacheResult cache;
  std::vector<TrafficResult> traffic;
};

/// A burst from its handshake to its response.
struct Burst {
  std::uint64_t address = 0;
  Bytes bytes = 0;
  int beats = 1;
  bool write = false;
  void* user = nullptr;
  Cycles handshake = 0;
  Cycles w_end = 0;    // write: cycle of its last W beat
  Cycles granted = 0;  // cycle in which its last part left the FIFO
  int beats_done = 0;
  // fixed memory
  Cycles uncontended = 0;  // end of the pure latency
  Cycles bus_start = 0;    // its bytes begin to move in the shared pipe
  Cycles last = 0;         // last R beat, or B
  Cycles after = -1;       // last beat of the port's burst before
  int predecessor = -1;    // port of the burst before it in the pipe
  // DRAM (write: `last` is B as well)
  Bytes sent = 0;   // bytes whose 64-byte requests were dispatched
  int channel = 0;  // of the last request
};

class DramPath;

class MemoryCore {
 public:
  MemoryCore(const MemoryConfig& config, MemoryListener& listener);
  ~MemoryCore();
  MemoryCore(const MemoryCore&) = delete;
  MemoryCore& operator=(const MemoryCore&) = delete;

  /// AR / AW raised in cycle `now` (any phase). True: handshake in this cycle. False: held unchanged until on_accept.
  /// A port raises no other request while one is held, and makes at most one handshake a cycle.
  [[nodiscard]] bool request(Cycles now, int port, const BurstRequest& request);
  /// Next cycle in which advance() must be called; kNever when nothing is in flight.
  [[nodiscard]] Cycles next_event() const;
  /// Everything that happens at the deliver phase of cycle `now`. No event may be skipped.
  void advance(Cycles now);

  /// Owner of cycle `now` for this port: the state of its oldest outstanding burst; nullopt when none is outstanding.
  [[nodiscard]] std::optional<StallCause> cause_of(Cycles now, int port);
  /// Cycles before `now` in which the port had an outstanding burst, by the state of the oldest one. The difference of
  /// two calls attributes the interval between them exactly.
  [[nodiscard]] CauseTotals totals(Cycles now, int port);

  [[nodiscard]] int ports() const { return static_cast<int>(ports_.size()); }
  [[nodiscard]] std::size_t outstanding(int port) const { return ports_[static_cast<std::size_t>(port)].bursts.size(); }
  [[nodiscard]] bool idle() const;
  /// Statistics of cycles [0, end). Ends the run: posted writes are served first, no request may follow.
  [[nodiscard]] MemoryResult results(Cycles end);
  void set_observer(MemoryObserver* observer) { observer_ = observer; }
  /// Commands of all channels; nothing with the fixed memory.
  void set_command_observer(dram::CommandObserver* observer);
  [[nodiscard]] const MemoryConfig& config() const { return config_; }
  /// nullptr with the fixed memory.
  [[nodiscard]] DramPath* dram() { return dram_.get(); }

 private:
  friend class DramPath;
  struct Port {
    Ring<Burst> bursts;  // oldest first; the last fifo_count of them still stand in the request FIFO
    int fifo_count = 0;
    Cycles head_ready = kNever;  // DRAM: first cycle in which the head's next part may be dispatched, credits aside ...
    int head_channel = 0;        // ... and to which channel
    Cycles last_push = -1;
    Cycles last_pop = -1;
    std::optional<BurstRequest> held;
    Cycles held_since = 0;
    Cycles last_delivery = -1;   // last R beat or B handed over
    Cycles w_end = -1;           // last W beat of the newest burst
    Cycles last_scheduled = -1;  // fixed: last beat of the newest granted burst
    Cycles attributed = 0;       // cycles before this one are in totals
    CauseTotals totals{};
  };

  [[nodiscard]] int count_at_start(const Port& port, Cycles now) const;
  void push(Cycles now, Port& port, const BurstRequest& request);
  [[nodiscard]] Burst& fifo_head(Port& port) {
    return port.bursts[port.bursts.size() - static_cast<std::size_t>(port.fifo_count)];
  }
  [[nodiscard]] const Burst& fifo_head(const Port& port) const {
    return port.bursts[port.bursts.size() - static_cast<std::size_t>(port.fifo_count)];
  }
  void pop(Cycles now, Port& port);
  void grant_fixed(Cycles now);
  void schedule_fixed(Cycles now, int port_index, Burst& burst);
  [[nodiscard]] Cycles fixed_beat(const Burst& burst, int beat) const;
  [[nodiscard]] Cycles next_delivery(const Port& port, int index) const;
  void deliver(Cycles now, int index);
  void finish(Cycles now, int index);
  void forget_grants();
  [[nodiscard]] StallCause contention(int port, int by) const;
  template <typename F>
  void fixed_causes(int port, const Burst& burst, Cycles begin, Cycles end, F&& charge) const;
  void attribute(int port, Cycles end, CauseTotals& out) const;

  const MemoryConfig config_;
  MemoryListener& listener_;
  MemoryObserver* observer_ = nullptr;
  std::vector<Port> ports_;
  Cycles now_ = -1;
  // fixed memory
  int first_ = 0;               // round robin: first port considered
  StateHistory grants_{-1};     // which port was granted when
  std::int64_t bus_units_ = 0;  // end of the pipe in units of 1 / fixed_bytes_per_cycle cycles
  int bus_owner_ = -1;
  Cycles busy_cycles_ = 0;  // cycles in which something was handed over
  Cycles last_busy_ = -1;
  Bytes read_bytes_ = 0;
  Bytes write_bytes_ = 0;
  std::unique_ptr<DramPath> dram_;
};

}  // namespace tessera::hw
