// The verilated core as plain C++: pins in, pins out, a clock edge. Keeps Verilator's headers to one source file.
// Leaves out: time, memory, programs (rtl_core.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

class Vtessera_core;
class VerilatedContext;

namespace tessera::cosim {

inline constexpr int kUnits = 5;      // tessera_core_pkg::Units
inline constexpr int kDataBytes = 8;  // axi.data_bytes of the chip that is verilated

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
  std::array<std::uint64_t, 2> data{};  // R
};

struct CoreOutputs {
  std::array<AddressPins, 3> request;
  bool w_valid = false, w_last = false;
  std::array<std::uint8_t, kDataBytes> w_data{};
  std::uint32_t w_strobes = 0;
  std::uint32_t start = 0, finish = 0;            // bit u: unit u
  std::array<std::uint32_t, kUnits> req_banks{};  // SRAM banks each unit wants
  bool quiet = false, stuck = false, irq = false;
};

class VerilatedCore {
 public:
  VerilatedCore();  // reset
  ~VerilatedCore();

  /// Combinational outputs of the current state and these inputs, which stay until the next call.
  [[nodiscard]] CoreOutputs eval(const CoreInputs& in);
  void edge();
  /// Control port: a write takes one edge, a read none.
  void write_register(std::uint32_t offset, std::uint32_t value);
  [[nodiscard]] std::uint32_t read_register(std::uint32_t offset);
  [[nodiscard]] std::vector<std::uint8_t> sram() const;

 private:
  std::unique_ptr<VerilatedContext> context_;
  std::unique_ptr<Vtessera_core> top_;
};

}  // namespace tessera::cosim
