// Memory traces as `tessera dram` reads them: a line is `CYCLE|- R|W 0xADDRESS`, a 64-byte request; CYCLE is a DRAM
// clock, `-` means as soon as accepted; empty lines and lines that begin with # are skipped.
#pragma once

#include <cstdint>
#include <istream>
#include <string>

#include "hw/common/units.hpp"

namespace tessera::dram {

struct TraceRequest {
  DramClocks clock = -1;  // -1: as soon as accepted
  bool write = false;
  std::uint64_t address = 0;
};

/// Reads one request after the other, so that a trace of any length needs no memory.
class TraceReader {
 public:
  /// `name` is what messages call the stream.
  TraceReader(std::istream& in, std::string name) : in_(in), name_(std::move(name)) {}
  /// False at the end. Throws UserError with line, what was found and what is legal.
  [[nodiscard]] bool next(TraceRequest& request);

 private:
  std::istream& in_;
  std::string name_;
  std::int64_t line_ = 0;
  DramClocks last_clock_ = 0;
};

}  // namespace tessera::dram
