// One SystemC simulation as a value: everything built while a Simulation lives belongs to its own kernel context, so a
// process may run one simulation after the other (the packaged kernel allows one elaboration a context).
// Simulations do not nest. Leaves out: what is simulated.
#pragma once

#include <memory>
#include <systemc>

#include "hw/tlm/agenda.hpp"

namespace tessera::tlm_base {

class Simulation {
 public:
  Simulation();
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  /// Runs until nothing is scheduled any more, Agenda::stop() or sc_stop() was called.
  void run();

 private:
  sc_core::sc_simcontext* previous_;
  std::unique_ptr<sc_core::sc_simcontext> context_;
  std::unique_ptr<Agenda> agenda_;
};

}  // namespace tessera::tlm_base
