// A unit in RTL inside the model of the rest of the core (`--rtl-unit`): a verilated unit (tessera_unit_bench.sv)
// behind the interfaces of a model's unit. It moves its own bytes, cycle by cycle, in the platform's SRAM. Leaves out:
// LOAD and STORE, which are in RTL with the whole core only (rtl_core.hpp).
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <systemc>
#include <utility>
#include <vector>

#include "hw/cosim/unit_api.hpp"
#include "hw/models/sram/sram.hpp"
#include "hw/models/unit/issue.hpp"
#include "hw/platform/platform.hpp"
#include "isa/chip.hpp"

namespace tessera::cosim {

class RtlUnit : public sc_core::sc_module, public hw::IssueTarget, public hw::SramClient {
 public:
  SC_HAS_PROCESS(RtlUnit);
  RtlUnit(const sc_core::sc_module_name& name, const isa::ChipConfig& chip, int queue, hw::Sram& sram,
          hw::IssueSource& source);

  /// The bytes it works on; without them (timing only) it reads zeros.
  void connect(std::vector<std::uint8_t>& bytes) { bytes_ = &bytes; }

  /// The assertion that ended the run; empty if none did.
  [[nodiscard]] const std::string& failure() const { return failure_; }

  // IssueTarget
  [[nodiscard]] bool ready(bool) const override { return !busy_; }
  [[nodiscard]] bool busy() const override { return busy_; }
  void start(const isa::Instruction& instruction, Cycles n, std::uint64_t base) override;
  [[nodiscard]] const UnitAccount& account() const override { return account_; }
  [[nodiscard]] std::int64_t macs_issued() const override { return macs_issued_; }
  [[nodiscard]] Cycles array_cycles() const override { return array_cycles_; }
  [[nodiscard]] Cycles stepped_cycles() const override { return stepped_; }

  // SramClient: stepped in every cycle, never fast-forwarded.
  void set_private(bool, Cycles) override {}
  [[nodiscard]] bool requests_in(Cycles) override { return false; }

 private:
  void on_evaluate();
  void on_commit();
  void move(const UnitAccess& access, std::size_t port);
  void fail(const std::string& text);

  const isa::ChipConfig& chip_;
  int queue_;
  hw::Sram& sram_;
  hw::IssueSource& source_;
  const UnitApi& api_;
  std::unique_ptr<void, void (*)(void*)> unit_;
  UnitInputs in_;
  UnitOutputs out_;
  std::deque<std::array<Line, kUnitReads>> pipeline_;  // lines read, oldest first: sram.read_latency entries
  std::vector<std::uint8_t>* bytes_ = nullptr;
  bool busy_ = false;
  Cycles requested_ = -1;  // last cycle in which it wanted banks
  std::string failure_;
  UnitAccount account_;
  hw::StallCounts stalls_{};
  std::int64_t macs_issued_ = 0;
  Cycles array_cycles_ = 0;
  Cycles stepped_ = 0;
  sc_core::sc_event evaluate_event_;
  sc_core::sc_event commit_event_;
};

/// The units that a run wants in RTL.
class RtlUnits : public platform::ForeignUnits {
 public:
  /// UserError for a name that is no unit in RTL, or none of the chip.
  RtlUnits(const isa::ChipConfig& chip, const std::vector<std::string>& names);

  [[nodiscard]] bool has(int queue) const override;
  [[nodiscard]] std::unique_ptr<hw::IssueTarget> make(int core, int queue, const std::string& name, hw::Sram& sram,
                                                      hw::IssueSource& source) override;
  void connect(int core, std::vector<std::uint8_t>& sram) override;
  [[nodiscard]] std::string failure() const override;

 private:
  const isa::ChipConfig& chip_;
  std::vector<int> queues_;
  std::vector<std::pair<int, RtlUnit*>> units_;  // by core; the chip owns them
};

}  // namespace tessera::cosim
