// Words for a machine that cannot go on: who waits for which semaphore, who would signal it, and the wait-for cycle.
// The reference executor and the timed platform call the same function, so that their messages are equal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "isa/isa.hpp"

namespace tessera::semantics {

inline constexpr int kLocalSemaphores = 64;  // numbers from here on are global

/// "core 0 conv0 instruction 12 (conv, layer 3 'res2a')"; layer names are optional, indexed by layer id.
[[nodiscard]] std::string instruction_text(std::uint8_t core, std::uint8_t queue, std::size_t index,
                                           const isa::Instruction& instruction,
                                           const std::vector<std::string>& layer_names);

/// "semaphore 7 of core 0" or "global semaphore 70".
[[nodiscard]] std::string semaphore_text(std::uint8_t core, std::uint8_t semaphore);

/// A queue of the section with its whole stream; head == stream->size() when it is done.
struct StuckQueue {
  std::uint8_t core = 0;
  std::uint8_t queue = 0;  // isa::QueueId
  const std::vector<isa::Instruction>* stream = nullptr;
  std::size_t head = 0;  // the instruction that waits
};

/// `value(core, semaphore)` is the present count. At least one queue must have an instruction left.
[[nodiscard]] std::string explain_stuck(const std::vector<StuckQueue>& queues,
                                        const std::function<int(std::uint8_t, std::uint8_t)>& value,
                                        const std::vector<std::string>& layer_names);

}  // namespace tessera::semantics
