#include "hw/cosim/shrink.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "isa/program/instructions.hpp"

namespace tessera::cosim {
namespace {

constexpr int kSemaphores = 128;

struct Item {
  std::size_t section = 0, stream = 0;
  isa::Instruction instruction;
};

bool is_nop(const Item& item) { return item.instruction.header.opcode == isa::Opcode::nop; }

bool synchronises(const Item& item) {
  const isa::Header& header = item.instruction.header;
  return std::any_of(header.waits.begin(), header.waits.end(), [](const isa::Wait& w) { return w.count != 0; }) ||
         std::any_of(header.signals.begin(), header.signals.end(), [](const isa::Signal& s) { return s.amount != 0; });
}

/// What stays of an instruction that is not needed: its place in the order.
isa::Instruction short_nop(const isa::Instruction& instruction) {
  isa::Nop nop;
  nop.cycles = 1;
  isa::Instruction out;
  out.header = instruction.header;
  out.header.opcode = isa::Opcode::nop;
  out.header.overlap = false;
  out.body = nop;
  return out;
}

class Shrinker {
 public:
  Shrinker(const isa::Program& program, const std::function<bool(const isa::Program&)>& fails, int attempts)
      : program_(program), fails_(fails), left_(attempts) {
    for (std::size_t s = 0; s < program.sections.size(); ++s) {
      for (std::size_t q = 0; q < program.sections[s].streams.size(); ++q) {
        for (isa::Instruction& one : isa::decode_stream(program.sections[s].streams[q])) {
          items_.push_back({s, q, std::move(one)});
        }
      }
    }
  }

  isa::Program run() {
    // An illegal word is lost in decoding: such a program stays as it is.
    if (!try_items(items_)) return program_;
    std::size_t before = 0;
    do {
      before = weight();
      drop_work();
      drop_semaphores();
      drop_nops();
    } while (weight() < before && left_ > 0);
    return build(items_);
  }

 private:
  [[nodiscard]] std::size_t weight() const {
    std::size_t sum = 0;
    for (const Item& item : items_) sum += 1 + (is_nop(item) ? 0u : 1u) + (synchronises(item) ? 1u : 0u);
    return sum;
  }

  /// Takes the items if the program they make still fails.
  bool try_items(std::vector<Item> items) {
    if (left_-- <= 0 || !fails_(build(items))) return false;
    items_ = std::move(items);
    return true;
  }

  /// Instructions become NOPs that keep the order: halves, then quarters, down to single ones.
  void drop_work() {
    for (std::size_t part = items_.size(); part > 0 && left_ > 0; part /= 2) {
      for (std::size_t begin = 0; begin < items_.size(); begin += part) {
        std::vector<Item> items = items_;
        bool changed = false;
        for (std::size_t i = begin; i < std::min(begin + part, items.size()); ++i) {
          if (is_nop(items[i]) && std::get<isa::Nop>(items[i].instruction.body).cycles == 1) continue;
          items[i].instruction = short_nop(items[i].instruction);
          changed = true;
        }
        if (changed) (void)try_items(std::move(items));
      }
    }
  }

  void drop_semaphores() {
    for (int s = 0; s < kSemaphores && left_ > 0; ++s) {
      std::vector<Item> items = items_;
      bool changed = false;
      for (Item& item : items) {
        for (isa::Wait& wait : item.instruction.header.waits) {
          if (wait.count == 0 || wait.semaphore != s) continue;
          wait = {};
          changed = true;
        }
        for (isa::Signal& signal : item.instruction.header.signals) {
          if (signal.amount == 0 || signal.semaphore != s) continue;
          signal = {};
          changed = true;
        }
      }
      if (changed) (void)try_items(std::move(items));
    }
  }

  void drop_nops() {
    std::vector<Item> items;
    std::copy_if(items_.begin(), items_.end(), std::back_inserter(items),
                 [](const Item& item) { return !is_nop(item) || synchronises(item); });
    if (items.size() < items_.size() && try_items(items)) return;
    for (std::size_t i = items_.size(); i-- > 0 && left_ > 0;) {
      if (!is_nop(items_[i]) || synchronises(items_[i])) continue;
      std::vector<Item> fewer = items_;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      (void)try_items(std::move(fewer));
    }
  }

  [[nodiscard]] isa::Program build(const std::vector<Item>& items) const {
    isa::Program out = program_;
    for (isa::Section& section : out.sections) {
      for (isa::QueueStream& stream : section.streams) stream.words.clear();
    }
    for (const Item& item : items) {
      std::vector<isa::Word>& words = out.sections[item.section].streams[item.stream].words;
      for (const isa::Word& word : isa::encode(item.instruction)) words.push_back(word);
    }
    for (isa::Section& section : out.sections) {
      auto& streams = section.streams;
      streams.erase(std::remove_if(streams.begin(), streams.end(), [](const auto& s) { return s.words.empty(); }),
                    streams.end());
    }
    return out;
  }

  const isa::Program& program_;
  const std::function<bool(const isa::Program&)>& fails_;
  int left_;
  std::vector<Item> items_;
};

}  // namespace

isa::Program shrink(const isa::Program& program, const std::function<bool(const isa::Program&)>& fails, int attempts) {
  return Shrinker(program, fails, attempts).run();
}

}  // namespace tessera::cosim
