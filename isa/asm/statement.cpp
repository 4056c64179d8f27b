#include "isa/asm/statement.hpp"

#include <charconv>
#include <cmath>

namespace tessera::isa::assembly {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

int digit(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  if (c >= 'a' && c <= 'f') {
    return c - 'a' + 10;
  }
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/// Reads the inside of a quoted text; `at` stands behind the opening quote and ends behind the closing one.
bool read_quoted(std::string_view line, std::size_t& at, std::string& out) {
  while (at < line.size() && line[at] != '"') {
    if (line[at] != '\\') {
      out += line[at++];
      continue;
    }
    if (at + 1 >= line.size()) {
      return false;
    }
    const char escaped = line[at + 1];
    at += 2;
    if (escaped == 'n') {
      out += '\n';
    } else if (escaped == 'x') {
      if (at + 1 >= line.size() || digit(line[at]) < 0 || digit(line[at + 1]) < 0) {
        return false;
      }
      out += static_cast<char>(digit(line[at]) * 16 + digit(line[at + 1]));
      at += 2;
    } else if (escaped == '"' || escaped == '\\') {
      out += escaped;
    } else {
      return false;
    }
  }
  return at < line.size() && line[at++] == '"';
}

}  // namespace

Statement split(std::string_view line) {
  Statement statement;
  bool first = true;
  for (std::size_t at = 0;;) {
    while (at < line.size() && is_space(line[at])) {
      ++at;
    }
    if (at == line.size() || line[at] == '#') {
      return statement;
    }
    Argument argument;
    bool has_key = false;
    while (at < line.size() && !is_space(line[at]) && line[at] != '#') {
      if (line[at] == '"') {
        ++at;
        if (!read_quoted(line, at, argument.value)) {
          statement.error = "a text in quotes does not end, or has an escape other than \\\" \\\\ \\n \\xHH";
          return statement;
        }
      } else if (line[at] == '=' && !has_key) {
        has_key = true;
        argument.key = std::move(argument.value);
        argument.value.clear();
        ++at;
      } else {
        argument.value += line[at++];
      }
    }
    if (first) {
      if (has_key) {
        statement.error = "expected an instruction or a directive first, found " + argument.key + "=" + argument.value;
        return statement;
      }
      statement.name = std::move(argument.value);
      first = false;
    } else if (has_key && argument.key.empty()) {
      statement.error = "expected KEY=VALUE, found =" + argument.value;
      return statement;
    } else {
      statement.arguments.push_back(std::move(argument));
    }
  }
}

std::string quote_text(std::string_view text) {
  bool plain = !text.empty();
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    plain = plain && code > ' ' && code < 0x7F && c != '"' && c != '\\' && c != '#' && c != '=';
  }
  if (plain) {
    return std::string(text);
  }
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (code < ' ' || code == 0x7F) {
      out += "\\x";
      out += kDigits[code >> 4];
      out += kDigits[code & 15];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  const bool negative = !text.empty() && text.front() == '-';
  if (negative) {
    text.remove_prefix(1);
  }
  int base = 10;
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
    base = 16;
    text.remove_prefix(2);
  }
  std::int64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || text.front() == '-' || result.ec != std::errc{} || result.ptr != text.data() + text.size()) {
    return std::nullopt;
  }
  return negative ? -value : value;
}

std::optional<double> parse_real(std::string_view text) {
  double value = 0.0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || result.ec != std::errc{} || result.ptr != text.data() + text.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

std::optional<std::vector<std::uint8_t>> parse_hex(std::string_view text) {
  std::vector<std::uint8_t> bytes;
  if (text.size() % 2 != 0) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < text.size(); i += 2) {
    if (digit(text[i]) < 0 || digit(text[i + 1]) < 0) {
      return std::nullopt;
    }
    bytes.push_back(static_cast<std::uint8_t>(digit(text[i]) * 16 + digit(text[i + 1])));
  }
  return bytes;
}

std::string hex_bytes(const std::uint8_t* bytes, std::size_t count) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (std::size_t i = 0; i < count; ++i) {
    out += kDigits[bytes[i] >> 4];
    out += kDigits[bytes[i] & 15];
  }
  return out;
}

}  // namespace tessera::isa::assembly
