// The instructions of a queue's stream, as far as they are legal.
#pragma once

#include <utility>
#include <vector>

#include "isa/isa.hpp"
#include "isa/program/program.hpp"

namespace tessera::cosim {

/// Ends before a word that is none: the command processor faults there.
[[nodiscard]] inline std::vector<isa::Instruction> decode_stream(const isa::QueueStream& stream) {
  std::vector<isa::Instruction> out;
  for (std::size_t word = 0; word < stream.words.size();) {
    isa::DecodeResult decoded = isa::decode(&stream.words[word], stream.words.size() - word);
    if (!decoded.ok()) break;
    out.push_back(std::move(decoded.instruction));
    word += decoded.words;
  }
  return out;
}

}  // namespace tessera::cosim
