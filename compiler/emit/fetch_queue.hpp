// How the words of one queue come from DRAM (hw/models/cp/README.md, Fetch and Head): a burst at a time into the
// prefetch, an instruction when it is whole.
#pragma once

#include <cstdint>
#include <vector>

#include "hw/common/units.hpp"
#include "isa/chip.hpp"

namespace tessera::compiler {

class FetchQueue {
 public:
  FetchQueue(const isa::ChipConfig& chip, Cycles doorbell);

  void add(std::int64_t words) { ends_.push_back((ends_.empty() ? 0 : ends_.back()) + words); }
  /// Words of the burst that may be raised now, which is then under way; 0: none.
  [[nodiscard]] std::int64_t raise();
  /// The burst's last beat comes in cycle n.
  void arrive(Cycles n);
  /// The head starts in cycle n.
  void pop(Cycles n);
  [[nodiscard]] bool done() const { return head_ == ends_.size(); }
  [[nodiscard]] std::size_t head() const { return head_; }
  /// When the head may start as far as its words are concerned; kNever: they are under way.
  [[nodiscard]] Cycles ready() const { return ready_; }

 private:
  void load(Cycles n);
  std::int64_t prefetch_, burst_, most_words_;
  std::vector<std::int64_t> ends_;  // words up to the end of each instruction
  std::size_t head_ = 0;
  std::int64_t requested_ = 0, arrived_ = 0, taken_ = 0;  // words; taken: by the head and those before it
  bool outstanding_ = false;
  Cycles ready_ = kNever, popped_;
};

}  // namespace tessera::compiler
