#include "hw/models/cp/cp_core.hpp"

#include <algorithm>
#include <utility>

#include "hw/common/error.hpp"

namespace tessera::hw {
namespace {

constexpr std::uint64_t kWordBytes = isa::kWordBytes;
constexpr std::uint64_t kBoundary = 4096;

std::uint32_t bit(int q) { return std::uint32_t{1} << q; }
std::size_t at(int i) { return static_cast<std::size_t>(i); }

}  // namespace

CpCore::CpCore(const CpConfig& config, Check check, ReadWord read_word)
    : config_(config), check_(std::move(check)), read_word_(std::move(read_word)) {}

void CpCore::set_ring(int queue, std::uint64_t base, std::uint32_t words) {
  CpQueueState& q = queues_[at(queue)];
  TESSERA_CHECK(base % kWordBytes == 0, "ring of queue ", queue, " at ", base, " is not word aligned");
  q.ring_base = base;
  q.ring_words = words;
}

void CpCore::set_write_pointer(int queue, std::uint32_t words) { queues_[at(queue)].write_pointer = words; }

void CpCore::doorbell() {
  TESSERA_CHECK(fetches_ == 0 && !ar_held_, "doorbell while fetching");
  clear_queues();
}

void CpCore::clear_queues() {
  for (CpQueueState& q : queues_) {
    const CpQueueState old = std::move(q);
    q = CpQueueState{};
    q.ring_base = old.ring_base;
    q.ring_words = old.ring_words;
    q.write_pointer = old.write_pointer;
  }
  fault_ = CpFault{};
  first_ = 0;
}

/// The end of a soft reset.
void CpCore::clear() {
  clear_queues();
  settled_.fill(0);
  arriving_.fill(0);
  any_arriving_ = false;
  resetting_ = false;
}

int CpCore::semaphore(int s) const { return settled_[at(s)] + arriving_[at(s)]; }

int CpCore::unmet_wait(int q) const {
  const isa::Header& header = queues_[at(q)].head.header;
  if (blocked_) return blocked_(q) ? header.waits[0].semaphore : -1;
  for (std::size_t i = 0; i < header.waits.size(); ++i) {
    const isa::Wait& wait = header.waits[i];
    if (wait.count == 0) continue;
    int need = wait.count;  // two waits on one semaphore add up
    for (std::size_t k = 0; k < i; ++k) {
      if (header.waits[k].count != 0 && header.waits[k].semaphore == wait.semaphore) need += header.waits[k].count;
    }
    if (settled_[wait.semaphore] < need) return wait.semaphore;
  }
  return -1;
}

std::uint32_t CpCore::halted() const {
  std::uint32_t mask = 0;
  for (int q = 0; q < kQueues; ++q) {
    if (queues_[at(q)].halted) mask |= bit(q);
  }
  return mask;
}

bool CpCore::fetch_pending(const CpQueueState& queue) const {
  return !queue.halted && queue.requested != queue.write_pointer * kWordBytes;
}

bool CpCore::may_fetch(const CpQueueState& queue, FetchBurst& burst) const {
  if (!fetch_pending(queue) || queue.outstanding) return false;
  const auto data = static_cast<std::uint64_t>(config_.data_bytes);
  const std::uint64_t slot = queue.requested / kWordBytes % queue.ring_words;
  const std::uint64_t in_word = queue.requested % kWordBytes;
  const std::uint64_t address = queue.ring_base + slot * kWordBytes + in_word;
  const std::uint64_t skip = address % data;
  const std::uint64_t limit = static_cast<std::uint64_t>(config_.max_burst_beats) * data;
  const std::uint64_t room = std::min(kBoundary - address % kBoundary, limit - skip);
  std::uint64_t bytes = kWordBytes - in_word;  // the rest of a word: its place in the buffer is taken already
  if (in_word == 0) {
    const std::int64_t remaining = queue.write_pointer - static_cast<std::int64_t>(queue.requested / kWordBytes);
    const std::int64_t free = config_.prefetch_words - static_cast<std::int64_t>(queue.buffer.size());
    // At most so many words of an incomplete instruction stand in the buffer: the other room always comes.
    constexpr auto kIncomplete = static_cast<std::int64_t>(isa::kMaxWords - 1);
    if (free < std::min({config_.fetch_words, remaining, config_.prefetch_words - kIncomplete})) return false;
    const std::int64_t words =
        std::min({config_.fetch_words, remaining, free, static_cast<std::int64_t>(queue.ring_words - slot)});
    bytes = static_cast<std::uint64_t>(words) * kWordBytes;
    if (room >= kWordBytes) bytes = std::min(bytes, room / kWordBytes * kWordBytes);
  }
  bytes = std::min(bytes, room);
  burst.address = address - skip;
  burst.skip_bytes = static_cast<int>(skip);
  burst.bytes = static_cast<std::int64_t>(bytes);
  burst.beats = static_cast<int>((skip + bytes + data - 1) / data);
  return true;
}

CpOutputs CpCore::outputs(const CpInputs& in) {
  CpOutputs out;
  bool waiting = false, moving = in.busy != 0 || in.done != 0 || any_arriving_ || fetches_ > 0 || ar_held_ ||
                                 !in.remote.empty() || in.bus_error != 0;
  if (resetting_) {
    out.reset_done = !moving;
    return out;
  }
  for (int q = 0; q < kQueues; ++q) {
    const CpQueueState& queue = queues_[at(q)];
    if (queue.halted || queue.exhausted()) continue;
    if (!queue.head_valid) {
      moving = true;
      continue;
    }
    if (queue.head_fault != isa::FaultCause::none) {
      out.fault |= bit(q);
      out.cause[at(q)] = queue.head_fault;
      moving = true;
      continue;
    }
    const bool nop = queue.head.header.opcode == isa::Opcode::nop;
    const bool ready = ((nop ? in.ready_nop : in.ready) & bit(q)) != 0;
    if (unmet_wait(q) >= 0) {
      waiting = true;
      continue;
    }
    moving = true;
    if (!ready) continue;
    const isa::FaultCause cause = nop ? isa::FaultCause::none : check_(queue.head, fault_text_[at(q)]);
    if (cause != isa::FaultCause::none) {
      out.fault |= bit(q);
      out.cause[at(q)] = cause;
    } else {
      out.start |= bit(q);
    }
  }
  if (!moving) {
    if (waiting || halted() != 0) {
      out.stuck = true;
    } else {
      out.quiet = true;
    }
  }
  if (!ar_held_) {
    for (int i = 0; i < kQueues && !out.raise_ar; ++i) {
      const int q = (first_ + i) % kQueues;
      if (may_fetch(queues_[at(q)], out.ar)) {
        out.raise_ar = true;
        out.ar_queue = q;
      }
    }
  }
  return out;
}

void CpCore::halt(int q, std::uint32_t index, isa::FaultCause cause, std::string text) {
  CpQueueState& queue = queues_[at(q)];
  queue.halted = true;
  if (!fault_.any) fault_ = {true, q, index, cause, std::move(text)};
}

bool CpCore::add(int semaphore, int amount, int queue) {
  if (amount == 0 || blocked_) return false;
  int& arriving = arriving_[at(semaphore)];
  if (settled_[at(semaphore)] + arriving + amount > kSemaphoreMax) {
    halt(queue, queues_[at(queue)].read_pointer, isa::FaultCause::semaphore_overflow,
         detail::concat("semaphore ", semaphore, " would reach ", settled_[at(semaphore)] + arriving + amount));
    return true;
  }
  arriving += amount;
  any_arriving_ = true;
  return true;
}

bool CpCore::take_beat(int q) {
  CpQueueState& queue = queues_[at(q)];
  TESSERA_CHECK(queue.outstanding, "fetch beat for queue ", q, " without a burst");
  ++queue.burst_beats;
  const std::int64_t came =
      std::min(queue.burst_beats * config_.data_bytes - queue.burst.skip_bytes, queue.burst.bytes);
  const std::uint64_t whole = (queue.arrived + static_cast<std::uint64_t>(came)) / kWordBytes;
  for (; queue.words < whole; ++queue.words) {
    queue.buffer.push_back(read_word_(queue.ring_base + queue.words % queue.ring_words * kWordBytes));
  }
  if (queue.burst_beats == queue.burst.beats) {
    queue.outstanding = false;
    queue.arrived += static_cast<std::uint64_t>(queue.burst.bytes);
    --fetches_;
  }
  return true;
}

bool CpCore::load_head(Cycles n, int q) {
  CpQueueState& queue = queues_[at(q)];
  if (queue.buffer.empty()) return false;
  const std::size_t words = (queue.buffer.front()[1] & 3u) + std::size_t{1};
  if (queue.buffer.size() < words) {
    // The write pointer cuts the instruction: nothing more will come.
    if (fetch_pending(queue) || queue.outstanding) return false;
    queue.head_fault = isa::FaultCause::illegal_word;
    fault_text_[at(q)] = "the write pointer ends inside an instruction";
    queue.head_words = static_cast<std::uint32_t>(queue.buffer.size());
    queue.buffer.clear();
  } else {
    std::array<isa::Word, isa::kMaxWords> raw{};
    std::copy_n(queue.buffer.begin(), words, raw.begin());
    queue.buffer.erase(queue.buffer.begin(), queue.buffer.begin() + static_cast<std::ptrdiff_t>(words));
    isa::DecodeResult decoded = isa::decode(raw.data(), words);
    queue.head_fault = decoded.cause;
    fault_text_[at(q)] = decoded.text;
    queue.head_words = static_cast<std::uint32_t>(words);
    if (decoded.ok()) {
      queue.head = std::move(decoded.instruction);
      const auto id = static_cast<isa::QueueId>(q);
      if (!isa::queue_accepts(id, queue.head.header.opcode)) {
        queue.head_fault = isa::FaultCause::illegal_word;
        fault_text_[at(q)] =
            detail::concat("queue ", isa::to_string(id), " does not accept ", isa::to_string(queue.head.header.opcode));
      }
    }
  }
  queue.head_valid = true;
  queue.head_since = n + 1;
  return true;
}

bool CpCore::commit(Cycles n, const CpInputs& in, const CpOutputs& out, bool ar_accepted, bool ar_handshake) {
  if (out.reset_done) {
    clear();
    return false;
  }
  bool changed = out.start != 0 || out.fault != 0 || out.raise_ar || ar_handshake || any_arriving_;
  // 1. Semaphores: what arrived is settled, starts subtract, new signals arrive.
  if (any_arriving_) {
    for (std::size_t s = 0; s < arriving_.size(); ++s) settled_[s] += arriving_[s];
    arriving_.fill(0);
    any_arriving_ = false;
  }
  for (int q = 0; q < kQueues; ++q) {
    CpQueueState& queue = queues_[at(q)];
    if ((out.start & bit(q)) != 0) {
      if (!blocked_) {
        for (const isa::Wait& wait : queue.head.header.waits) settled_[wait.semaphore] -= wait.count;
      }
      queue.head_valid = false;
      queue.read_pointer += queue.head_words;
    }
    if ((out.fault & bit(q)) != 0) {
      halt(q, queue.read_pointer, out.cause[at(q)], fault_text_[at(q)]);
    }
    if ((in.bus_error & bit(q)) != 0) {
      halt(q, queue.read_pointer, isa::FaultCause::bus_error, "AXI answered with an error");
      changed = true;
    }
  }
  for (int q = 0; q < kQueues; ++q) {
    if ((in.done & bit(q)) == 0) continue;
    changed = true;
    for (const isa::Signal& signal : in.signals[at(q)]) {
      if (signal.semaphore < kLocalSemaphores) (void)add(signal.semaphore, signal.amount, q);
    }
  }
  for (const isa::Signal& signal : in.remote) {
    changed = true;
    (void)add(signal.semaphore, signal.amount, static_cast<int>(isa::QueueId::load));
  }
  // 2. Heads: from the words that stood in the buffer in this cycle.
  for (int q = 0; q < kQueues; ++q) {
    CpQueueState& queue = queues_[at(q)];
    if (!queue.head_valid && !queue.halted && load_head(n, q)) changed = true;
  }
  // 3. FETCH: beats of this cycle, then the AR.
  if (in.beat_queue >= 0) changed |= take_beat(in.beat_queue);
  if (out.raise_ar) {
    CpQueueState& queue = queues_[at(out.ar_queue)];
    queue.outstanding = true;
    queue.burst = out.ar;
    queue.burst_beats = 0;
    queue.requested += static_cast<std::uint64_t>(out.ar.bytes);
    ++fetches_;
    first_ = (out.ar_queue + 1) % kQueues;
    ar_held_ = !ar_accepted;
  }
  if (ar_handshake) ar_held_ = false;
  return changed;
}

}  // namespace tessera::hw
