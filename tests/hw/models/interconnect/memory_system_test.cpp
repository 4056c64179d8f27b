// The SystemC module through real sockets: protocol, payload ownership, errors, the same cycles as the core alone.
#include "hw/models/interconnect/memory_system.hpp"

#include <numeric>

#include <gtest/gtest.h>
#include <tlm_utils/simple_initiator_socket.h>

#include "hw/common/error.hpp"
#include "hw/tlm/clock.hpp"
#include "hw/tlm/kernel.hpp"
#include "hw/tlm/payload_pool.hpp"
#include "isa/chip.hpp"
#include "tests/hw/models/interconnect/manager.hpp"

namespace tessera::hw {
namespace {

using test::Managers;
using test::Traffic;
using tlm_base::Manager;

/// A manager that keeps `outstanding` bursts in flight; raises AR or AW at the evaluate phase.
class Initiator : public sc_core::sc_module {
 public:
  SC_HAS_PROCESS(Initiator);
  Initiator(const sc_core::sc_module_name& name, tlm_base::PayloadPool& pool, const Traffic& traffic, int data_bytes)
      : sc_module(name), isock("isock"), pool_(pool), traffic_(traffic), data_bytes_(data_bytes) {
    isock.register_nb_transport_bw(this, &Initiator::nb_bw);
    SC_METHOD(issue);
    sensitive << event_;
    dont_initialize();
    tlm_base::notify_at(event_, traffic.begin, tlm_base::kEvaluate);
  }
  tlm_utils::simple_initiator_socket<Initiator> isock;
  std::vector<Cycles> handshakes, beats, last;
  std::vector<tlm::tlm_response_status> status;

 private:
  void issue() {
    const Cycles now = tlm_base::now_cycle();
    if (held_ || issued_ == traffic_.bursts || issued_ - static_cast<int>(last.size()) >= traffic_.outstanding) return;
    if (!handshakes.empty() && handshakes.back() == now) {  // one handshake a cycle
      tlm_base::notify_at(event_, now + 1, tlm_base::kEvaluate);
      return;
    }
    auto& payload = pool_.acquire(traffic_.write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND,
                                  traffic_.base + static_cast<std::uint64_t>(issued_) * traffic_.stride,
                                  static_cast<Manager>(traffic_.port % 3), static_cast<std::uint8_t>(traffic_.port / 3),
                                  traffic_.beats, data_bytes_);
    ++issued_;
    tlm::tlm_phase phase = tlm::BEGIN_REQ;
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    if (isock->nb_transport_fw(payload, phase, delay) == tlm::TLM_UPDATED) {
      EXPECT_EQ(phase, tlm::END_REQ);
      handshakes.push_back(now);
    } else {
      held_ = true;
    }
    tlm_base::notify_at(event_, now + 1, tlm_base::kEvaluate);
  }
  tlm::tlm_sync_enum nb_bw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase, sc_core::sc_time&) {
    const Cycles now = tlm_base::now_cycle();
    EXPECT_EQ(tlm_base::now_phase(), tlm_base::kDeliver);
    event_.cancel();
    tlm_base::notify_at(event_, now, tlm_base::kEvaluate);
    if (phase == tlm::END_REQ) {
      held_ = false;
      handshakes.push_back(now);
      return tlm::TLM_ACCEPTED;
    }
    beats.push_back(now);
    if (phase != tlm::BEGIN_RESP) return tlm::TLM_ACCEPTED;
    last.push_back(now);
    status.push_back(payload.get_response_status());
    payload.release();
    return tlm::TLM_COMPLETED;
  }
  tlm_base::PayloadPool& pool_;
  const Traffic traffic_;
  const int data_bytes_;
  sc_core::sc_event event_;
  int issued_ = 0;
  bool held_ = false;
};

MemoryConfig a1000_memory() { return MemoryConfig::from(isa::load_chip("a1000"), 1); }

std::vector<Traffic> three_managers() {
  std::vector<Traffic> all(3);
  for (int port = 0; port < 3; ++port) {
    Traffic& t = all[static_cast<std::size_t>(port)];
    t.port = port;
    t.write = port == 2;
    t.outstanding = 4 + 12 * port;
    t.bursts = 200;
    t.beats = 4;
    t.stride = 1024;
    t.base = static_cast<std::uint64_t>(port) << 24;
    t.begin = port * 7;
  }
  return all;
}

TEST(MemorySystem, SameCyclesAsTheCoreAlone) {
  for (const bool fixed : {false, true}) {
    MemoryConfig c = a1000_memory();
    c.fixed = fixed;
    Managers reference(c);
    for (const Traffic& t : three_managers()) reference.add(t);
    const Cycles end = reference.run();

    tlm_base::PayloadPool pool;
    tlm_base::Simulation simulation;
    MemorySystem memory("memory", c);
    std::vector<std::unique_ptr<Initiator>> managers;
    for (const Traffic& t : three_managers()) {
      managers.push_back(std::make_unique<Initiator>(sc_core::sc_gen_unique_name("manager"), pool, t, 64));
      managers.back()->isock.bind(memory.tsock(0, static_cast<Manager>(t.port)));
    }
    simulation.run();
    for (int port = 0; port < 3; ++port) {
      EXPECT_EQ(managers[static_cast<std::size_t>(port)]->handshakes, reference.handshakes(port)) << port;
      EXPECT_EQ(managers[static_cast<std::size_t>(port)]->beats, reference.beats(port)) << port;
      EXPECT_EQ(memory.core().totals(end, port), reference.core.totals(end, port)) << port;
    }
    EXPECT_EQ(pool.in_use(), 0U) << "every payload is released by all that acquired it";
    EXPECT_TRUE(memory.idle());
  }
}

TEST(MemorySystem, AnAddressBehindTheMemoryIsABusError) {
  MemoryConfig c = a1000_memory();
  c.fixed = true;
  tlm_base::PayloadPool pool;
  tlm_base::Simulation simulation;
  MemorySystem memory("memory", c);
  Traffic t;
  t.bursts = 2;
  t.base = static_cast<std::uint64_t>(c.size_bytes) - 64;  // the second burst begins behind the end
  Initiator load("load", pool, t, 64);
  load.isock.bind(memory.tsock(0, Manager::load));
  t.port = 0;
  Initiator fetch("fetch", pool, t, 64);
  fetch.isock.bind(memory.tsock(0, Manager::fetch));
  t.port = 2;
  t.write = true;
  Initiator store("store", pool, t, 64);
  store.isock.bind(memory.tsock(0, Manager::store));
  simulation.run();
  for (const Initiator* i : {&load, &fetch, &store}) {
    EXPECT_EQ(i->status,
              (std::vector<tlm::tlm_response_status>{tlm::TLM_OK_RESPONSE, tlm::TLM_ADDRESS_ERROR_RESPONSE}));
  }
}

TEST(MemorySystem, BrokenBurstsAreOurBug) {
  MemoryConfig c = a1000_memory();
  tlm_base::PayloadPool pool;
  tlm_base::Simulation simulation;
  MemorySystem memory("memory", c);
  Traffic none;
  none.bursts = 0;
  Initiator manager("load", pool, none, 64);
  Initiator fetch("fetch", pool, none, 64);
  Initiator store("store", pool, none, 64);
  manager.isock.bind(memory.tsock(0, Manager::load));
  fetch.isock.bind(memory.tsock(0, Manager::fetch));
  store.isock.bind(memory.tsock(0, Manager::store));
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  const auto message = [&](tlm::tlm_command command, std::uint64_t address, Manager who, int beats,
                           tlm::tlm_phase phase) {
    auto& payload = pool.acquire(command, address, who, 0, beats, 64);
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    try {
      (void)manager.isock->nb_transport_fw(payload, phase, delay);
    } catch (const InternalError& e) {
      return std::string(e.what());
    }
    return std::string("none");
  };
  EXPECT_NE(message(tlm::TLM_READ_COMMAND, 4096 - 64, Manager::load, 2, tlm::BEGIN_REQ).find("crosses 4 KiB"),
            std::string::npos);
  EXPECT_NE(message(tlm::TLM_READ_COMMAND, 32, Manager::load, 1, tlm::BEGIN_REQ).find("not a multiple of 64"),
            std::string::npos);
  EXPECT_NE(message(tlm::TLM_WRITE_COMMAND, 0, Manager::load, 1, tlm::BEGIN_REQ).find("fetch and load read"),
            std::string::npos);
  EXPECT_NE(
      message(tlm::TLM_READ_COMMAND, 0, Manager::fetch, 1, tlm::BEGIN_REQ).find("port 1: burst of core 0 manager 0"),
      std::string::npos);
  EXPECT_NE(message(tlm::TLM_READ_COMMAND, 0, Manager::load, 1, tlm::END_RESP).find("on the forward path"),
            std::string::npos);
  EXPECT_EQ(message(tlm::TLM_READ_COMMAND, 0, Manager::load, 1, tlm::BEGIN_REQ), "none");
}

}  // namespace
}  // namespace tessera::hw
