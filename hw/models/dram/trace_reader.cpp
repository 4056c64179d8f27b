#include "hw/models/dram/trace_reader.hpp"

#include <charconv>

#include "hw/common/error.hpp"
#include "hw/models/dram/request.hpp"

namespace tessera::dram {

namespace {

/// Splits off the next word of `text`.
std::string_view word(std::string_view& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) {
    text = {};
    return {};
  }
  const std::size_t end = std::min(text.find_first_of(" \t\r", begin), text.size());
  const std::string_view result = text.substr(begin, end - begin);
  text.remove_prefix(end);
  return result;
}

template <typename T>
bool parse(std::string_view text, int base, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

bool TraceReader::next(TraceRequest& request) {
  std::string line;
  while (std::getline(in_, line)) {
    ++line_;
    std::string_view rest = line;
    const std::string_view clock = word(rest);
    if (clock.empty() || clock.front() == '#') continue;
    const std::string_view kind = word(rest);
    const std::string_view address = word(rest);
    const std::string_view more = word(rest);
    const auto fail = [&](const std::string& what, std::string_view found, const char* legal) {
      user_error(name_, ":", line_, ": ", what, " \"", std::string(found), "\": expected ", legal);
    };
    request.clock = -1;
    if (clock != "-" && (!parse(clock, 10, request.clock) || request.clock < 0)) {
      fail("clock", clock, "a DRAM clock (a number, at least 0) or -");
    }
    if (request.clock >= 0) {
      if (request.clock < last_clock_) fail("clock", clock, "one that is not below that of an earlier line");
      last_clock_ = request.clock;
    }
    if (kind != "R" && kind != "W") fail("kind", kind, "R or W");
    request.write = kind == "W";
    const bool hex = address.size() > 2 && address[0] == '0' && (address[1] == 'x' || address[1] == 'X');
    if (!hex || !parse(address.substr(2), 16, request.address)) fail("address", address, "0x and hexadecimal digits");
    if (request.address % static_cast<std::uint64_t>(kRequestBytes) != 0) fail("address", address, "a multiple of 64");
    if (!more.empty()) fail("text after the address", more, "the end of the line");
    return true;
  }
  return false;
}

}  // namespace tessera::dram
