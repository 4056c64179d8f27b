#include "compiler/emit/section_run.hpp"

#include <algorithm>
#include <cmath>

#include "hw/common/error.hpp"
#include "isa/semantics/stuck.hpp"

namespace tessera::compiler {
namespace {

constexpr int kFlowsOfACore = 3;  // FETCH, LOAD, STORE
constexpr int kQueuesOfACore = static_cast<int>(isa::kQueueIdValues);
constexpr Cycles kSignalToStart = 2;
constexpr int kLoad = static_cast<int>(isa::QueueId::load), kStore = static_cast<int>(isa::QueueId::store);
constexpr int kNoTag = -1;

int flow_of(int core, int manager) { return core * kFlowsOfACore + manager; }

}  // namespace

SectionRun::SectionRun(const isa::ChipConfig& chip, const MemoryTimes& times,
                       const std::vector<TimedInstruction>& instructions, Finished finished)
    : chip_(chip),
      times_(times),
      instructions_(instructions),
      finished_(std::move(finished)),
      memory_(times.bytes_per_cycle, static_cast<int>(chip.cores) * kFlowsOfACore),
      semaphores_(static_cast<std::size_t>(chip.cores)),
      left_(instructions.size()) {
  for (int core = 0; core < chip.cores; ++core) {
    cores_.push_back({Scratchpad(chip), DmaLane(chip, times, true, flow_of(core, 1)),
                      DmaLane(chip, times, false, flow_of(core, 2)), kNoTag});
  }
  std::vector<int> lane_of(static_cast<std::size_t>(chip.cores * kQueuesOfACore), -1);
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    const TimedInstruction& instruction = instructions[i];
    int& lane = lane_of[static_cast<std::size_t>(instruction.core * kQueuesOfACore + instruction.queue)];
    if (lane < 0) {
      lane = static_cast<int>(lanes_.size());
      lanes_.push_back({instruction.core, instruction.queue, {}, FetchQueue(chip, 0)});
    }
    lanes_[static_cast<std::size_t>(lane)].items.push_back(static_cast<std::int32_t>(i));
    lanes_[static_cast<std::size_t>(lane)].words.add(instruction.words);
  }
}

Cycles SectionRun::run() {
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) fetch(lane);
  Cycles now = 0;
  while (left_ > 0) {
    while (start_all(now)) {
    }
    now = advance(now);
    serve_memory(now);
    finish_all(now);
    for (; !signals_.empty() && signals_.top().cycle <= now; signals_.pop()) {
      const Arrival& a = signals_.top();
      std::uint8_t& value = semaphore(a.core, a.semaphore);
      value = static_cast<std::uint8_t>(value + a.count);
    }
  }
  return last_;
}

DmaLane* SectionRun::dma_of(const Lane& lane) {
  Core& core = cores_[static_cast<std::size_t>(lane.core)];
  if (lane.queue == kLoad) return &core.load;
  if (lane.queue == kStore) return &core.store;
  return nullptr;
}

std::uint8_t& SectionRun::semaphore(int core, int number) {
  const bool global = number >= semantics::kLocalSemaphores;
  return semaphores_[global ? 0 : static_cast<std::size_t>(core)][static_cast<std::size_t>(number)];
}

bool SectionRun::waits_met(const TimedInstruction& instruction) {
  return std::all_of(instruction.waits.begin(), instruction.waits.end(), [&](const SemaphoreStep& wait) {
    return semaphore(instruction.core, wait.semaphore) >= wait.count;
  });
}

void SectionRun::fetch(std::size_t lane) {
  const std::int64_t words = lanes_[lane].words.raise();
  if (words == 0) return;
  memory_.offer(flow_of(lanes_[lane].core, 0), static_cast<double>(words * static_cast<std::int64_t>(isa::kWordBytes)),
                times_.port_bytes, static_cast<int>(lane));
}

void SectionRun::serve_memory(Cycles n) {
  served_.clear();
  memory_.advance(static_cast<double>(n), served_);
  for (const MemoryFlow::Served& s : served_) {
    Core& core = cores_[static_cast<std::size_t>(s.flow / kFlowsOfACore)];
    switch (s.flow % kFlowsOfACore) {
      case 0: {
        // A burst of words goes behind the reads of LOAD that stand in the channels' queues.
        double before = 0;
        for (std::size_t c = 0; c < cores_.size(); ++c) before += memory_.backlog(flow_of(static_cast<int>(c), 1));
        const double wait = std::min(before, times_.queue_bytes) / times_.bytes_per_cycle;
        words_.push({static_cast<Cycles>(std::ceil(s.time + wait)) + times_.read, s.tag, 0, 0});
        break;
      }
      case 1:
        core.load.served(s.tag, s.time, s.tag == core.loading ? core.units.end_stream(kLoad) : 0);
        core.loading = kNoTag;
        break;
      default:
        core.store.served(s.tag, s.time, 0);
        break;
    }
  }
  for (; !words_.empty() && words_.top().cycle <= n; words_.pop()) {
    const auto lane = static_cast<std::size_t>(words_.top().core);
    lanes_[lane].words.arrive(words_.top().cycle);
    fetch(lane);
  }
}

void SectionRun::finish_all(Cycles n) {
  std::vector<hw::PortMask> compute;
  for (Core& core : cores_) compute.push_back(core.units.take_finished(n));
  for (Lane& lane : lanes_) {
    if (DmaLane* dma = dma_of(lane)) {
      while (dma->finish() <= n) finish(dma->take_finished(), n);
    } else if (lane.nop_end <= n || (compute[static_cast<std::size_t>(lane.core)] >> lane.queue & 1) != 0) {
      lane.nop_end = kNever;
      finish(lane.running, n);
      lane.running = -1;
    }
  }
}

void SectionRun::finish(std::int32_t item, Cycles n) {
  const TimedInstruction& instruction = instructions_[static_cast<std::size_t>(item)];
  for (const SemaphoreStep& signal : instruction.signals) {
    const bool global = signal.semaphore >= semantics::kLocalSemaphores;
    const Cycles hop = global ? chip_.chip.semaphore_hop_cycles : 0;
    signals_.push({n + kSignalToStart + hop, instruction.core, signal.semaphore, signal.count});
  }
  finished_(instruction, n);
  last_ = std::max(last_, n);
  --left_;
}

bool SectionRun::start_all(Cycles n) {
  bool started = false;
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) started |= start_head(lane, n);
  return started;
}

bool SectionRun::start_head(std::size_t at, Cycles n) {
  Lane& lane = lanes_[at];
  if (lane.words.done() || lane.words.ready() > n) return false;
  const std::int32_t item = lane.items[lane.words.head()];
  const TimedInstruction& instruction = instructions_[static_cast<std::size_t>(item)];
  const bool nop = instruction.work == nullptr;
  DmaLane* dma = dma_of(lane);
  if (dma != nullptr ? !dma->ready(nop, n, memory_) : lane.running >= 0) return false;
  if (!waits_met(instruction)) return false;
  for (const SemaphoreStep& wait : instruction.waits) {
    std::uint8_t& value = semaphore(lane.core, wait.semaphore);
    value = static_cast<std::uint8_t>(value - wait.count);
  }
  if (dma != nullptr) {
    nop ? dma->start_nop(item, n, instruction.nop_cycles) : dma->start(item, n, *instruction.work, memory_);
    if (!nop && lane.queue == kStore) begin_store(lane.core, item);
  } else {
    lane.running = item;
    if (nop) {
      lane.nop_end = n + instruction.nop_cycles;
    } else {
      cores_[static_cast<std::size_t>(lane.core)].units.start(lane.queue, n, *instruction.work);
    }
  }
  lane.words.pop(n);
  fetch(at);
  return true;
}

/// Tells the scratchpads which lines LOAD writes now. (STORE reads its lines when it starts.)
void SectionRun::pace_loads() {
  for (std::size_t c = 0; c < cores_.size(); ++c) {
    Core& core = cores_[c];
    const auto front = memory_.front(flow_of(static_cast<int>(c), 1));
    const int tag = front ? front->tag : kNoTag;
    if (tag != core.loading) {
      core.loading = tag;
      if (front) core.units.begin_stream(kLoad, stream_of(tag));
    }
    if (!front) continue;
    const auto lines = static_cast<double>(core.units.stream_lines(kLoad));
    core.units.pace_stream(kLoad, lines * (1 - front->left / front->bytes), lines * front->rate / front->bytes);
  }
}

/// STORE fills its buffer at a line a cycle, the rest at the pace of the DRAM.
void SectionRun::begin_store(int core, int item) {
  Scratchpad& units = cores_[static_cast<std::size_t>(core)].units;
  units.begin_stream(kStore, stream_of(item));
  const std::int64_t bytes = units.stream_lines(kStore) * chip_.sram.line_bytes;
  const double slow = times_.bytes_per_cycle / static_cast<double>(chip_.sram.line_bytes);
  units.pace_stream(kStore, 0, bytes <= chip_.store.buffer_bytes ? 1.0 : std::min(1.0, slow));
}

DmaStream SectionRun::stream_of(int item) const {
  const isa::Body& work = *instructions_[static_cast<std::size_t>(item)].work;
  const auto* load = std::get_if<isa::Load>(&work);
  return {load != nullptr ? semantics::dma_shape(*load) : semantics::dma_shape(std::get<isa::Store>(work)), chip_};
}

/// All cores stop where the first of them has a finish; a core that steps cannot go back, so several go cycle by cycle.
Cycles SectionRun::run_units(Cycles n, Cycles until) {
  for (Core& core : cores_) until = std::min(until, core.units.first_known_finish());
  const bool stepping = std::any_of(cores_.begin(), cores_.end(), [](Core& core) { return core.units.stepping(); });
  for (Cycles at = stepping && cores_.size() > 1 ? n + 1 : until;; ++at) {
    Cycles reached = at;
    for (Core& core : cores_) reached = std::min(reached, core.units.run(at));
    const bool finished = std::any_of(cores_.begin(), cores_.end(), [](Core& core) { return core.units.finished(); });
    if (at >= until || finished) return reached;
  }
}

/// To the next cycle in which something may happen.
Cycles SectionRun::advance(Cycles n) {
  Cycles next = kNever;
  const double served = memory_.next();
  if (served < static_cast<double>(kNever)) next = static_cast<Cycles>(std::ceil(served));
  if (!signals_.empty()) next = std::min(next, signals_.top().cycle);
  if (!words_.empty()) next = std::min(next, words_.top().cycle);
  for (Lane& lane : lanes_) {
    next = std::min(next, lane.nop_end);
    if (!lane.words.done() && lane.words.ready() > n) next = std::min(next, lane.words.ready());
    const DmaLane* dma = dma_of(lane);
    if (dma == nullptr) continue;
    next = std::min(next, dma->finish());
    if (!lane.words.done() && lane.words.ready() <= n) next = std::min(next, dma->next_ready(n, memory_));
  }
  pace_loads();
  next = run_units(n, std::max(next, n + 1));
  TESSERA_CHECK(next < kNever, "the predicted program is stuck in cycle ", n, " with ", left_, " instructions left");
  return next;
}

}  // namespace tessera::compiler
