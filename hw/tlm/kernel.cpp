#include "hw/tlm/kernel.hpp"

#include "hw/common/error.hpp"

// The packaged library references sc_main even when a program brings its own main(), as all of ours do.
int sc_main(int, char**) { return 1; }

namespace tessera::tlm_base {

Simulation::Simulation() : previous_(sc_core::sc_curr_simcontext) {
  sc_core::sc_report_handler::set_actions(sc_core::SC_INFO, sc_core::SC_DO_NOTHING);
  sc_core::sc_report_handler::set_actions(sc_core::SC_ERROR, sc_core::SC_THROW);
  sc_core::sc_report_handler::set_actions(sc_core::SC_ID_NO_SC_START_ACTIVITY_, sc_core::SC_DO_NOTHING);
  context_ = std::make_unique<sc_core::sc_simcontext>();
  sc_core::sc_curr_simcontext = context_.get();
  agenda_ = std::make_unique<Agenda>("agenda");
}

Simulation::~Simulation() {
  agenda_.reset();
  sc_core::sc_curr_simcontext = previous_;
}

void Simulation::run() {
  TESSERA_CHECK(sc_core::sc_curr_simcontext == context_.get(), "another simulation was started inside this one");
  try {
    sc_core::sc_start();
  } catch (const sc_core::sc_report& report) {
    throw InternalError(report.what());  // an exception that left a process
  }
}

}  // namespace tessera::tlm_base
