// Address of one channel -> rank, bank group, bank, row, column (in bursts), from a field list such as
// "off:5,co:1,bg:2,co:5,ba:2,ro:15", least significant bit first; a field may come in several pieces.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hw/models/dram/device.hpp"

namespace tessera::dram {

struct Location {
  int bank = 0;        // (rank * bank groups + bank group) * banks_per_group + bank
  int bank_group = 0;  // rank * bank groups + bank group
  int rank = 0;
  std::int64_t row = 0;
  int column = 0;  // in bursts
};

class AddressMap {
 public:
  /// Throws UserError when a field is unknown or its bits do not fit the device.
  AddressMap(const std::string& fields, const Device& device, int ranks = 1);
  /// Bits above the map are ignored: the map repeats.
  [[nodiscard]] Location decode(std::uint64_t address) const;
  [[nodiscard]] Bytes capacity_bytes() const { return Bytes{1} << bits_; }

 private:
  struct Piece {
    int field;  // 0 bank group, 1 bank, 2 column, 3 row, 4 rank
    int from;   // lowest address bit
    int to;     // lowest bit in the field
    std::uint64_t mask;
  };
  std::vector<Piece> pieces_;
  int bits_ = 0;
  int banks_per_group_ = 1;
  int bank_groups_ = 1;
};

}  // namespace tessera::dram
