// Dependence synthesis: from instructions in *program order* (executed one by one the result is right) to waits and
// signals under which the queues may run decoupled and still every pair of overlapping ranges, one of them written, is
// ordered (MACHINE.md section 3). Knows nothing of what instructions do, only which bytes they touch.
//   1. byte ranges -> an edge from the last writer (and, for a write, from the readers since) in another queue;
//   2. edges implied by other edges and by queue order are dropped (vector clocks);
//   3. one counting semaphore an ordered pair of queues, one token an edge; queues of different cores: global ones;
//   4. more than four waits or signals go to NOPs before or after; a semaphore that could pass its limit gets an edge
//      back from its consumer.
#pragma once

#include <cstdint>
#include <vector>

namespace tessera::compiler {

/// Bytes [begin, end) of one memory that an item reads or writes. `space`: any numbering of memories.
struct RangeUse {
  std::uint32_t space = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool write = false;
};

struct OrderItem {
  std::uint8_t core = 0;
  std::uint8_t queue = 0;
  bool overlaps_in_queue = false;  // LOAD, STORE: the next item of the queue may start before this one finishes
  std::vector<RangeUse> uses;
};

struct SemaphoreStep {
  std::uint8_t semaphore = 0;
  std::uint8_t count = 0;
};

struct OrderedItem {
  std::int32_t item = -1;  // index into the items; -1: a NOP that only carries waits or signals
  std::int32_t near = -1;  // the item that a NOP belongs to (itself for items)
  std::uint8_t core = 0;
  std::uint8_t queue = 0;
  std::vector<SemaphoreStep> waits;    // at most 4
  std::vector<SemaphoreStep> signals;  // at most 4
};

struct OrderOptions {
  bool one_at_a_time = false;  // naive: every item also waits for its predecessor in program order
  int semaphore_limit = 192;   // tokens that may gather in a semaphore; the machine faults above 255
};

struct Ordering {
  std::vector<OrderedItem> items;  // program order
};

[[nodiscard]] Ordering order_items(const std::vector<OrderItem>& items, const OrderOptions& options);

}  // namespace tessera::compiler
