// A section's streams decoded, and its semaphores as one dense array. Every part of the reference executor reads this.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isa/chip.hpp"
#include "isa/isa.hpp"
#include "isa/program/program.hpp"

namespace tessera::reference {

/// One queue of one core.
struct Queue {
  std::uint8_t core = 0;
  std::uint8_t id = 0;  // isa::QueueId
  std::vector<isa::Instruction> stream;
};

/// An instruction of a section: index of the queue in Section::queues, index in its stream.
struct InstructionId {
  std::uint32_t queue = 0;
  std::uint32_t index = 0;
};

/// Waits and signals of one instruction on dense semaphore numbers, one entry a semaphore.
struct SemaphoreUse {
  std::uint32_t semaphore = 0;
  std::int32_t count = 0;
};

class Section {
 public:
  /// ProgramError: words that do not decode, queues or cores the chip lacks, opcodes a queue does not accept, a
  /// semaphore with two waiting queues.
  Section(const isa::Section& section, const isa::ChipConfig& chip, std::vector<std::string> layer_names);

  [[nodiscard]] const std::vector<Queue>& queues() const { return queues_; }  // ordered by (core, id)
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::vector<std::string>& layer_names() const { return layer_names_; }
  [[nodiscard]] const isa::Instruction& at(InstructionId id) const { return queues_[id.queue].stream[id.index]; }
  [[nodiscard]] std::size_t instructions() const;

  [[nodiscard]] std::size_t semaphores() const { return waiter_.size(); }
  [[nodiscard]] std::uint32_t semaphore(std::uint8_t core, std::uint8_t number) const;
  /// The queue that waits on a semaphore, or kNoQueue.
  static constexpr std::uint32_t kNoQueue = UINT32_MAX;
  [[nodiscard]] std::uint32_t waiter(std::uint32_t semaphore) const { return waiter_[semaphore]; }
  [[nodiscard]] const std::vector<SemaphoreUse>& waits(InstructionId id) const { return waits_[flat(id)]; }
  [[nodiscard]] const std::vector<SemaphoreUse>& signals(InstructionId id) const { return signals_[flat(id)]; }

  /// "core 0 conv0 instruction 12 (conv, layer 3 'res2a')".
  [[nodiscard]] std::string text(InstructionId id) const;
  /// "semaphore 7 of core 0".
  [[nodiscard]] std::string semaphore_text(std::uint32_t semaphore) const;

 private:
  [[nodiscard]] std::size_t flat(InstructionId id) const { return first_[id.queue] + id.index; }
  void index_semaphores();

  std::string name_;
  std::vector<std::string> layer_names_;
  std::size_t cores_;
  std::vector<Queue> queues_;
  std::vector<std::size_t> first_;  // of each queue in waits_, signals_
  std::vector<std::vector<SemaphoreUse>> waits_;
  std::vector<std::vector<SemaphoreUse>> signals_;
  std::vector<std::uint32_t> waiter_;
};

/// Heads of all queues and values of all semaphores; an instruction starts and finishes in one move.
class SectionState {
 public:
  explicit SectionState(const Section& section)
      : section_(&section), heads_(section.queues().size(), 0), values_(section.semaphores(), 0) {}
  [[nodiscard]] std::uint32_t head(std::uint32_t queue) const { return heads_[queue]; }
  [[nodiscard]] bool done(std::uint32_t queue) const {
    return heads_[queue] == section_->queues()[queue].stream.size();
  }
  [[nodiscard]] bool can_start(std::uint32_t queue) const {
    if (done(queue)) return false;
    for (const SemaphoreUse& wait : section_->waits({queue, heads_[queue]})) {
      if (values_[wait.semaphore] < wait.count) return false;
    }
    return true;
  }
  /// Takes the head's waits and gives its signals.
  void run_head(std::uint32_t queue) {
    const InstructionId id{queue, heads_[queue]++};
    for (const SemaphoreUse& wait : section_->waits(id)) values_[wait.semaphore] -= wait.count;
    for (const SemaphoreUse& signal : section_->signals(id)) values_[signal.semaphore] += signal.count;
  }
  [[nodiscard]] std::int32_t value(std::uint32_t semaphore) const { return values_[semaphore]; }

 private:
  const Section* section_;
  std::vector<std::uint32_t> heads_;
  std::vector<std::int32_t> values_;
};

}  // namespace tessera::reference
