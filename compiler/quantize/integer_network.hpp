// Float networks that carry integers, as NEMO's integer deployment writes them: convolutions of integer weights on
// integers 0 .. 255, then Mul by kappa and Add of lambda a channel, Mul m, Div D rounded down (int64 division between
// two Casts, or Floor), Clip to 0 .. 255. Such a layer is a convolution with a requantisation, so it becomes one
// between QuantizeLinear (uint8, scale 1) and DequantizeLinear, and calibration has nothing to choose.
//
//   floor((k acc + L) / D) = round((k acc + L - D / 2 + 1/2) / D)      k = kappa m, L = lambda m; integers, D even or
//   odd
//
// The machine rounds (acc + B) M / 2^s with an integer B, and (L - D/2 + 1/2) / k is none: B is a part of an
// accumulator step off, at most a half. So of the 255 sums at which the result steps up, some step one sum early or
// late; results are at most 1 off, on as many sums as `IntegerLayer` counts. Weights that leave room in int8 are
// multiplied first, which divides that error. Leaves out: layers whose result leaves 0 .. 255, residual sums.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.hpp"

namespace tessera::compiler {

/// How a layer's integer form compares with its integers, over every sum that its inputs can reach.
struct IntegerLayer {
  std::string node;
  std::int64_t steps = 0;        // sums at which a channel's result steps up, all channels
  std::int64_t exact_steps = 0;  // of these, in the machine's form at the same sum
  double sums = 0;               // sums between a channel's first and last step, all channels
  double wrong_sums = 0;         // of these, with a result that is 1 off
  std::int64_t most_off = 0;     // of any result
};

struct IntegerNetwork {
  Graph qdq;
  std::vector<IntegerLayer> layers;
};

/// The QDQ form of a prepared float graph whose every convolution is such a layer; nullopt for any other graph. Its
/// inputs are taken as integers 0 .. 255.
[[nodiscard]] std::optional<IntegerNetwork> integer_network(const Graph& graph);

/// Turns a prepared float graph into that form where it has one, before the float passes. True: it is QDQ now.
bool spell_out_integers(Graph& graph);

}  // namespace tessera::compiler
