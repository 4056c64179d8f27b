// DRAM behind the base registers, as the meaning of an instruction sees it. Functional only, no time; header only, so
// that users of storage.hpp need not link the semantics.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "hw/models/dram/storage.hpp"
#include "isa/semantics/execute.hpp"

namespace tessera::hw {

inline constexpr int kBaseRegisters = 8;

/// Where the runtime placed the buffers.
struct BaseRegisters {
  std::array<std::uint64_t, kBaseRegisters> base{};
  std::array<std::uint64_t, kBaseRegisters> limit{};  // legal bytes behind each
};

class BasedStorage final : public semantics::DramAccess {
 public:
  BasedStorage(DramStorage& storage, const BaseRegisters& bases) : storage_(storage), bases_(bases) {}
  void read(std::uint8_t base_register, std::uint64_t offset, std::uint8_t* out, std::size_t bytes) override {
    storage_.read(bases_.base[base_register] + offset, out, bytes);
  }
  void write(std::uint8_t base_register, std::uint64_t offset, const std::uint8_t* in, std::size_t bytes) override {
    storage_.write(bases_.base[base_register] + offset, in, bytes);
  }
  [[nodiscard]] semantics::DramLimits limits() const override { return bases_.limit; }

 private:
  DramStorage& storage_;
  const BaseRegisters& bases_;
};

}  // namespace tessera::hw
