// The DRAM as a fluid that managers (FETCH, LOAD and STORE of each core) share: each serves its transfers one after
// the other, no faster than the transfer's own limit and than the manager's fair share of what the others leave. Knows
// no rows, no direction changes, no latency.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "hw/common/units.hpp"

namespace tessera::compiler {

class MemoryFlow {
 public:
  MemoryFlow(double bytes_per_cycle, int flows);

  struct Served {
    int flow = 0;
    int tag = 0;
    double time = 0;
  };
  /// A transfer behind those that `flow` has; `most`: bytes a cycle that it can take by itself.
  void offer(int flow, double bytes, double most, int tag);
  /// Bytes that are still to be served.
  [[nodiscard]] double backlog(int flow) const { return flows_[static_cast<std::size_t>(flow)].backlog; }
  struct Front {
    int tag = 0;
    double bytes = 0, left = 0, rate = 0;  // bytes a cycle
  };
  /// The transfer of `flow` that is being served; nothing: none.
  [[nodiscard]] std::optional<Front> front(int flow) const;
  /// When the next transfer will have been served, if nothing is offered before; infinite if there is none.
  [[nodiscard]] double next() const { return next_; }
  /// When the backlog of `flow` falls to `bytes` if nothing changes; infinite if its first transfer ends before that.
  [[nodiscard]] double falls_to(int flow, double bytes) const;
  /// Serves to time `now`; adds what was finished.
  void advance(double now, std::vector<Served>& served);

 private:
  struct Transfer {
    double all = 0, bytes = 0, most = 0;  // bytes: still to be served
    int tag = 0;
  };
  struct Flow {
    std::deque<Transfer> transfers;
    double backlog = 0, rate = 0;
  };
  void serve(double until);
  void share();
  double capacity_;
  double now_ = 0, next_;
  std::vector<Flow> flows_;
};

}  // namespace tessera::compiler
