// The SystemC module of every compute unit: drives a RigidUnit, stepping it through the SRAM arbiter while its banks
// meet another unit's and fast-forwarding it otherwise. Which unit it is, is the plan factory's business. Leaves out:
// values (the platform applies them at finish).
#pragma once

#include <functional>
#include <memory>
#include <systemc>

#include "hw/models/sram/sram.hpp"
#include "hw/models/unit/issue.hpp"
#include "hw/models/unit/rigid_unit.hpp"
#include "hw/tlm/agenda.hpp"

namespace tessera::hw {

class ComputeUnit : public sc_core::sc_module, public IssueTarget, public SramClient {
 public:
  using PlanFactory = std::function<std::unique_ptr<AccessPlan>(const isa::Instruction&)>;

  ComputeUnit(const sc_core::sc_module_name& name, int queue, const SramGeometry& geometry, PlanFactory factory,
              Sram& sram, IssueSource& source);

  // IssueTarget
  [[nodiscard]] bool ready(bool) const override { return !busy_; }
  [[nodiscard]] bool busy() const override { return busy_; }
  void start(const isa::Instruction& instruction, Cycles n, std::uint64_t base) override;
  [[nodiscard]] const UnitAccount& account() const override { return account_; }
  [[nodiscard]] std::int64_t macs_issued() const override { return macs_issued_; }
  [[nodiscard]] Cycles array_cycles() const override { return array_cycles_; }
  [[nodiscard]] Cycles stepped_cycles() const override { return stepped_; }

  // SramClient
  void set_private(bool is_private, Cycles n) override;
  [[nodiscard]] bool requests_in(Cycles n) override;

 private:
  void on_evaluate();
  void on_commit();
  void start_popped(Cycles n);
  void look_ahead();
  void finish(Cycles n);

  int queue_;
  PlanFactory factory_;
  Sram& sram_;
  IssueSource& source_;
  RigidUnit unit_;
  // While the banks are private and ports may meet each other: where unit_ will be when its commit is due.
  RigidUnit ahead_;
  bool busy_ = false;
  bool private_ = false;
  Cycles stretch_ = 0;  // cycles to look ahead
  // The pop of this cycle, taken at commit.
  bool popped_ = false;
  Cycles nop_cycles_ = 0;
  std::unique_ptr<AccessPlan> plan_;
  Cycles evaluated_ = -1;  // last cycle that was stepped
  UnitAccount account_;
  std::int64_t macs_issued_ = 0;
  Cycles array_cycles_ = 0;
  Cycles stepped_ = 0;
  tlm_base::Process evaluate_;
  tlm_base::Process commit_;
};

}  // namespace tessera::hw
