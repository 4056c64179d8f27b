// An instruction as one line: "conv in.base=0x100 kh=3 wait=3:1 signal=4:1 layer=7", driven by the ISA's field table.
#pragma once

#include <string>
#include <vector>

#include "isa/asm/statement.hpp"
#include "isa/isa.hpp"

namespace tessera::isa::assembly {

/// The words of the instruction; mistakes are added to `errors`, and the result is empty then.
[[nodiscard]] std::vector<Word> assemble_instruction(const Statement& statement, std::vector<std::string>& errors);

}  // namespace tessera::isa::assembly
