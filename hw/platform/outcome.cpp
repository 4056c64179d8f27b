// What a run leaves: the result, or in words why it ended early.
#include <algorithm>
#include <tuple>

#include "hw/common/error.hpp"
#include "hw/platform/runner.hpp"
#include "isa/semantics/stuck.hpp"

namespace tessera::platform {
namespace {

const char* queue_name(int queue) { return isa::to_string(static_cast<isa::QueueId>(queue)); }

}  // namespace

std::vector<std::string> Runner::layer_names() const {
  std::vector<std::string> names;
  for (const isa::LayerInfo& layer : program_.layers) names.push_back(layer.name);
  return names;
}

std::string Runner::fault_text(int core, Cycles n) {
  const hw::CpFault& fault = chip_->core(core).cp->core().fault();
  std::string place = detail::concat("core ", core, " ", queue_name(fault.queue), " word ", fault.index);
  for (const DecodedStream& stream : decoded_) {
    if (stream.core != core || stream.queue != fault.queue) continue;
    const auto at = std::find(stream.first_word.begin(), stream.first_word.end(), fault.index);
    if (at == stream.first_word.end()) continue;
    const auto index = static_cast<std::size_t>(at - stream.first_word.begin());
    place = semantics::instruction_text(stream.core, stream.queue, index, stream.instructions[index], layer_names());
  }
  return detail::concat("fault ", isa::to_string(fault.cause), ": section ", program_.sections[section_].name, ", ",
                        place, ": ", fault.text, " (core ", core, " stopped in cycle ", n, ")");
}

std::string Runner::stuck_text(Cycles n) {
  std::vector<semantics::StuckQueue> queues;
  for (const DecodedStream& stream : decoded_) {
    queues.push_back(
        {stream.core, stream.queue, &stream.instructions, chip_->core(stream.core).cp->started(stream.queue)});
  }
  const auto value = [&](std::uint8_t core, std::uint8_t semaphore) {
    const bool global = semaphore >= hw::kLocalSemaphores;
    const int owner = global && waiter_[semaphore] >= 0 ? waiter_[semaphore] : core;
    return chip_->core(owner).cp->core().semaphore(semaphore);
  };
  return detail::concat("section ", program_.sections[section_].name, ": ",
                        semantics::explain_stuck(queues, value, layer_names()), " (in cycle ", n, ")");
}

hw::RunResult Runner::result() {
  hw::RunResult result = std::move(result_);
  std::sort(result.instructions.begin(), result.instructions.end(),
            [](const hw::InstructionRecord& a, const hw::InstructionRecord& b) {
              return std::tie(a.section, a.core, a.queue, a.index) < std::tie(b.section, b.core, b.queue, b.index);
            });
  for (int i = 0; i < chip_->cores(); ++i) {
    Core& core = chip_->core(i);
    const std::string prefix = chip_->cores() > 1 ? "core" + std::to_string(i) + "." : "";
    for (int q = 0; q < hw::kQueues; ++q) {
      const hw::IssueTarget* unit = core.unit[static_cast<std::size_t>(q)];
      if (unit == nullptr) continue;
      hw::UnitResult& out = result.units.emplace_back();
      out.name = prefix + queue_name(q);
      out.account = core.cp->account(q);
      out.account.busy += unit->account().busy;
      for (std::size_t c = 0; c < kStallCauses; ++c) out.account.stall[c] += unit->account().stall[c];
      out.macs_issued = unit->macs_issued();
      out.array_cycles = unit->array_cycles();
      result.stepped_cycles += unit->stepped_cycles();
    }
    hw::UnitResult& cp = result.units.emplace_back();
    cp.name = prefix + "cp";
    cp.account.busy = core.cp->fetch_busy();
    cp.account.add(StallCause::host, host_.busy);
    cp.account.idle = result.cycles - cp.account.busy - host_.busy;
    result.sram_conflict_cycles += core.sram->refusals();
    result.fetch_bytes += core.cp->fetch_bytes();
    result.load_bytes += core.load->axi_bytes();
    result.store_bytes += core.store->axi_bytes();
  }
  hw::UnitResult& host = result.units.emplace_back();
  host.name = "host";
  host.account = host_;
  host.account.idle = result.cycles - host_.busy;
  for (const hw::UnitResult& unit : result.units) {
    TESSERA_CHECK(unit.account.total() == result.cycles, unit.name, ": busy, idle and stalls are ",
                  unit.account.total(), " cycles of ", result.cycles);
  }
  const hw::MemoryResult memory = chip_->memory().results(result.cycles);
  result.channels = memory.channels;
  result.dram_bursts = memory.dram_bursts;
  result.cache = memory.cache;
  result.traffic = memory.traffic;
  return result;
}

}  // namespace tessera::platform
