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

[[noreturn]] inline void cannot_write(const std::filesystem::path& path) {
  user_error(path.string(), ": cannot be written: expected a writable folder with free space");
}

/// Where the bytes of PATH go first: beside it, or PATH itself where that is a device or a pipe (/dev/stdout), which a
/// rename would replace.
[[nodiscard]] inline std::filesystem::path part_of(const std::filesystem::path& path) {
  std::error_code ignored;
  const std::filesystem::file_type type = std::filesystem::status(path, ignored).type();
  const bool in_place = type == std::filesystem::file_type::character || type == std::filesystem::file_type::fifo;
  return in_place ? path : std::filesystem::path(path.string() + ".part");
}

/// Writes PATH.part, then renames it to PATH; on failure removes the part and throws UserError.
inline void write_file(const std::filesystem::path& path, std::string_view bytes) {
  const std::filesystem::path part = part_of(path);
  std::ofstream out(part, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (part == path) {
    if (!out) cannot_write(path);
    return;
  }
  std::error_code failed;
  if (out) {
    std::filesystem::rename(part, path, failed);
    if (!failed) return;
  }
  std::error_code ignored;
  std::filesystem::remove(part, ignored);
  cannot_write(path);
}

/// UserError when write_file(PATH) is bound to fail: asked before long work, so that a mistyped folder costs no run.
inline void expect_writable(const std::filesystem::path& path) {
  const std::filesystem::path part = part_of(path);
  if (part == path) return;
  std::error_code ignored;
  const bool opened = std::ofstream(part, std::ios::binary | std::ios::trunc).is_open();
  std::filesystem::remove(part, ignored);
  if (!opened || std::filesystem::is_directory(path, ignored)) cannot_write(path);
}

}  // namespace tessera
