// Wishes where things lie in the SRAM's banks, beyond what sizes and lifetimes ask for. Each helps some networks and
// costs others (room, the reach of LOADs ahead): what the whole is predicted to take decides (driver/choose_schedule).
#pragma once

#include <cstdint>

#include "compiler/allocate/sram_space.hpp"

namespace tessera::compiler {

/// Into how many banks the rows of a map may be spread, with all channel blocks of a row side by side: what reads some
/// rows and what writes others then meet in no bank. 1: rows one behind the other; 0: blocks outside, not rows.
struct Placement {
  BankChoice banks = BankChoice::any;  // of streamed buffers
  std::int64_t line_banks = 0;         // of line buffers
  std::int64_t map_banks = 0;          // of maps that stay in SRAM (of one image)
};

}  // namespace tessera::compiler
