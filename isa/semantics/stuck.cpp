#include "isa/semantics/stuck.hpp"

#include <algorithm>
#include <optional>
#include <sstream>

namespace tessera::semantics {

namespace {

std::string queue_text(std::uint8_t core, std::uint8_t queue) {
  return "core " + std::to_string(core) + " " + isa::to_string(static_cast<isa::QueueId>(queue));
}

bool same_semaphore(std::uint8_t core_a, std::uint8_t a, std::uint8_t core_b, std::uint8_t b) {
  return a == b && (a >= kLocalSemaphores || core_a == core_b);
}

struct Signaller {
  std::size_t queue = 0;  // index into the list of queues
  std::size_t index = 0;  // instruction
};

/// First instruction of each queue, at or after its head, that signals the semaphore; the waiting one excluded.
std::vector<Signaller> signallers(const std::vector<StuckQueue>& queues, std::uint8_t core, std::uint8_t semaphore) {
  std::vector<Signaller> found;
  for (std::size_t q = 0; q < queues.size(); ++q) {
    const std::vector<isa::Instruction>& stream = *queues[q].stream;
    for (std::size_t i = queues[q].head; i < stream.size(); ++i) {
      const auto& signals = stream[i].header.signals;
      if (std::any_of(signals.begin(), signals.end(), [&](const isa::Signal& s) {
            return s.amount != 0 && same_semaphore(core, semaphore, queues[q].core, s.semaphore);
          })) {
        found.push_back({q, i});
        break;
      }
    }
  }
  return found;
}

/// The first wait of the head that is not satisfied; waits on one semaphore add up.
struct Blocked {
  std::uint8_t semaphore = 0;
  int needed = 0;
  int present = 0;
};
std::optional<Blocked> blocked_wait(const StuckQueue& q, const std::function<int(std::uint8_t, std::uint8_t)>& value) {
  const auto& waits = (*q.stream)[q.head].header.waits;
  for (const isa::Wait& wait : waits) {
    if (wait.count == 0) continue;
    int needed = 0;
    for (const isa::Wait& other : waits) {
      if (other.semaphore == wait.semaphore) needed += other.count;
    }
    const int present = value(q.core, wait.semaphore);
    if (present < needed) return Blocked{wait.semaphore, needed, present};
  }
  return std::nullopt;
}

}  // namespace

std::string instruction_text(std::uint8_t core, std::uint8_t queue, std::size_t index,
                             const isa::Instruction& instruction, const std::vector<std::string>& layer_names) {
  std::ostringstream text;
  text << queue_text(core, queue) << " instruction " << index << " (" << isa::to_string(isa::opcode_of(instruction))
       << ", layer " << instruction.header.layer;
  if (instruction.header.layer < layer_names.size() && !layer_names[instruction.header.layer].empty()) {
    text << " '" << layer_names[instruction.header.layer] << "'";
  }
  text << ")";
  return text.str();
}

std::string semaphore_text(std::uint8_t core, std::uint8_t semaphore) {
  if (semaphore >= kLocalSemaphores) return "global semaphore " + std::to_string(semaphore);
  return "semaphore " + std::to_string(semaphore) + " of core " + std::to_string(core);
}

std::string explain_stuck(const std::vector<StuckQueue>& queues,
                          const std::function<int(std::uint8_t, std::uint8_t)>& value,
                          const std::vector<std::string>& layer_names) {
  std::ostringstream text;
  text << "stuck: every queue waits and nothing is in flight";
  const auto name = [&](std::size_t q, std::size_t index) {
    return instruction_text(queues[q].core, queues[q].queue, index, (*queues[q].stream)[index], layer_names);
  };
  constexpr std::size_t kNobody = SIZE_MAX;
  std::vector<std::size_t> next(queues.size(), kNobody);  // whom the queue waits for
  std::vector<std::string> reason(queues.size());
  std::size_t first = kNobody;
  for (std::size_t q = 0; q < queues.size(); ++q) {
    if (queues[q].head >= queues[q].stream->size()) continue;
    const std::optional<Blocked> wait = blocked_wait(queues[q], value);
    if (!wait) continue;
    if (first == kNobody) first = q;
    const std::string semaphore = semaphore_text(queues[q].core, wait->semaphore);
    text << "\n  " << name(q, queues[q].head) << " waits for " << semaphore << ", which has " << wait->present << " of "
         << wait->needed << "; ";
    const std::vector<Signaller> who = signallers(queues, queues[q].core, wait->semaphore);
    if (who.empty()) {
      text << "nobody signals it any more";
      reason[q] = semaphore;
      continue;
    }
    text << "it would be signalled by ";
    for (std::size_t i = 0; i < who.size(); ++i) text << (i == 0 ? "" : " and ") << name(who[i].queue, who[i].index);
    next[q] = who.front().queue;
  }
  if (first == kNobody) return text.str();

  // Walk from the first blocked queue until a queue comes again or nobody is left to wait for.
  std::vector<std::size_t> path;
  std::size_t at = first;
  while (at != kNobody && std::find(path.begin(), path.end(), at) == path.end()) {
    path.push_back(at);
    at = next[at];
  }
  const auto begin = at == kNobody ? path.begin() : std::find(path.begin(), path.end(), at);
  text << (at == kNobody ? "\n  wait-for chain: " : "\n  wait-for cycle: ");
  for (auto it = begin; it != path.end(); ++it) text << queue_text(queues[*it].core, queues[*it].queue) << " -> ";
  if (at == kNobody) {
    text << "nobody ("
         << (reason[path.back()].empty() ? "the queue is done" : reason[path.back()] + " is never signalled") << ")";
  } else {
    text << queue_text(queues[at].core, queues[at].queue);
  }
  return text.str();
}

}  // namespace tessera::semantics
