#include "hw/cosim/random_fault.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "hw/common/error.hpp"
#include "hw/cosim/decoded.hpp"

namespace tessera::cosim {
namespace {

using Instructions = std::vector<isa::Instruction>;

void encode_stream(const Instructions& instructions, isa::QueueStream& stream) {
  stream.words.clear();
  for (const isa::Instruction& instruction : instructions) {
    for (const isa::Word& word : isa::encode(instruction)) stream.words.push_back(word);
  }
}

/// Moves a DMA operand out of its memory; false if the instruction is no DMA.
bool leave_memory(isa::Instruction& instruction, isa::FaultCause cause, Random& random) {
  const auto move = [&](auto& body) {
    if (cause == isa::FaultCause::dram_limit) {
      body.dram_offset += (std::uint64_t{1} << 17) + random.below(1000);
    } else {
      body.sram_base = 0xfffffff0u - static_cast<std::uint32_t>(random.below(1000));
    }
  };
  if (auto* load = std::get_if<isa::Load>(&instruction.body)) return move(*load), true;
  if (auto* store = std::get_if<isa::Store>(&instruction.body)) return move(*store), true;
  return false;
}

/// Sets the last bit of a word in which no field uses it: in others that may be another legal instruction.
void spoil_word(isa::QueueStream& stream, Random& random) {
  const std::size_t instructions = decode_stream(stream).size();
  for (;;) {
    isa::QueueStream spoilt = stream;
    spoilt.words[random.below(spoilt.words.size())].back() |= 0x80;
    if (decode_stream(spoilt).size() == instructions) continue;
    stream = std::move(spoilt);
    return;
  }
}

/// Its signals become two that a semaphore cannot hold, in two instructions that follow.
void overflow(Instructions& instructions, std::size_t at) {
  isa::Nop nop;
  nop.cycles = 1;
  isa::Instruction signaller;
  signaller.body = nop;
  signaller.header.opcode = isa::Opcode::nop;
  signaller.header.signals[0] = {63, 200};
  instructions.insert(instructions.begin() + static_cast<std::ptrdiff_t>(at), {signaller, signaller});
}

}  // namespace

isa::Program with_fault(isa::Program program, isa::FaultCause cause, Random& random) {
  isa::Section& section = program.sections[random.below(program.sections.size())];
  TESSERA_CHECK(!section.streams.empty(), "a section without instructions");
  const bool dma = cause == isa::FaultCause::dram_limit || cause == isa::FaultCause::sram_range;
  isa::QueueStream& stream = dma ? section.streams.front() : section.streams[random.below(section.streams.size())];
  Instructions instructions = decode_stream(stream);
  const std::size_t at = random.below(instructions.size());
  switch (cause) {
    case isa::FaultCause::none:
      // The last free wait; what it waits for has no other waiter and no signal.
      instructions[at].header.waits.back() = {62, 1};
      break;
    case isa::FaultCause::illegal_word:
      encode_stream(instructions, stream);
      spoil_word(stream, random);
      return program;
    case isa::FaultCause::dram_limit:
    case isa::FaultCause::sram_range: {
      std::size_t victim = at;
      while (!leave_memory(instructions[victim], cause, random)) {
        victim = (victim + 1) % instructions.size();
        if (victim == at) return program;
      }
      break;
    }
    case isa::FaultCause::semaphore_overflow:
      overflow(instructions, at);
      break;
    case isa::FaultCause::bus_error:
      return program;
  }
  encode_stream(instructions, stream);
  return program;
}

}  // namespace tessera::cosim
