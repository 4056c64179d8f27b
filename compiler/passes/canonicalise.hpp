// The float passes by name: each is one small file with one sentence for what it does and one for when it is legal.
// They run after prepare() (fold.hpp: shapes known, shape arithmetic folded) and before quantise; they change
// arithmetic only by folding constants into weights. Relu and Clip stay nodes: quantise fuses them.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "compiler/ir/graph.hpp"

namespace tessera::compiler {

struct Pass {
  std::string name;
  std::string sentence;        // what it does
  std::string legal;           // when
  std::size_t (*run)(Graph&);  // returns how many places it changed
};

/// Every pass; a name stands once.
[[nodiscard]] const std::vector<Pass>& all_passes();

/// Names in the order that `compile` and `quantize` run them; a name may stand twice.
[[nodiscard]] const std::vector<std::string>& canonical_passes();

/// A pass of the user's own: an object of this type at namespace scope of any file that is linked in,
///   const UserPass mine({"my-pass", "What it does.", "When it is legal.", my_pass}, "fold-pad");
/// stands in the table and runs in front of the named pass (each time; "" or unknown: at the end). Must be made before
/// main.
class UserPass {
 public:
  UserPass(Pass pass, std::string before);
};

struct PassCount {
  std::string name;
  std::size_t changes = 0;
};

/// Runs the passes in the given order but for those in `off`; shapes are inferred anew after each that changed
/// something. UserError lists the legal names for an unknown one, in either list.
std::vector<PassCount> run_passes(Graph& graph, const std::vector<std::string>& names = canonical_passes(),
                                  const std::set<std::string>& off = {});

}  // namespace tessera::compiler
