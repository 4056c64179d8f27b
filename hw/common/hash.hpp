// FNV-1a, 64 bits: fingerprints and checksums that catch accidents, not attacks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tessera {

class Fnv64 {
 public:
  void add(const std::uint8_t* bytes, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      state_ = (state_ ^ bytes[i]) * 0x100000001b3ULL;
    }
  }
  void add(std::string_view text) {
    for (const char c : text) {
      state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    }
  }
  [[nodiscard]] std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325ULL;
};

}  // namespace tessera
