// Small programs written out in tests: instructions per queue, waits and signals in a line.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "isa/isa.hpp"
#include "isa/program/program.hpp"

namespace tessera::platform::test {

using isa::QueueId;

struct Sync {
  std::vector<std::pair<int, int>> waits;    // semaphore, count
  std::vector<std::pair<int, int>> signals;  // semaphore, amount
};

class ProgramBuilder {
 public:
  ProgramBuilder() { begin_section("main"); }

  ProgramBuilder& begin_section(const std::string& name) {
    if (!program_.sections.empty() && program_.sections.back().host_step < 0 &&
        program_.sections.back().streams.empty()) {
      program_.sections.pop_back();
    }
    program_.sections.emplace_back().name = name;
    return *this;
  }
  ProgramBuilder& add(QueueId queue, isa::Body body, const Sync& sync = {}, int core = 0) {
    isa::Instruction instruction;
    instruction.body = std::move(body);
    for (std::size_t i = 0; i < sync.waits.size(); ++i) {
      instruction.header.waits[i].semaphore = static_cast<std::uint8_t>(sync.waits[i].first);
      instruction.header.waits[i].count = static_cast<std::uint8_t>(sync.waits[i].second);
    }
    for (std::size_t i = 0; i < sync.signals.size(); ++i) {
      instruction.header.signals[i].semaphore = static_cast<std::uint8_t>(sync.signals[i].first);
      instruction.header.signals[i].amount = static_cast<std::uint8_t>(sync.signals[i].second);
    }
    for (const isa::Word& word : isa::encode(instruction)) stream(queue, core).words.push_back(word);
    return *this;
  }
  ProgramBuilder& nop(QueueId queue, std::uint32_t cycles, const Sync& sync = {}, int core = 0) {
    isa::Nop nop;
    nop.cycles = cycles;
    return add(queue, nop, sync, core);
  }
  ProgramBuilder& buffer(isa::BufferKind kind, std::uint64_t size) {
    program_.buffers.push_back({"buffer", kind, 0, size, 64});
    return *this;
  }
  isa::QueueStream& stream(QueueId queue, int core = 0) {
    for (isa::QueueStream& s : program_.sections.back().streams) {
      if (s.queue == static_cast<std::uint8_t>(queue) && s.core == core) return s;
    }
    isa::QueueStream& s = program_.sections.back().streams.emplace_back();
    s.queue = static_cast<std::uint8_t>(queue);
    s.core = static_cast<std::uint8_t>(core);
    return s;
  }
  [[nodiscard]] isa::Program& program() { return program_; }

 private:
  isa::Program program_;
};

/// rows x row_bytes from DRAM buffer `kind` at `offset` (dense) to SRAM at `sram` (dense).
inline isa::Load load_rows(isa::BufferKind kind, std::uint64_t offset, std::uint32_t row_bytes, std::uint16_t rows,
                           std::uint32_t sram) {
  isa::Load load;
  load.base_register = isa::base_register_of(kind);
  load.dram_offset = offset;
  load.row_bytes = row_bytes;
  load.group_bytes = row_bytes;
  load.group_stride = row_bytes;
  load.sram_base = sram;
  for (auto& dim : load.dims) dim.count = 1;
  load.dims[2].count = rows;
  load.dims[2].dram_stride = row_bytes;
  load.dims[2].sram_stride = static_cast<std::int32_t>(row_bytes);
  return load;
}
inline isa::Store store_rows(isa::BufferKind kind, std::uint64_t offset, std::uint32_t row_bytes, std::uint16_t rows,
                             std::uint32_t sram) {
  isa::Store store;
  store.base_register = isa::base_register_of(kind);
  store.dram_offset = offset;
  store.row_bytes = row_bytes;
  store.group_bytes = row_bytes;
  store.group_stride = row_bytes;
  store.sram_base = sram;
  for (auto& dim : store.dims) dim.count = 1;
  store.dims[2].count = rows;
  store.dims[2].dram_stride = row_bytes;
  store.dims[2].sram_stride = static_cast<std::int32_t>(row_bytes);
  return store;
}

}  // namespace tessera::platform::test
