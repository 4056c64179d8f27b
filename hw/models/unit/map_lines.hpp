// Line address of any line of a blocked map (SramTensor of isa.json), circular or not, as access plans need it.
#pragma once

#include <cstdint>

#include "isa/semantics/layout.hpp"

namespace tessera::hw {

class MapLines {
 public:
  MapLines(const isa::SramTensor& map, std::int64_t line_bytes)
      : map_(map), base_(static_cast<std::int64_t>(map.base) / line_bytes) {}
  [[nodiscard]] std::uint32_t line(std::int64_t block, std::int64_t row, std::int64_t line_of_row) const {
    return static_cast<std::uint32_t>(base_ + block * map_.block_pitch +
                                      semantics::buffer_row(map_, row) * map_.row_pitch + line_of_row);
  }

 private:
  isa::SramTensor map_;
  std::int64_t base_;
};

}  // namespace tessera::hw
