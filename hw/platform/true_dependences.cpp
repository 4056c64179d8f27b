#include "hw/platform/true_dependences.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "hw/common/error.hpp"
#include "isa/semantics/footprint.hpp"
#include "isa/semantics/stuck.hpp"

namespace tessera::platform {
namespace {

struct InstructionId {
  std::size_t stream = 0;
  std::uint32_t index = 0;
};

/// Who wrote each byte last, as disjoint intervals.
class LastWriters {
 public:
  void write(std::int64_t begin, std::int64_t end, InstructionId writer) {
    split(begin);
    split(end);
    intervals_.erase(intervals_.lower_bound(begin), intervals_.lower_bound(end));
    intervals_[begin] = {end, writer};
  }
  template <typename F>
  void for_each(std::int64_t begin, std::int64_t end, F&& f) const {
    auto at = intervals_.upper_bound(begin);
    if (at != intervals_.begin() && std::prev(at)->second.end > begin) --at;
    for (; at != intervals_.end() && at->first < end; ++at) f(at->second.writer);
  }

 private:
  struct Interval {
    std::int64_t end = 0;
    InstructionId writer;
  };
  void split(std::int64_t place) {
    auto at = intervals_.lower_bound(place);
    if (at == intervals_.begin()) return;
    --at;
    if (at->second.end <= place) return;
    intervals_[place] = at->second;
    at->second.end = place;
  }
  std::map<std::int64_t, Interval> intervals_;
};

/// An order in which the semaphores let the instructions run.
std::vector<InstructionId> legal_order(const std::vector<DecodedStream>& streams) {
  std::map<std::pair<int, int>, int> value;  // (core or -1 for global, semaphore)
  const auto cell = [&](const DecodedStream& stream, int semaphore) -> int& {
    return value[{semaphore >= semantics::kLocalSemaphores ? -1 : int{stream.core}, semaphore}];
  };
  std::vector<std::uint32_t> head(streams.size(), 0);
  std::vector<InstructionId> order;
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t s = 0; s < streams.size(); ++s) {
      const DecodedStream& stream = streams[s];
      while (head[s] < stream.instructions.size()) {
        const isa::Header& header = stream.instructions[head[s]].header;
        const bool ready = std::all_of(header.waits.begin(), header.waits.end(), [&](const isa::Wait& wait) {
          return wait.count == 0 || cell(stream, wait.semaphore) >= wait.count;
        });
        if (!ready) break;
        for (const isa::Wait& wait : header.waits) cell(stream, wait.semaphore) -= wait.count;
        for (const isa::Signal& signal : header.signals) cell(stream, signal.semaphore) += signal.amount;
        order.push_back({s, head[s]++});
        moved = true;
      }
    }
  }
  for (std::size_t s = 0; s < streams.size(); ++s) {
    if (head[s] != streams[s].instructions.size())
      throw ProgramError("stuck: run it without ideal overlap for the cause");
  }
  return order;
}

}  // namespace

std::vector<std::vector<std::vector<Dependence>>> true_dependences(const std::vector<DecodedStream>& streams,
                                                                   const isa::ChipConfig& chip,
                                                                   const DramLayout& layout) {
  std::vector<std::vector<std::vector<Dependence>>> result(streams.size());
  for (std::size_t s = 0; s < streams.size(); ++s) result[s].resize(streams[s].instructions.size());
  std::vector<LastWriters> sram(static_cast<std::size_t>(chip.cores));
  LastWriters dram;
  for (const InstructionId id : legal_order(streams)) {
    const DecodedStream& stream = streams[id.stream];
    const std::vector<semantics::Range> ranges = semantics::footprint(stream.instructions[id.index], chip);
    std::vector<Dependence>& needs = result[id.stream][id.index];
    const auto base_of = [&](const semantics::Range& range) {
      return range.dram ? static_cast<std::int64_t>(layout.base[range.base_register]) : 0;
    };
    for (const semantics::Range& range : ranges) {
      if (range.write) continue;
      const std::int64_t base = base_of(range);
      (range.dram ? dram : sram[stream.core]).for_each(base + range.begin, base + range.end, [&](InstructionId writer) {
        if (writer.stream == id.stream) return;  // queue order
        const DecodedStream& other = streams[writer.stream];
        const auto known = std::find_if(needs.begin(), needs.end(), [&](const Dependence& d) {
          return d.core == other.core && d.queue == other.queue;
        });
        if (known != needs.end()) {
          known->count = std::max(known->count, writer.index + 1);
        } else {
          needs.push_back({other.core, other.queue, writer.index + 1});
        }
      });
    }
    for (const semantics::Range& range : ranges) {
      if (!range.write) continue;
      const std::int64_t base = base_of(range);
      (range.dram ? dram : sram[stream.core]).write(base + range.begin, base + range.end, id);
    }
  }
  return result;
}

}  // namespace tessera::platform
