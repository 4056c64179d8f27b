// Programs as text and back (isa/asm/README.md has the language). disassemble followed by assemble on the same chip
// gives the same program.bin and weights.bin, byte for byte. Leaves out what only meta.json holds: names of layers and
// groups.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "isa/chip.hpp"
#include "isa/program/program.hpp"

namespace tessera::isa {

/// Throws UserError with all mistakes, each as `FILE:LINE: what was found: what is legal`.
[[nodiscard]] Program assemble(const std::filesystem::path& file, const ChipConfig& chip);
[[nodiscard]] Program assemble_text(const std::string& text, const std::string& file, const ChipConfig& chip);

/// Whether .data lines with the weights are written; without them the text assembles to a timing-only program.
enum class DataText : std::uint8_t { full, omitted };
[[nodiscard]] std::string disassemble(const Program& program, DataText data = DataText::full);

}  // namespace tessera::isa
