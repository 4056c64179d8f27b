#include "hw/models/dram/address_map.hpp"

#include <array>
#include <cctype>
#include <sstream>

#include "hw/common/error.hpp"

namespace tessera::dram {

namespace {

constexpr std::array<const char*, 6> kFields = {"bg", "ba", "co", "ro", "ra", "off"};
constexpr int kOffset = 5;

int log2_exact(std::int64_t value) {
  int bits = 0;
  while ((std::int64_t{1} << bits) < value) ++bits;
  return bits;
}

}  // namespace

AddressMap::AddressMap(const std::string& fields, const Device& device, int ranks)
    : banks_per_group_(device.banks_per_group), bank_groups_(device.bank_groups) {
  std::array<int, 6> width{};
  std::istringstream in(fields);
  std::string part;
  while (std::getline(in, part, ',')) {
    const std::size_t colon = part.find(':');
    const std::string name = part.substr(0, colon);
    const std::string digits = colon == std::string::npos ? "" : part.substr(colon + 1);
    int field = -1;
    for (int i = 0; i < 6; ++i) {
      if (name == kFields[static_cast<std::size_t>(i)]) field = i;
    }
    bool number = !digits.empty() && digits.size() <= 2;
    for (const char c : digits) number = number && std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (field < 0 || !number) {
      user_error("dram.address_map = \"", fields, "\": found \"", part,
                 "\", expected NAME:BITS with NAME one of off, bg, co, ba, ro, ra");
    }
    const int bits = std::stoi(digits);
    if (field != kOffset && bits > 0) {
      pieces_.push_back({field, bits_, width[static_cast<std::size_t>(field)], (std::uint64_t{1} << bits) - 1});
    }
    width[static_cast<std::size_t>(field)] += bits;
    bits_ += bits;
  }
  const std::array<int, 6> expected = {log2_exact(device.bank_groups),
                                       log2_exact(device.banks_per_group),
                                       log2_exact(device.bursts_per_row),
                                       log2_exact(device.rows),
                                       log2_exact(ranks),
                                       log2_exact(device.burst_bytes)};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (width[i] != expected[i]) {
      user_error("dram.address_map = \"", fields, "\": field ", kFields[i], " has ", width[i], " bits, ", device.name,
                 " needs ", expected[i], " (e.g. \"", device.default_map, "\")");
    }
  }
  if (fields.compare(0, 4, "off:") != 0) {
    user_error("dram.address_map = \"", fields, "\": the first field must be off, the byte within a burst");
  }
}

Location AddressMap::decode(std::uint64_t address) const {
  std::array<std::uint64_t, 5> value{};
  for (const Piece& piece : pieces_) {
    value[static_cast<std::size_t>(piece.field)] |= ((address >> piece.from) & piece.mask) << piece.to;
  }
  Location location;
  location.rank = static_cast<int>(value[4]);
  location.bank_group = location.rank * bank_groups_ + static_cast<int>(value[0]);
  location.bank = location.bank_group * banks_per_group_ + static_cast<int>(value[1]);
  location.column = static_cast<int>(value[2]);
  location.row = static_cast<std::int64_t>(value[3]);
  return location;
}

}  // namespace tessera::dram
