// The instructions of a queue's stream in order, as far as they are legal: a stream ends before a word that begins
// none, where the command processor faults.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "isa/isa.hpp"
#include "isa/program/program.hpp"

namespace tessera::isa {

/// Calls visit(instruction, its index, its first word); the word in front of which it ended.
template <typename Visit>
std::size_t for_each_instruction(const QueueStream& stream, Visit visit) {
  std::size_t word = 0;
  for (std::size_t index = 0; word < stream.words.size(); ++index) {
    DecodeResult decoded = decode(&stream.words[word], stream.words.size() - word);
    if (!decoded.ok()) break;
    visit(std::move(decoded.instruction), index, word);
    word += decoded.words;
  }
  return word;
}

[[nodiscard]] inline std::vector<Instruction> decode_stream(const QueueStream& stream) {
  std::vector<Instruction> out;
  for_each_instruction(
      stream, [&](Instruction&& instruction, std::size_t, std::size_t) { out.push_back(std::move(instruction)); });
  return out;
}

}  // namespace tessera::isa
