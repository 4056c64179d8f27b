#include "compiler/emit/order.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include "hw/common/error.hpp"

namespace tessera::compiler {
namespace {

constexpr int kQueues = 16;  // queue ids a core
constexpr int kWaitsAnInstruction = 4;
constexpr int kLocalSemaphores = 64;
constexpr int kGlobalFirst = 64;
constexpr int kGlobalSemaphores = 64;
constexpr int kMaxCores = 2;
constexpr int kLanes = kQueues * kMaxCores;

using Clock = std::array<std::int32_t, kLanes>;  // per queue: items known to have finished

int lane_of(const OrderItem& item) { return item.core * kQueues + item.queue; }

void join(Clock& into, const Clock& other) {
  for (int i = 0; i < kLanes; ++i)
    into[static_cast<std::size_t>(i)] = std::max(into[static_cast<std::size_t>(i)], other[static_cast<std::size_t>(i)]);
}

/// Who wrote a range last and who read it since: one item a queue is enough, queues finish in order.
class UseMap {
 public:
  /// Calls found(item) for every earlier item that `use` must follow, then records it.
  template <typename Found>
  void touch(const RangeUse& use, std::int32_t item, int lane, Found found) {
    if (use.begin >= use.end) return;
    split(use.begin);
    split(use.end);
    auto it = segments_.lower_bound(use.begin);
    std::uint64_t at = use.begin;
    while (at < use.end) {
      if (it == segments_.end() || it->first > at) {  // never touched before
        const std::uint64_t stop = it == segments_.end() ? use.end : std::min(use.end, it->first);
        it = segments_.emplace_hint(it, at, Segment{stop, -1, {}});
      }
      Segment& s = it->second;
      if (s.writer >= 0) found(s.writer);
      if (use.write) {
        for (const Reader& r : s.readers) found(r.item);
        s.readers.clear();
        s.writer = item;
      } else {
        const auto same =
            std::find_if(s.readers.begin(), s.readers.end(), [&](const Reader& r) { return r.lane == lane; });
        if (same == s.readers.end()) {
          s.readers.push_back({lane, item});
        } else {
          same->item = item;
        }
      }
      at = s.end;
      ++it;
    }
    if (use.write) unite(use.begin, use.end);
  }

 private:
  struct Reader {
    int lane;
    std::int32_t item;
  };
  struct Segment {
    std::uint64_t end;
    std::int32_t writer;
    std::vector<Reader> readers;
  };
  void split(std::uint64_t at) {
    auto it = segments_.upper_bound(at);
    if (it == segments_.begin()) return;
    --it;
    if (it->first == at || it->second.end <= at) return;
    Segment upper = it->second;
    it->second.end = at;
    segments_.emplace(at, std::move(upper));
  }
  /// After a write the whole range has one writer and no reader: one segment.
  void unite(std::uint64_t begin, std::uint64_t end) {
    const auto first = segments_.find(begin);
    auto it = std::next(first);
    while (it != segments_.end() && it->first < end) it = segments_.erase(it);
    first->second.end = end;
  }
  std::map<std::uint64_t, Segment> segments_;
};

struct Edge {
  std::int32_t producer, consumer;
};

/// Every item's earlier items of other queues that it must follow: the latest of each queue.
std::vector<std::vector<std::int32_t>> candidates(const std::vector<OrderItem>& items, bool one_at_a_time) {
  std::vector<std::vector<std::int32_t>> out(items.size());
  std::unordered_map<std::uint32_t, UseMap> maps;
  for (std::size_t i = 0; i < items.size(); ++i) {
    std::array<std::int32_t, kLanes> latest;
    latest.fill(-1);
    const auto found = [&](std::int32_t earlier) {
      const int lane = lane_of(items[static_cast<std::size_t>(earlier)]);
      latest[static_cast<std::size_t>(lane)] = std::max(latest[static_cast<std::size_t>(lane)], earlier);
    };
    const auto self = static_cast<std::int32_t>(i);
    // Reads first: what an item reads and writes itself is no edge.
    for (const bool write : {false, true}) {
      for (const RangeUse& use : items[i].uses) {
        if (use.write == write) {
          maps[use.space].touch(use, self, lane_of(items[i]), [&](std::int32_t earlier) {
            if (earlier != self) found(earlier);
          });
        }
      }
    }
    if (one_at_a_time && i > 0) found(self - 1);
    latest[static_cast<std::size_t>(lane_of(items[i]))] = -1;
    for (const std::int32_t earlier : latest) {
      if (earlier >= 0) out[i].push_back(earlier);
    }
    std::sort(out[i].begin(), out[i].end(), std::greater<>());
  }
  return out;
}

struct Reduced {
  std::vector<std::vector<std::int32_t>> producers;
  std::vector<Clock> finish;
  std::vector<std::int32_t> sequence;  // position in its queue, from 1
};

/// Drops the edges that queue order and other edges imply.
Reduced reduce(const std::vector<OrderItem>& items, const std::vector<std::vector<std::int32_t>>& wanted) {
  Reduced r;
  r.producers.resize(items.size());
  r.finish.resize(items.size());
  r.sequence.resize(items.size());
  std::array<Clock, kLanes> lane_start{}, lane_finish{};
  std::array<std::int32_t, kLanes> count{};
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto lane = static_cast<std::size_t>(lane_of(items[i]));
    Clock start = items[i].overlaps_in_queue ? lane_start[lane] : lane_finish[lane];
    for (const std::int32_t p : wanted[i]) {
      const auto producer = static_cast<std::size_t>(p);
      const auto producer_lane = static_cast<std::size_t>(lane_of(items[producer]));
      if (start[producer_lane] >= r.sequence[producer]) continue;
      r.producers[i].push_back(p);
      join(start, r.finish[producer]);
    }
    r.sequence[i] = ++count[lane];
    Clock finish = start;
    join(finish, lane_finish[lane]);
    finish[lane] = r.sequence[i];
    r.finish[i] = finish;
    lane_start[lane] = start;
    lane_finish[lane] = finish;
  }
  return r;
}

using LanePair = std::pair<int, int>;  // producer's, consumer's queue

/// Edges of each ordered pair of queues, in order.
std::map<LanePair, std::vector<Edge>> tokens_of(const std::vector<OrderItem>& items, const Reduced& r) {
  std::map<LanePair, std::vector<Edge>> pairs;
  for (std::size_t i = 0; i < items.size(); ++i) {
    for (const std::int32_t p : r.producers[i]) {
      pairs[{lane_of(items[static_cast<std::size_t>(p)]), lane_of(items[i])}].push_back(
          {p, static_cast<std::int32_t>(i)});
    }
  }
  return pairs;
}

/// Edges that keep every semaphore at or below the limit; empty when none is needed: the producer waits for an earlier
/// consumer, or, where all of these come later in program order, one consumer waits for a later producer, which makes
/// the tokens between needless.
std::vector<Edge> throttles(const std::map<LanePair, std::vector<Edge>>& pairs, const Reduced& r, int limit) {
  std::vector<Edge> extra;
  for (const auto& [pair, edges] : pairs) {
    std::size_t consumed = 0;  // tokens certainly taken when token k is issued
    for (std::size_t k = 0; k < edges.size(); ++k) {
      const Clock& known = r.finish[static_cast<std::size_t>(edges[k].producer)];
      while (consumed < k && r.sequence[static_cast<std::size_t>(edges[consumed].consumer)] <=
                                 known[static_cast<std::size_t>(pair.second)]) {
        ++consumed;
      }
      if (k + 1 - consumed <= static_cast<std::size_t>(limit)) continue;
      const Edge back{edges[k - static_cast<std::size_t>(limit) / 2].consumer, edges[k].producer};
      extra.push_back(back.producer < back.consumer ? back : Edge{back.consumer, back.producer});
      break;  // one a pair and round: the rest may follow from it
    }
  }
  return extra;
}

/// Semaphore of each pair: local ones per core, global ones between cores.
std::map<LanePair, std::uint8_t> number_semaphores(const std::map<LanePair, std::vector<Edge>>& pairs) {
  std::map<LanePair, std::uint8_t> numbers;
  std::array<int, kMaxCores> local{};
  int global = 0;
  for (const auto& entry : pairs) {
    const LanePair pair = entry.first;
    const int core = pair.first / kQueues;
    if (core == pair.second / kQueues) {
      TESSERA_CHECK(local[static_cast<std::size_t>(core)] < kLocalSemaphores, "more than 64 pairs of queues in use");
      numbers[pair] = static_cast<std::uint8_t>(local[static_cast<std::size_t>(core)]++);
    } else {
      TESSERA_CHECK(global < kGlobalSemaphores, "more than 64 pairs of queues between cores");
      numbers[pair] = static_cast<std::uint8_t>(kGlobalFirst + global++);
    }
  }
  return numbers;
}

template <typename Emit>
void in_fours(std::vector<SemaphoreStep>& steps, Emit emit) {
  while (steps.size() > kWaitsAnInstruction) {
    emit(std::vector<SemaphoreStep>(steps.end() - kWaitsAnInstruction, steps.end()));
    steps.resize(steps.size() - kWaitsAnInstruction);
  }
}

}  // namespace

Ordering order_items(const std::vector<OrderItem>& items, const OrderOptions& options) {
  for (const OrderItem& item : items) {
    TESSERA_CHECK(item.core < kMaxCores && item.queue < kQueues, "core ", int{item.core}, " queue ", int{item.queue});
  }
  std::vector<std::vector<std::int32_t>> wanted = candidates(items, options.one_at_a_time);
  Reduced reduced = reduce(items, wanted);
  std::map<LanePair, std::vector<Edge>> pairs = tokens_of(items, reduced);
  for (;;) {
    const std::vector<Edge> extra = throttles(pairs, reduced, options.semaphore_limit);
    if (extra.empty()) break;
    for (const Edge& edge : extra) {
      auto& list = wanted[static_cast<std::size_t>(edge.consumer)];
      list.insert(std::upper_bound(list.begin(), list.end(), edge.producer, std::greater<>()), edge.producer);
    }
    reduced = reduce(items, wanted);
    pairs = tokens_of(items, reduced);
  }
  const auto numbers = number_semaphores(pairs);
  std::vector<std::vector<SemaphoreStep>> waits(items.size()), signals(items.size());
  for (const auto& [pair, edges] : pairs) {
    for (const Edge& edge : edges) {
      waits[static_cast<std::size_t>(edge.consumer)].push_back({numbers.at(pair), 1});
      signals[static_cast<std::size_t>(edge.producer)].push_back({numbers.at(pair), 1});
    }
  }
  Ordering ordering;
  ordering.items.reserve(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto self = static_cast<std::int32_t>(i);
    OrderedItem item{self, self, items[i].core, items[i].queue, {}, {}};
    in_fours(waits[i], [&](std::vector<SemaphoreStep> four) {
      ordering.items.push_back({-1, self, items[i].core, items[i].queue, std::move(four), {}});
    });
    std::vector<OrderedItem> after;
    in_fours(signals[i], [&](std::vector<SemaphoreStep> four) {
      after.push_back({-1, self, items[i].core, items[i].queue, {}, std::move(four)});
    });
    item.waits = std::move(waits[i]);
    item.signals = std::move(signals[i]);
    ordering.items.push_back(std::move(item));
    ordering.items.insert(ordering.items.end(), after.begin(), after.end());
  }
  return ordering;
}

}  // namespace tessera::compiler
