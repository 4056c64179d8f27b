// Bytes behind the DRAM address map: sparse pages, zero where never written. Functional only, no time.
// Shared by every backend (reference, tlm, rtl), the host steps and the runtime.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <vector>

namespace tessera::hw {

class DramStorage {
 public:
  void read(std::uint64_t address, std::uint8_t* out, std::size_t n) const {
    for_pages(address, n, [&](std::uint64_t page, std::size_t in_page, std::size_t at, std::size_t count) {
      const auto it = pages_.find(page);
      if (it == pages_.end()) {
        std::memset(out + at, 0, count);
      } else {
        std::memcpy(out + at, it->second->data() + in_page, count);
      }
    });
  }
  void write(std::uint64_t address, const std::uint8_t* in, std::size_t n) {
    for_pages(address, n, [&](std::uint64_t page, std::size_t in_page, std::size_t at, std::size_t count) {
      auto& slot = pages_[page];
      if (!slot) slot = std::make_unique<Page>(kPageBytes, std::uint8_t{0});
      std::memcpy(slot->data() + in_page, in + at, count);
    });
  }

 private:
  static constexpr std::size_t kPageBytes = 65536;
  using Page = std::vector<std::uint8_t>;
  template <typename F>
  static void for_pages(std::uint64_t address, std::size_t n, F&& f) {
    std::size_t done = 0;
    while (done < n) {
      const std::uint64_t a = address + done;
      const std::size_t in_page = static_cast<std::size_t>(a % kPageBytes);
      const std::size_t count = std::min(n - done, kPageBytes - in_page);
      f(a / kPageBytes, in_page, done, count);
      done += count;
    }
  }
  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
};

}  // namespace tessera::hw
