// Seeded weights in place of those a model has: light and structure models carry constants, which would hide swapped
// channels in every value test.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compiler/ir/graph.hpp"

namespace tessera::compiler {

/// Replaces every float32 constant that is a weight of Conv, ConvTranspose, Gemm or MatMul by He values (bell-shaped,
/// variance 2 / inputs summed), biases (also an Add behind a MatMul) by uniform ones in [-0.1, 0.1),
/// BatchNormalization's scale and variance by [0.8, 1.2), its bias and mean by [-0.1, 0.1). A tensor's values depend on
/// seed, name and shape only, so neither node order nor other tensors change them. Call after prepare(). Returns how
/// many tensors were replaced.
std::size_t randomize_weights(Graph& graph, std::uint64_t seed);

}  // namespace tessera::compiler
