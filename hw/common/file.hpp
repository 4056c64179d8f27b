// Whole files in and out. Writing goes beside the target and renames, so a failure never leaves half a file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include "hw/common/error.hpp"

namespace tessera {

/// The file's bytes. UserError names the file when it cannot be read.
[[nodiscard]] inline std::string read_file(const std::filesystem::path& path) {
  if (std::filesystem::is_directory(path)) {
    user_error(path.string(), ": is a directory: expected a file");
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    user_error(path.string(), ": cannot be read: expected an existing, readable file");
  }
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// Writes PATH.part, then renames it to PATH; on failure removes the part and throws UserError.
inline void write_file(const std::filesystem::path& path, std::string_view bytes) {
  const std::filesystem::path part = path.string() + ".part";
  std::ofstream out(part, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  std::error_code failed;
  if (out) {
    std::filesystem::rename(part, path, failed);
    if (!failed) return;
  }
  std::error_code ignored;
  std::filesystem::remove(part, ignored);
  user_error(path.string(), ": cannot be written: expected a writable folder with free space");
}

}  // namespace tessera
