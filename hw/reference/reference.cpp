#include "hw/reference/reference.hpp"

#include <algorithm>
#include <memory>

#include "hw/common/error.hpp"
#include "hw/common/random.hpp"
#include "hw/reference/order.hpp"
#include "hw/reference/race.hpp"
#include "hw/reference/section.hpp"
#include "hw/reference/written_dram.hpp"
#include "isa/semantics/execute.hpp"
#include "isa/semantics/stuck.hpp"
#include "isa/semantics/written.hpp"

namespace tessera::reference {

namespace {

constexpr std::size_t kMaxWarnings = 50;

[[noreturn]] void throw_stuck(const Section& section, const SectionState& state) {
  std::vector<semantics::StuckQueue> queues;
  for (std::uint32_t q = 0; q < section.queues().size(); ++q) {
    const Queue& queue = section.queues()[q];
    queues.push_back({queue.core, queue.id, &queue.stream, state.head(q)});
  }
  throw ProgramError(detail::concat(
      "section ", section.name(), ": ",
      semantics::explain_stuck(
          queues, [&](std::uint8_t core, std::uint8_t s) { return state.value(section.semaphore(core, s)); },
          section.layer_names())));
}

/// A legal order of the section's instructions. ProgramError when stuck or when semaphores are left over.
std::vector<InstructionId> legal_order(const Section& section, Random* random) {
  SectionState state(section);
  const auto queues = static_cast<std::uint32_t>(section.queues().size());
  std::vector<InstructionId> order;
  order.reserve(section.instructions());
  std::vector<std::uint32_t> ready;
  while (order.size() < section.instructions()) {
    ready.clear();
    for (std::uint32_t q = 0; q < queues; ++q) {
      if (!state.can_start(q)) continue;
      ready.push_back(q);
      if (random == nullptr) break;
    }
    if (ready.empty()) throw_stuck(section, state);
    const std::uint32_t q = random == nullptr ? ready.front() : ready[random->below(ready.size())];
    order.push_back({q, state.head(q)});
    state.run_head(q);
  }
  for (std::uint32_t s = 0; s < section.semaphores(); ++s) {
    if (state.value(s) != 0) {
      throw ProgramError(detail::concat("section ", section.name(), ": ", section.semaphore_text(s), " is ",
                                        state.value(s), " at the section's end: expected 0"));
    }
  }
  return order;
}

class Executor {
 public:
  Executor(const isa::Program& program, const isa::ChipConfig& chip, hw::DramStorage& dram, const BaseRegisters& bases,
           const ReferenceOptions& options)
      : program_(program), chip_(chip), storage_(dram), dram_(dram, bases), bases_(bases), options_(options) {
    const auto sram_bytes = chip.sram.banks * chip.sram.size_bytes;
    for (std::int64_t core = 0; core < chip.cores; ++core) {
      result_.sram.emplace_back(static_cast<std::size_t>(sram_bytes), std::uint8_t{0});
      written_.emplace_back(sram_bytes);
    }
    for (const isa::LayerInfo& layer : program.layers) layer_names_.push_back(layer.name);
    if (options.order_seed) random_ = std::make_unique<Random>(*options.order_seed);
  }

  ReferenceResult run() {
    for (std::size_t s = 0; s < program_.sections.size(); ++s) {
      const isa::Section& section = program_.sections[s];
      if (section.host_step >= 0) {
        run_host_step(program_.host_steps.at(static_cast<std::size_t>(section.host_step)));
      } else {
        run_section(section, static_cast<std::uint16_t>(s));
      }
    }
    if (unreported_ > 0) {
      result_.warnings.push_back(detail::concat("and ", unreported_, " more reads of bytes never written"));
    }
    return std::move(result_);
  }

 private:
  void run_host_step(const isa::HostStep& step) {
    if (options_.values) {
      TESSERA_CHECK(static_cast<bool>(options_.host_step), "host step ", step.name, " without a function to run it");
      options_.host_step(step, storage_);
    }
    for (const isa::TensorRef& output : step.outputs) scratch_.mark_tensor(program_, output);
  }

  void run_section(const isa::Section& description, std::uint16_t number) {
    const Section section(description, chip_, layer_names_);
    const std::vector<InstructionId> order = legal_order(section, random_.get());
    check_semaphore_overflow(section);
    std::unique_ptr<HappensBefore> before;
    std::unique_ptr<RaceChecker> races;
    if (options_.check_races) {
      before = std::make_unique<HappensBefore>(section);
      races = std::make_unique<RaceChecker>(section, *before, chip_, bases_.base);
    }
    std::vector<std::vector<semantics::Range>> previous(section.queues().size());  // of each queue's last instruction
    for (const InstructionId id : order) {
      const isa::Instruction& instruction = section.at(id);
      const Queue& queue = section.queues()[id.queue];
      if (const auto fault = semantics::find_field_fault(instruction, chip_)) throw_fault(section, id, *fault);
      std::vector<semantics::Range> ranges = semantics::footprint(instruction, chip_);
      if (const auto fault = semantics::find_range_fault(ranges, chip_, bases_.limit)) throw_fault(section, id, *fault);
      if (races) {
        check_own_ranges(section, id, ranges, previous[id.queue]);
        races->access(id, ranges);
      }
      if (options_.check_unwritten) check_unwritten(section, id, ranges);
      if (options_.values) {
        std::vector<std::uint8_t>& sram = result_.sram[queue.core];
        semantics::Memory memory{sram.data(), sram.size(), &dram_};
        semantics::execute_checked(instruction, chip_, memory);
      }
      previous[id.queue] = std::move(ranges);
      result_.macs_useful += semantics::useful_macs(instruction);
      result_.order.push_back({number, queue.core, queue.id, id.index, instruction.header.layer});
    }
  }

  [[noreturn]] static void throw_fault(const Section& section, InstructionId id, const semantics::Fault& fault) {
    throw ProgramError(detail::concat("fault ", isa::to_string(fault.cause), ": section ", section.name(), ", ",
                                      section.text(id), ": ", fault.text));
  }

  void check_unwritten(const Section& section, InstructionId id, const std::vector<semantics::Range>& ranges) {
    const isa::Instruction& instruction = section.at(id);
    semantics::WrittenBytes& written = written_[section.queues()[id.queue].core];
    for (const semantics::UnwrittenRead& read : written.missing(instruction, chip_)) {
      warn(section, id, read.bytes, "SRAM", read.first, read.operand);
    }
    written.mark(instruction, chip_);
    for (const semantics::Range& range : ranges) {
      if (!range.dram || range.base_register != isa::base_register_of(isa::BufferKind::scratch)) continue;
      if (range.write) {
        scratch_.mark(range.begin, range.end);
      } else if (const WrittenDram::Gap gap = scratch_.missing(range.begin, range.end); gap.bytes > 0) {
        warn(section, id, gap.bytes, "DRAM scratch", gap.first, range.operand);
      }
    }
  }

  void warn(const Section& section, InstructionId id, std::int64_t bytes, const char* where, std::int64_t first,
            const char* operand) {
    if (result_.warnings.size() >= kMaxWarnings) {
      ++unreported_;
      return;
    }
    std::ostringstream address;
    address << std::hex << first;
    result_.warnings.push_back(detail::concat("section ", section.name(), ": ", section.text(id), " reads ", bytes,
                                              bytes == 1 ? " byte" : " bytes", " never written, the first at ", where,
                                              " 0x", address.str(), " (", operand, ")"));
  }

  const isa::Program& program_;
  const isa::ChipConfig& chip_;
  hw::DramStorage& storage_;
  hw::BasedStorage dram_;
  const BaseRegisters& bases_;
  const ReferenceOptions& options_;
  std::unique_ptr<Random> random_;
  std::vector<std::string> layer_names_;
  std::vector<semantics::WrittenBytes> written_;  // a core
  WrittenDram scratch_;
  std::size_t unreported_ = 0;
  ReferenceResult result_;
};

}  // namespace

ReferenceResult run_reference(const isa::Program& program, const isa::ChipConfig& chip, hw::DramStorage& dram,
                              const BaseRegisters& bases, const ReferenceOptions& options) {
  return Executor(program, chip, dram, bases, options).run();
}

}  // namespace tessera::reference
