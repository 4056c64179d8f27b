// What a schedule is before emission: instructions in program order, the order in which, run one by one, the result is
// right. Queues, waits and signals follow from it (compiler/emit).
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "isa/isa.hpp"
#include "isa/program/program.hpp"

namespace tessera::compiler {

struct WorkItem {
  std::uint8_t core = 0;
  isa::QueueId queue = isa::QueueId::load;
  std::uint16_t layer = 0;
  isa::Traffic kind = isa::Traffic::spill;  // LOAD, STORE
  Bytes useful_bytes = 0;                   // LOAD, STORE
  std::string tile;
  Cycles delay = 0;  // between what it waits for and its start
  // SRAM address of what the core's queues take in turns, in program order, although they only read it: its bank gives
  // one line a cycle. -1: nothing.
  std::int64_t in_turn = -1;
  decltype(isa::Instruction::body) body;
};

struct WorkSection {
  std::string name;
  std::int32_t host_step = -1;  // index into Program::host_steps: a section without items
  std::string why;              // it begins, for people
  Bytes crossing_bytes = 0;     // through DRAM at its beginning
  std::vector<WorkItem> items;
};

/// How a layer was cut, for the IR dump and for people.
struct LayerNote {
  std::uint16_t layer = 0;
  std::int64_t tile_rows = 0, tile_channels = 0, row_tiles = 0, channel_tiles = 0;
  bool channels_outer = false, resident_output = false;
  bool weights_streamed = false;     // in a group: they come again for each chunk
  std::vector<std::string> places;   // of operands, result and weights, for people
  std::int64_t kept_rows = 0;        // of an output that goes through DRAM: the first ones, that stay in SRAM
  std::int64_t strips = 1;           // of columns, one behind the other; of a group
  std::int64_t made_pixels = 0;      // of the output: halos of a group's regions count in each; 0: every one once
  std::string split;                 // over engines and cores: "rows", "channels", "none"
  std::int64_t output_address = -1;  // SRAM byte address of a resident output
  Cycles estimate = 0;
};

struct Schedule {
  isa::Program program;  // everything but the sections
  std::vector<WorkSection> sections;
  std::vector<LayerNote> notes;
};

}  // namespace tessera::compiler
