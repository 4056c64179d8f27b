// The C interface between the co-simulation and a verilated core, which is a shared library a chip shape
// (build_core.py). Pins in, pins out, a clock edge; widths are those of the widest chip file, so that one binary
// drives every shape. Leaves out: time, memory, programs (rtl_core.hpp).
#pragma once

#include <array>
#include <cstdint>

namespace tessera::cosim {

inline constexpr int kUnits = 7;            // tessera_core_pkg::Units
inline constexpr int kMostDataBytes = 128;  // axi.data_bytes
inline constexpr int kRtlSemaphores = 64;

/// AR or AW, as the core drives it.
struct AddressPins {
  bool valid = false;
  std::uint64_t address = 0;
  int beats = 0;
};

struct CoreInputs {
  std::array<bool, 3> ready{};  // AR of FETCH and LOAD, AW of STORE: tlm_base::Manager order
  std::array<bool, 3> valid{};  // R, R, B
  std::array<bool, 3> last{};
  std::array<bool, 3> error{};
  std::array<std::array<std::uint8_t, kMostDataBytes>, 2> data{};  // R
  bool write = false;  // control port: this register, with the edge of this cycle
  std::uint32_t offset = 0, value = 0;
  // What the oldest outstanding burst of LOAD, of STORE waits for in this cycle: tessera_core_pkg::owner_e.
  std::uint8_t load_wait = 1, store_wait = 1;
};

struct CoreOutputs {
  std::array<AddressPins, 3> request;
  bool w_valid = false, w_last = false;
  std::array<std::uint8_t, kMostDataBytes> w_data{};
  std::array<std::uint8_t, kMostDataBytes / 8> w_strobes{};  // bit i: byte i is written
  std::uint32_t start = 0, finish = 0;                       // bit u: unit u
  std::uint32_t queue_full = 0;                              // words are left to fetch and have no room
  std::array<std::uint64_t, kUnits> req_banks{};             // SRAM banks each unit wants
  bool quiet = false, stuck = false, reset_done = false, irq = false;
};

/// What a waveform shows of the state in a cycle, a bit a unit.
struct WavePins {
  std::uint32_t busy = 0;      // at work, or starting in this cycle
  std::uint32_t conflict = 0;  // loses the cycle to a bank conflict
  std::uint32_t head_valid = 0;
  std::array<std::uint32_t, kUnits> read_pointer{};
  std::array<std::uint8_t, kRtlSemaphores> semaphores{};
};

/// What a library exports as `tessera_core_api`.
struct CoreApi {
  std::uint32_t size;  // of all these structs together: a library of another build is refused
  const char* shape;   // "key=value\n" of each chip key that the RTL sees, in the order of the generator
  void* (*create)();   // reset
  void (*destroy)(void*);
  /// Combinational outputs of the current state and these inputs, which stay until the next call.
  void (*eval)(void*, const CoreInputs&, CoreOutputs&);
  void (*edge)(void*);
  /// After eval, in the same cycle.
  void (*observe)(void*, WavePins&);
  /// Control port: a write takes one edge, a read none.
  void (*write_register)(void*, std::uint32_t offset, std::uint32_t value);
  std::uint32_t (*read_register)(void*, std::uint32_t offset);
  /// Copies the scratchpad, bank after bank.
  void (*read_sram)(void*, std::uint8_t*);
  /// Text of the first assertion that failed; null if none did.
  const char* (*failure)(void*);
};

inline constexpr std::uint32_t kCoreApiSize =
    sizeof(CoreApi) + sizeof(CoreInputs) + sizeof(CoreOutputs) + sizeof(WavePins);

}  // namespace tessera::cosim
