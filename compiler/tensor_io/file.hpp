// Private to this room: a whole file as bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace tessera::compiler {

[[nodiscard]] std::vector<std::uint8_t> file_bytes(const std::filesystem::path& file);

}  // namespace tessera::compiler
