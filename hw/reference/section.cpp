#include "hw/reference/section.hpp"

#include <algorithm>

#include "hw/common/error.hpp"
#include "isa/semantics/stuck.hpp"

namespace tessera::reference {

namespace {

constexpr std::size_t kLocal = semantics::kLocalSemaphores;
constexpr std::size_t kGlobal = 64;

bool queue_exists(const isa::ChipConfig& chip, std::uint8_t id) {
  const auto first = static_cast<std::int64_t>(isa::QueueId::conv0);
  const auto last = static_cast<std::int64_t>(isa::QueueId::conv3);
  if (id >= isa::kQueueIdValues) return false;
  return id < first || id > last || id - first < chip.conv.engines;
}

void add_use(std::vector<SemaphoreUse>& uses, std::uint32_t semaphore, std::int32_t count) {
  for (SemaphoreUse& use : uses) {
    if (use.semaphore == semaphore) {
      use.count += count;
      return;
    }
  }
  uses.push_back({semaphore, count});
}

Queue decode_stream(const isa::QueueStream& stream, const isa::ChipConfig& chip, const std::string& section) {
  Queue queue;
  queue.core = stream.core;
  queue.id = stream.queue;
  if (stream.core >= chip.cores || !queue_exists(chip, stream.queue)) {
    throw ProgramError(detail::concat("section ", section, ": chip ", chip.name, " has no queue ",
                                      static_cast<int>(stream.queue), " on core ", static_cast<int>(stream.core)));
  }
  const auto id = static_cast<isa::QueueId>(stream.queue);
  for (std::size_t at = 0; at < stream.words.size();) {
    isa::DecodeResult decoded = isa::decode(stream.words.data() + at, stream.words.size() - at);
    const auto fault = [&](const std::string& text) {
      throw ProgramError(detail::concat("fault illegal_word: section ", section, " core ",
                                        static_cast<int>(stream.core), " ", isa::to_string(id), " instruction ",
                                        queue.stream.size(), " (word ", at, "): ", text));
    };
    if (!decoded.ok()) fault(decoded.text);
    const isa::Opcode opcode = isa::opcode_of(decoded.instruction);
    if (!isa::queue_accepts(id, opcode)) {
      fault(detail::concat("opcode ", isa::to_string(opcode), " is not accepted by this queue"));
    }
    queue.stream.push_back(std::move(decoded.instruction));
    at += decoded.words;
  }
  return queue;
}

}  // namespace

Section::Section(const isa::Section& section, const isa::ChipConfig& chip, std::vector<std::string> layer_names)
    : name_(section.name), layer_names_(std::move(layer_names)), cores_(static_cast<std::size_t>(chip.cores)) {
  for (const isa::QueueStream& stream : section.streams) queues_.push_back(decode_stream(stream, chip, section.name));
  std::stable_sort(queues_.begin(), queues_.end(),
                   [](const Queue& a, const Queue& b) { return a.core != b.core ? a.core < b.core : a.id < b.id; });
  for (std::size_t q = 1; q < queues_.size(); ++q) {
    if (queues_[q].core == queues_[q - 1].core && queues_[q].id == queues_[q - 1].id) {
      throw ProgramError(detail::concat("section ", name_, " has two streams for core ",
                                        static_cast<int>(queues_[q].core), " ",
                                        isa::to_string(static_cast<isa::QueueId>(queues_[q].id))));
    }
  }
  index_semaphores();
}

void Section::index_semaphores() {
  waiter_.assign(cores_ * kLocal + kGlobal, kNoQueue);
  for (std::size_t q = 0; q < queues_.size(); ++q) {
    first_.push_back(waits_.size());
    const auto queue = static_cast<std::uint32_t>(q);
    for (std::size_t i = 0; i < queues_[q].stream.size(); ++i) {
      const isa::Header& header = queues_[q].stream[i].header;
      std::vector<SemaphoreUse> waits;
      std::vector<SemaphoreUse> signals;
      for (const isa::Wait& wait : header.waits) {
        if (wait.count == 0) continue;
        const std::uint32_t s = semaphore(queues_[q].core, wait.semaphore);
        if (waiter_[s] != kNoQueue && waiter_[s] != queue) {
          const std::uint32_t other = waiter_[s];
          throw ProgramError(detail::concat("section ", name_, ": ", semaphore_text(s),
                                            " has two waiting queues, core ", static_cast<int>(queues_[other].core),
                                            " ", isa::to_string(static_cast<isa::QueueId>(queues_[other].id)), " and ",
                                            text({queue, static_cast<std::uint32_t>(i)})));
        }
        waiter_[s] = queue;
        add_use(waits, s, wait.count);
      }
      for (const isa::Signal& signal : header.signals) {
        if (signal.amount != 0) add_use(signals, semaphore(queues_[q].core, signal.semaphore), signal.amount);
      }
      waits_.push_back(std::move(waits));
      signals_.push_back(std::move(signals));
    }
  }
}

std::size_t Section::instructions() const { return waits_.size(); }

std::uint32_t Section::semaphore(std::uint8_t core, std::uint8_t number) const {
  if (number >= kLocal) return static_cast<std::uint32_t>(cores_ * kLocal + number - kLocal);
  return static_cast<std::uint32_t>(core * kLocal + number);
}

std::string Section::text(InstructionId id) const {
  const Queue& queue = queues_[id.queue];
  return semantics::instruction_text(queue.core, queue.id, id.index, queue.stream[id.index], layer_names_);
}

std::string Section::semaphore_text(std::uint32_t semaphore) const {
  if (semaphore >= cores_ * kLocal) {
    return semantics::semaphore_text(0, static_cast<std::uint8_t>(semaphore - cores_ * kLocal + kLocal));
  }
  return semantics::semaphore_text(static_cast<std::uint8_t>(semaphore / kLocal),
                                   static_cast<std::uint8_t>(semaphore % kLocal));
}

}  // namespace tessera::reference
