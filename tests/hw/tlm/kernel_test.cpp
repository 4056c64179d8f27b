// The kernel context and the payload pool.
#include "hw/tlm/kernel.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "hw/tlm/clock.hpp"
#include "hw/tlm/payload_pool.hpp"

namespace tessera::tlm_base {
namespace {

class Ticker : public sc_core::sc_module {
 public:
  SC_HAS_PROCESS(Ticker);
  explicit Ticker(sc_core::sc_module_name name) : sc_module(name) {
    SC_METHOD(on_event);
    sensitive << event_;
    dont_initialize();
    notify_at(event_, 5, kDecide);
  }
  std::vector<Cycles> seen;

 private:
  void on_event() {
    seen.push_back(now_cycle());
    EXPECT_EQ(now_phase(), kDecide);
    if (seen.size() < 3) notify_at(event_, now_cycle() + 7, kDecide);
  }
  sc_core::sc_event event_;
};

TEST(Simulation, RunsTwiceInOneProcessFromCycleZero) {
  for (int run = 0; run < 2; ++run) {
    Simulation simulation;
    Ticker ticker("ticker");
    simulation.run();
    EXPECT_EQ(ticker.seen, (std::vector<Cycles>{5, 12, 19}));
  }
}

TEST(PayloadPool, RecyclesAndSetsEveryField) {
  PayloadPool pool;
  ::tlm::tlm_generic_payload& first = pool.acquire(::tlm::TLM_READ_COMMAND, 0x1000, Manager::load, 1, 4, 64);
  EXPECT_EQ(pool.in_use(), 1u);
  first.acquire();  // a second holder
  first.set_response_status(::tlm::TLM_OK_RESPONSE);
  first.release();
  EXPECT_EQ(pool.in_use(), 1u);
  first.release();
  EXPECT_EQ(pool.in_use(), 0u);
  ::tlm::tlm_generic_payload& again = pool.acquire(::tlm::TLM_WRITE_COMMAND, 0x2000, Manager::store, 0, 2, 8);
  EXPECT_EQ(&again, &first);
  EXPECT_EQ(again.get_response_status(), ::tlm::TLM_INCOMPLETE_RESPONSE);
  EXPECT_EQ(again.get_data_length(), 16u);
  EXPECT_EQ(axi_extension(again).beats, 2);
  EXPECT_EQ(axi_extension(again).manager, Manager::store);
  again.release();
}

}  // namespace
}  // namespace tessera::tlm_base
