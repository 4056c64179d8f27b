// One line of assembly, cut into words. A word is VALUE or KEY=VALUE; quotes keep spaces together, # begins a comment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::isa::assembly {

struct Argument {
  std::string key;  ///< empty: a plain word
  std::string value;
  bool used = false;
};

struct Statement {
  std::string name;  ///< ".buffer", "conv", ...; empty: nothing on this line
  std::vector<Argument> arguments;
  std::string error;  ///< why the line cannot be cut; empty: fine
};

[[nodiscard]] Statement split(std::string_view line);

/// The text in a form that split() reads back: in quotes when it needs them.
[[nodiscard]] std::string quote_text(std::string_view text);

/// Decimal or 0x, with sign; nothing when the text is no such number or does not fit.
[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view text);
[[nodiscard]] std::optional<double> parse_real(std::string_view text);
/// Pairs of hexadecimal digits.
[[nodiscard]] std::optional<std::vector<std::uint8_t>> parse_hex(std::string_view text);
[[nodiscard]] std::string hex_bytes(const std::uint8_t* bytes, std::size_t count);

}  // namespace tessera::isa::assembly
