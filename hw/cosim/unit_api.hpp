// The C interface between the co-simulation and one verilated unit (tessera_unit_bench.sv), a shared library a unit and
// chip shape. Leaves out: time, memory, who starts it (rtl_unit.hpp).
#pragma once

#include <array>
#include <cstdint>

namespace tessera::cosim {

inline constexpr int kUnitAccesses = 4;
inline constexpr int kUnitReads = 3;
inline constexpr int kMostLineBytes = 128;  // sram.line_bytes
using Line = std::array<std::uint8_t, kMostLineBytes>;

struct UnitInputs {
  bool start = false, start_nop = false;
  bool granted = false;
  std::array<std::uint8_t, 256> head{};  // the instruction's words
  std::array<Line, kUnitReads> data{};   // read sram.read_latency cycles ago by accesses 0 to 2
};

struct UnitAccess {
  bool valid = false, write = false;
  std::uint32_t bank = 0, line = 0;
  Line data{};
  std::array<std::uint8_t, kMostLineBytes / 8> strobes{};  // bit i: byte i is written
};

struct UnitOutputs {
  bool ready = false, busy = false, done = false, conflict = false;
  std::array<UnitAccess, kUnitAccesses> accesses;
};

/// What a library exports as `tessera_unit_api`.
struct UnitApi {
  std::uint32_t size;  // of this struct, UnitInputs and UnitOutputs together
  const char* shape;   // as CoreApi::shape
  void* (*create)();   // reset
  void (*destroy)(void*);
  /// Combinational outputs of the current state and these inputs, which stay until the next call.
  void (*eval)(void*, const UnitInputs&, UnitOutputs&);
  void (*edge)(void*);
  /// Text of the first assertion that failed; null if none did.
  const char* (*failure)(void*);
};

inline constexpr std::uint32_t kUnitApiSize = sizeof(UnitApi) + sizeof(UnitInputs) + sizeof(UnitOutputs);

}  // namespace tessera::cosim
