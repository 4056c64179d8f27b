#include "hw/platform/chip.hpp"

#include <utility>

#include "hw/common/error.hpp"
#include "hw/common/random.hpp"
#include "hw/models/conv/plan.hpp"
#include "hw/models/edp/plan.hpp"
#include "hw/models/gemm/plan.hpp"
#include "hw/models/reorder/plan.hpp"
#include "isa/semantics/layout.hpp"
#include "isa/semantics/legal.hpp"

namespace tessera::platform {
namespace {

hw::DmaConfig dma_config(const isa::ChipConfig& chip, bool load) {
  hw::DmaConfig c;
  c.data_bytes = chip.axi.data_bytes;
  c.max_burst_beats = chip.axi.max_burst_beats;
  c.buffer_beats = (load ? chip.load.landing_bytes : chip.store.buffer_bytes) / chip.axi.data_bytes;
  c.outstanding = static_cast<int>(load ? chip.axi.read_outstanding : chip.axi.write_outstanding);
  c.in_flight = static_cast<int>(load ? chip.load.in_flight : chip.store.in_flight);
  c.line_bytes = chip.sram.line_bytes;
  c.lines_per_bank = semantics::bank_lines(chip);
  c.read_latency = chip.sram.read_latency;
  return c;
}

hw::CpConfig cp_config(const isa::ChipConfig& chip) {
  return {chip.cp.prefetch_words, chip.cp.fetch_words, chip.axi.data_bytes, chip.axi.max_burst_beats};
}

hw::SramGeometry geometry(const isa::ChipConfig& chip) {
  return {chip.sram.line_bytes, semantics::bank_lines(chip), static_cast<int>(chip.sram.banks)};
}

hw::MemoryConfig memory_config(const isa::ChipConfig& chip, const RunOptions& options) {
  hw::MemoryConfig c = hw::MemoryConfig::from(chip, static_cast<int>(chip.cores));
  if (options.ideal_dram) {
    c.fixed = true;
    c.fixed_latency_cycles = 1;
    c.fixed_bytes_per_cycle = 0;
  }
  return c;
}

/// Runs the steps in an order given by the seed (0: as listed). The kernel's process order follows creation order.
void run_shuffled(std::vector<std::function<void()>>& steps, std::uint64_t seed) {
  if (seed != 0) {
    Random random(seed);
    for (std::size_t i = steps.size(); i > 1; --i) std::swap(steps[i - 1], steps[random.below(i)]);
  }
  for (const std::function<void()>& step : steps) step();
}

std::string core_name(int core, const char* unit) { return "core" + std::to_string(core) + "_" + unit; }

}  // namespace

bool has_unit(const isa::ChipConfig& chip, int queue) {
  const auto id = static_cast<isa::QueueId>(queue);
  if (id == isa::QueueId::dsp) return false;  // no DSP model yet
  if (id < isa::QueueId::conv0 || id > isa::QueueId::conv3) return queue < hw::kQueues;
  return queue - static_cast<int>(isa::QueueId::conv0) < chip.conv.engines;
}

std::unique_ptr<hw::AccessPlan> make_plan(const isa::Instruction& instruction, const isa::ChipConfig& chip) {
  if (const auto* conv = std::get_if<isa::Conv>(&instruction.body)) return hw::make_conv_plan(*conv, chip);
  if (const auto* gemm = std::get_if<isa::Gemm>(&instruction.body)) return hw::make_gemm_plan(*gemm, chip);
  if (const auto* edp = std::get_if<isa::Edp>(&instruction.body)) return hw::make_edp_plan(*edp, chip);
  if (const auto* reorder = std::get_if<isa::Reorder>(&instruction.body)) return hw::make_reorder_plan(*reorder, chip);
  TESSERA_CHECK(false, "no access plan for ", isa::to_string(instruction.header.opcode));
}

Chip::Chip(const isa::ChipConfig& config, const hw::DramStorage& dram, hw::CpListener& listener,
           const RunOptions& options)
    : config_(config), cores_(static_cast<std::size_t>(config.cores)) {
  build_shared(dram, listener, options);
  build_units(options);
}

void Chip::build_shared(const hw::DramStorage& dram, hw::CpListener& listener, const RunOptions& options) {
  std::vector<std::function<void()>> steps;
  steps.emplace_back([&] {
    memory_ = std::make_unique<hw::MemorySystem>("memory", memory_config(config_, options));
    if (options.memory_observer != nullptr) memory_->set_observer(options.memory_observer);
    if (options.dram_observer != nullptr) memory_->set_command_observer(options.dram_observer);
  });
  for (int i = 0; i < cores(); ++i) {
    steps.emplace_back([&, i] {
      hw::SramOptions sram{options.no_shortcuts, options.ideal_sram, {}};
      if (options.on_conflict) {
        sram.on_conflict = [tell = options.on_conflict, i](int queue, Cycles n) { tell(i, queue, n); };
      }
      core(i).sram = std::make_unique<hw::Sram>(core_name(i, "sram").c_str(), sram);
    });
    steps.emplace_back([&, i] {
      const auto check = [this](const isa::Instruction& instruction, const std::array<std::uint64_t, 8>& limits,
                                std::string& text) {
        const auto fault = semantics::find_fault(instruction, config_, limits);
        if (!fault) return isa::FaultCause::none;
        text = fault->text;
        return fault->cause;
      };
      const auto read_word = [&dram](std::uint64_t address) {
        isa::Word word;
        dram.read(address, word.data(), word.size());
        return word;
      };
      core(i).cp =
          std::make_unique<hw::Cp>(core_name(i, "cp").c_str(), i, cp_config(config_), check, read_word, listener);
    });
  }
  run_shuffled(steps, options.process_order_seed);
}

void Chip::build_units(const RunOptions& options) {
  std::vector<std::function<void()>> steps;
  for (int i = 0; i < cores(); ++i) {
    const auto probe = [this, i](tlm_base::Manager manager) {
      return hw::MemoryProbe{[this, i, manager] { return memory_->cause_of(i, manager); },
                             [this, i, manager] { return memory_->totals(i, manager); }};
    };
    steps.emplace_back([this, i, probe] {
      Core& c = core(i);
      c.load = std::make_unique<hw::Load>(core_name(i, "load").c_str(), i, dma_config(config_, true), *c.sram, *c.cp,
                                          probe(tlm_base::Manager::load));
      c.unit[static_cast<std::size_t>(isa::QueueId::load)] = c.load.get();
    });
    steps.emplace_back([this, i, probe] {
      Core& c = core(i);
      c.store = std::make_unique<hw::Store>(core_name(i, "store").c_str(), i, dma_config(config_, false), *c.sram,
                                            *c.cp, probe(tlm_base::Manager::store));
      c.unit[static_cast<std::size_t>(isa::QueueId::store)] = c.store.get();
    });
    for (int q = static_cast<int>(isa::QueueId::conv0); q < hw::kQueues; ++q) {
      if (!has_unit(config_, q)) continue;
      steps.emplace_back([this, i, q, foreign = options.foreign_units] {
        Core& c = core(i);
        if (foreign != nullptr && foreign->has(q)) {
          auto& unit = c.foreign[static_cast<std::size_t>(q)];
          unit = foreign->make(i, q, core_name(i, isa::to_string(static_cast<isa::QueueId>(q))), *c.sram, *c.cp);
          c.unit[static_cast<std::size_t>(q)] = unit.get();
          return;
        }
        auto& slot = c.compute[static_cast<std::size_t>(q)];
        slot = std::make_unique<hw::ComputeUnit>(
            core_name(i, isa::to_string(static_cast<isa::QueueId>(q))).c_str(), q, geometry(config_),
            [this](const isa::Instruction& instruction) { return make_plan(instruction, config_); }, *c.sram, *c.cp);
        c.unit[static_cast<std::size_t>(q)] = slot.get();
      });
    }
  }
  run_shuffled(steps, options.process_order_seed);
  for (int i = 0; i < cores(); ++i) {
    Core& c = core(i);
    c.cp->fetch_isock.bind(memory_->tsock(i, tlm_base::Manager::fetch));
    c.load->mem_isock.bind(memory_->tsock(i, tlm_base::Manager::load));
    c.store->mem_isock.bind(memory_->tsock(i, tlm_base::Manager::store));
    for (int q = 0; q < hw::kQueues; ++q) {
      if (c.unit[static_cast<std::size_t>(q)] != nullptr) c.cp->attach(q, *c.unit[static_cast<std::size_t>(q)]);
    }
  }
}

}  // namespace tessera::platform
