// The float passes by name: each is one small file with one sentence. They run after prepare() (fold.hpp: shapes known,
// shape arithmetic folded) and before quantise; they change arithmetic only by folding constants into weights. Relu and
// Clip stay nodes: quantise fuses them.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "compiler/ir/graph.hpp"

namespace tessera::compiler {

struct Pass {
  std::string name;
  std::string sentence;
  std::size_t (*run)(Graph&);  // returns how many places it changed
};

/// Every pass; a name stands once.
[[nodiscard]] const std::vector<Pass>& all_passes();

/// Names in the order that `compile` and `quantize` run them; a name may stand twice.
[[nodiscard]] const std::vector<std::string>& canonical_passes();

struct PassCount {
  std::string name;
  std::size_t changes = 0;
};

/// Runs the passes in the given order but for those in `off`; shapes are inferred anew after each that changed
/// something. UserError lists the legal names for an unknown one, in either list.
std::vector<PassCount> run_passes(Graph& graph, const std::vector<std::string>& names = canonical_passes(),
                                  const std::set<std::string>& off = {});

}  // namespace tessera::compiler
