#include "isa/program/semaphores.hpp"

#include <map>

#include "hw/common/error.hpp"
#include "isa/isa.hpp"
#include "isa/program/instructions.hpp"

namespace tessera::isa {
namespace {

constexpr int kFirstGlobal = 64;

/// A local semaphore belongs to its core, a global one (core -1) to the chip.
struct SemaphoreId {
  int core = 0;
  int number = 0;
  bool operator<(const SemaphoreId& other) const {
    return core != other.core ? core < other.core : number < other.number;
  }
};

SemaphoreId identify(int core, int number) { return {number >= kFirstGlobal ? -1 : core, number}; }

std::string name_of(const SemaphoreId& id) {
  return id.core < 0 ? detail::concat("global semaphore ", id.number)
                     : detail::concat("semaphore ", id.number, " of core ", id.core);
}

/// Calls visit(stream, index of the instruction, instruction) for all that decode.
template <typename Visit>
void for_each_of(const Section& section, Visit visit) {
  for (const QueueStream& stream : section.streams) {
    for_each_instruction(stream, [&](const Instruction& instruction, std::size_t index, std::size_t) {
      visit(stream, index, instruction);
    });
  }
}

std::string place(const QueueStream& stream, std::size_t index) {
  return detail::concat(static_cast<int>(stream.core), ".", to_string(static_cast<QueueId>(stream.queue)),
                        " instruction ", index);
}

}  // namespace

std::vector<std::string> check_semaphores(const Program& program) {
  std::vector<std::string> problems;
  for (const Section& section : program.sections) {
    struct Waiter {
      const QueueStream* stream;
      std::size_t index;
      bool reported = false;
    };
    std::map<SemaphoreId, Waiter> waiters;
    for_each_of(section, [&](const QueueStream& stream, std::size_t index, const Instruction& instruction) {
      for (const Wait& wait : instruction.header.waits) {
        if (wait.count == 0) {
          continue;
        }
        const SemaphoreId id = identify(stream.core, wait.semaphore);
        const auto [known, is_new] = waiters.try_emplace(id, Waiter{&stream, index});
        if (!is_new && known->second.stream != &stream && !known->second.reported) {
          known->second.reported = true;
          problems.push_back(detail::concat("section ", section.name, ": ", name_of(id), " has two waiting queues, ",
                                            place(*known->second.stream, known->second.index), " and ",
                                            place(stream, index), ": expected exactly one"));
        }
      }
    });
  }
  return problems;
}

std::vector<std::string> check_semaphore_balance(const Program& program) {
  std::vector<std::string> problems;
  for (const Section& section : program.sections) {
    std::map<SemaphoreId, std::int64_t> value;
    for_each_of(section, [&](const QueueStream& stream, std::size_t, const Instruction& instruction) {
      for (const Wait& wait : instruction.header.waits) {
        value[identify(stream.core, wait.semaphore)] -= wait.count;
      }
      for (const Signal& signal : instruction.header.signals) {
        value[identify(stream.core, signal.semaphore)] += signal.amount;
      }
    });
    for (const auto& [id, rest] : value) {
      if (rest != 0) {
        problems.push_back(detail::concat("section ", section.name, ": ", name_of(id), " ends at ", rest,
                                          ": expected 0, signals and waits must balance"));
      }
    }
  }
  return problems;
}

}  // namespace tessera::isa
