// Runs a program's values in a random legal interleaving of its queues, with isa/semantics alone.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/graph.hpp"
#include "compiler/ir/qgraph.hpp"
#include "isa/chip.hpp"
#include "isa/program/program.hpp"

namespace tessera::compiler::testing {

/// Output bytes in the order of program.outputs; inputs in the order of program.inputs. GoogleTest failures when the
/// queues get stuck or a semaphore does not end at zero. Host steps must be Softmax over the channels.
[[nodiscard]] std::vector<std::vector<std::uint8_t>> run_program(const isa::Program& program,
                                                                 const isa::ChipConfig& chip,
                                                                 const std::vector<Tensor>& inputs, std::uint64_t seed);

/// The same on the reference executor with its race check; a warning (bytes read that nobody wrote) is a failure.
[[nodiscard]] std::vector<std::vector<std::uint8_t>> run_on_reference(const isa::Program& program,
                                                                      const isa::ChipConfig& chip,
                                                                      const std::vector<Tensor>& inputs);

/// Semaphores are sound, and `graph` on these inputs equals the program in a random interleaving and on the reference.
void expect_program_computes(const QGraph& graph, const isa::Program& program, const isa::ChipConfig& chip,
                             const std::vector<Tensor>& inputs, std::uint64_t seed);

}  // namespace tessera::compiler::testing
