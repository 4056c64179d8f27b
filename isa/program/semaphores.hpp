// Static rules of semaphores over a program (MACHINE.md section 3). Assembler and compiler call these.
#pragma once

#include <string>
#include <vector>

#include "isa/program/program.hpp"

namespace tessera::isa {

/// Each semaphore has exactly one waiting queue within a section (all are zero between sections), and a core names only
/// semaphores that exist. One sentence a breach; empty when the program is sound. Words that do not decode are skipped.
[[nodiscard]] std::vector<std::string> check_semaphores(const Program& program);

/// All semaphores are zero at a section's end: what is signalled is waited for, and the other way round. The assembler
/// does not call this, so that tests can write programs that get stuck.
[[nodiscard]] std::vector<std::string> check_semaphore_balance(const Program& program);

}  // namespace tessera::isa
