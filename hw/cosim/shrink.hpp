// Makes a program that fails short: fewer instructions, fewer semaphores, as long as it still fails. Leaves out: what
// failing means (the caller's predicate; an illegal or racy program must not count).
#pragma once

#include <functional>

#include "isa/program/program.hpp"

namespace tessera::cosim {

/// The shortest failing program found within `attempts` calls of `fails`. `program` fails.
[[nodiscard]] isa::Program shrink(const isa::Program& program, const std::function<bool(const isa::Program&)>& fails,
                                  int attempts);

}  // namespace tessera::cosim
