#include "compiler/emit/emit.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "compiler/emit/dma_lane.hpp"
#include "compiler/emit/estimate.hpp"
#include "compiler/emit/order.hpp"
#include "hw/common/error.hpp"
#include "isa/semantics/footprint.hpp"
#include "isa/semantics/legal.hpp"

namespace tessera::compiler {
namespace {

constexpr std::uint32_t kTurnSpace = 512;
constexpr std::uint32_t kDramSpace = 16;  // + base register; below it: SRAM of core i

bool is_dma(isa::QueueId queue) { return queue == isa::QueueId::load || queue == isa::QueueId::store; }

isa::Instruction instruction_of(const WorkItem& item) {
  isa::Instruction instruction;
  instruction.header.layer = item.layer;
  instruction.body = item.body;
  return instruction;
}

OrderItem order_item(const WorkItem& item, const isa::ChipConfig& chip) {
  const isa::Instruction instruction = instruction_of(item);
  if (const auto fault = semantics::find_field_fault(instruction, chip)) {
    TESSERA_CHECK(false, "layer ", item.layer, ", ", item.tile,
                  ": the compiler made an illegal instruction: ", fault->text);
  }
  OrderItem out;
  out.core = item.core;
  out.queue = static_cast<std::uint8_t>(item.queue);
  out.overlaps_in_queue = is_dma(item.queue);
  for (const semantics::Range& range : semantics::footprint(instruction, chip)) {
    const std::uint32_t space = range.dram ? kDramSpace + range.base_register : item.core;
    const RangeUse use{space, static_cast<std::uint64_t>(range.begin), static_cast<std::uint64_t>(range.end),
                       range.write};
    // Neighbouring rows of one operand: one range.
    if (!out.uses.empty() && out.uses.back().space == use.space && out.uses.back().write == use.write &&
        out.uses.back().end == use.begin) {
      out.uses.back().end = use.end;
    } else {
      out.uses.push_back(use);
    }
  }
  if (item.in_turn >= 0) {
    const auto at = static_cast<std::uint64_t>(item.in_turn);
    out.uses.push_back({kTurnSpace + item.core, at, at + 1, true});
  }
  return out;
}

class Emitter {
 public:
  Emitter(Schedule schedule, const isa::ChipConfig& chip, const EmitOptions& options)
      : schedule_(std::move(schedule)), chip_(chip), options_(options), estimate_(chip) {}

  isa::Program emit() {
    isa::Program& program = schedule_.program;
    for (const WorkSection& section : schedule_.sections) {
      if (section.host_step >= 0) {
        host(section);
      } else {
        for (std::size_t first = 0; first < section.items.size();) first = queues(section, first);
      }
    }
    program.schedule = options_.schedule;
    program.predicted.cycles = estimate_.cycles();
    program.predicted.dram_bytes = dram_bytes_;
    for (std::size_t layer = 0; layer < estimate_.layer_ends().size(); ++layer) {
      Cycles& end = program.groups[program.layers[layer].group].predicted_end;
      end = std::max(end, estimate_.layer_ends()[layer]);
    }
    place_instructions();
    return std::move(program);
  }

 private:
  void host(const WorkSection& section) {
    isa::Program& program = schedule_.program;
    const isa::HostStep& step = program.host_steps[static_cast<std::size_t>(section.host_step)];
    isa::Section out;
    out.name = step.name;
    out.host_step = section.host_step;
    out.why = section.why;
    out.crossing_bytes = section.crossing_bytes;
    program.sections.push_back(std::move(out));
    std::int64_t elements = 0, bytes = 0;
    const auto count = [](const isa::TensorRef& t) {
      return std::accumulate(t.shape.begin(), t.shape.end(), std::int64_t{1}, std::multiplies<>());
    };
    for (const isa::TensorRef& t : step.inputs) bytes += count(t);
    for (const isa::TensorRef& t : step.outputs) {
      elements += count(t);
      bytes += count(t);
    }
    estimate_.host(step.layer, elements, bytes);
    dram_bytes_ += bytes;
  }

  /// Emits items [first, ...) as one section, as many as the rings hold; returns where it stopped.
  std::size_t queues(const WorkSection& section, std::size_t first) {
    std::vector<OrderItem> items;
    std::map<std::pair<std::uint8_t, std::uint8_t>, std::int64_t> words;
    std::size_t end = first;
    for (; end < section.items.size(); ++end) {
      OrderItem item = order_item(section.items[end], chip_);
      auto& used = words[{item.core, item.queue}];
      used += static_cast<std::int64_t>(isa::kMaxWords) + 3;  // the longest instruction and three NOPs beside it
      if (used > chip_.cp.ring_words) break;
      items.push_back(std::move(item));
    }
    if (end == first) {
      user_error("cp.ring_words = ", chip_.cp.ring_words, ": a ring must hold at least one instruction");
    }
    OrderOptions order;
    order.one_at_a_time = options_.one_at_a_time;
    const Ordering ordering = order_items(items, order);
    const std::vector<WorkItem> work(section.items.begin() + static_cast<std::ptrdiff_t>(first),
                                     section.items.begin() + static_cast<std::ptrdiff_t>(end));
    isa::Section out;
    out.name = detail::concat("npu", schedule_.program.sections.size());
    out.why = first == 0 ? section.why : "the instruction rings are full (cp.ring_words)";
    out.crossing_bytes = first == 0 ? section.crossing_bytes : 0;
    timed_.clear();
    for (const OrderedItem& ordered : ordering.items) append(out, ordered, work);
    schedule_.program.sections.push_back(std::move(out));
    estimate_.section(timed_);
    return end;
  }

  void append(isa::Section& section, const OrderedItem& ordered, const std::vector<WorkItem>& work) {
    const WorkItem& near = work[static_cast<std::size_t>(ordered.near)];
    if (ordered.item >= 0 && near.delay > 0) {  // a NOP waits in its place, and then so long
      OrderedItem before = ordered;
      before.item = -1;
      before.signals.clear();
      OrderedItem after = ordered;
      after.waits.clear();
      append_one(section, before, near, near.delay);
      append_one(section, after, near, 1);
    } else {
      append_one(section, ordered, near, 1);
    }
  }

  void append_one(isa::Section& section, const OrderedItem& ordered, const WorkItem& near, Cycles nop_cycles) {
    isa::Instruction instruction;
    isa::InstructionInfo info;
    info.layer = near.layer;
    if (ordered.item >= 0) {
      instruction.body = near.body;
      info.kind = near.kind;
      info.useful_bytes = near.useful_bytes;
      info.tile = near.tile;
      if (const auto* load = std::get_if<isa::Load>(&near.body)) dram_bytes_ += dma_bytes(*load);
      if (const auto* store = std::get_if<isa::Store>(&near.body)) dram_bytes_ += dma_bytes(*store);
    } else {
      isa::Nop nop;
      nop.cycles = static_cast<std::uint32_t>(nop_cycles);
      instruction.body = nop;
      info.tile = "waits and signals of " + near.tile;
    }
    instruction.header.layer = near.layer;
    for (std::size_t i = 0; i < ordered.waits.size(); ++i) {
      instruction.header.waits[i] = {ordered.waits[i].semaphore, ordered.waits[i].count};
    }
    for (std::size_t i = 0; i < ordered.signals.size(); ++i) {
      instruction.header.signals[i] = {ordered.signals[i].semaphore, ordered.signals[i].count};
    }
    isa::QueueStream& stream = stream_of(section, ordered.core, ordered.queue);
    const std::vector<isa::Word> words = isa::encode(instruction);
    stream.words.insert(stream.words.end(), words.begin(), words.end());
    stream.info.push_back(std::move(info));
    dram_bytes_ += static_cast<std::int64_t>(words.size() * isa::kWordBytes);
    timed_.push_back({ordered.core, ordered.queue, near.layer, static_cast<std::uint8_t>(words.size()), nop_cycles,
                      ordered.item >= 0 ? &near.body : nullptr, ordered.waits, ordered.signals});
  }

  /// Streams stand in the order core, queue.
  static isa::QueueStream& stream_of(isa::Section& section, std::uint8_t core, std::uint8_t queue) {
    auto at = std::find_if(section.streams.begin(), section.streams.end(), [&](const isa::QueueStream& s) {
      return std::make_pair(s.core, s.queue) >= std::make_pair(core, queue);
    });
    if (at == section.streams.end() || at->core != core || at->queue != queue) {
      isa::QueueStream stream;
      stream.core = core;
      stream.queue = queue;
      at = section.streams.insert(at, std::move(stream));
    }
    return *at;
  }

  void place_instructions() {
    std::uint64_t words = 0;
    for (const isa::Section& section : schedule_.program.sections) {
      for (const isa::QueueStream& stream : section.streams) words += stream.words.size();
    }
    isa::Buffer buffer;
    buffer.name = "instructions";
    buffer.kind = isa::BufferKind::instructions;
    buffer.size = words * isa::kWordBytes;
    buffer.alignment = 4096;
    schedule_.program.buffers.push_back(buffer);
  }

  Schedule schedule_;
  const isa::ChipConfig& chip_;
  EmitOptions options_;
  Estimate estimate_;
  std::vector<TimedInstruction> timed_;  // of the section under way
  std::int64_t dram_bytes_ = 0;
};

}  // namespace

isa::Program emit(Schedule schedule, const isa::ChipConfig& chip, const EmitOptions& options) {
  return Emitter(std::move(schedule), chip, options).emit();
}

}  // namespace tessera::compiler
