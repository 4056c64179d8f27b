// What the libraries of the whole core and of single units share around Verilator's classes: pins as bytes, a clock
// edge, a failed assertion as a text. Only core_library.cpp and unit_library.cpp include it.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include <verilated.h>
#include <verilated_sym_props.h>

#include "rtl_parameters.hpp"

namespace tessera::cosim {

/// Value of a chip key of this shape.
constexpr std::size_t parameter(std::string_view key) {
  for (const RtlParameter& p : kRtlParameters) {
    if (key == p.key) return static_cast<std::size_t>(p.value);
  }
  throw "no such key";
}

/// A pin of any width as little-endian bytes: Verilator keeps it in one integer or in an array of 32-bit words.
template <typename Pin>
std::array<std::uint8_t, sizeof(Pin)> bytes_of(const Pin& pin) {
  std::array<std::uint8_t, sizeof(Pin)> bytes;
  std::memcpy(bytes.data(), &pin, sizeof(Pin));
  return bytes;
}

/// `count` <= 64 bits from bit `first` on.
template <std::size_t N>
std::uint64_t bits(const std::array<std::uint8_t, N>& bytes, std::size_t first, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    value |= std::uint64_t{bytes[(first + i) / 8] >> ((first + i) % 8) & 1u} << i;
  }
  return value;
}

inline thread_local std::string assertion;  // what vl_stop was told last, until the model takes it

/// A verilated top module in reset state, its clock low.
template <typename Top>
class VerilatedModel {
 public:
  VerilatedModel() {
    context_.randReset(0);  // macros hold zero, as MACHINE.md section 3 says of the SRAM
    assertion.clear();
    top_ = std::make_unique<Top>(&context_, "top");
    top_->rst_ni = 0;
    top_->eval();  // edges are seen against the values of the first call
    edge();
    top_->rst_ni = 1;
    top_->eval();
  }
  ~VerilatedModel() { top_->final(); }
  VerilatedModel(const VerilatedModel&) = delete;
  VerilatedModel& operator=(const VerilatedModel&) = delete;

  void edge() {
    top_->clk_i = 1;
    settle();
    top_->clk_i = 0;
    settle();
  }
  [[nodiscard]] const char* failure() const { return failure_.empty() ? nullptr : failure_.c_str(); }

 protected:
  void settle() {
    top_->eval();
    if (assertion.empty()) return;
    if (failure_.empty()) failure_ = assertion;
    assertion.clear();
  }

  VerilatedContext context_;
  std::unique_ptr<Top> top_;

 private:
  std::string failure_;
};

}  // namespace tessera::cosim

// Verilator's hook (VL_USER_STOP): a failed assertion ends the run with a sentence, not the process.
void vl_stop(const char* file, int line, const char*) VL_MT_UNSAFE {
  std::string name = file;
  name.erase(0, name.rfind('/') + 1);
  tessera::cosim::assertion = "RTL assertion at " + name + ":" + std::to_string(line);
}
