// What a fuzz target provides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace tessera::fuzz {

using Input = std::vector<std::uint8_t>;

/// Good inputs that mutation starts from.
[[nodiscard]] std::vector<Input> seeds();

}  // namespace tessera::fuzz
