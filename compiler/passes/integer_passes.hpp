// The passes behind quantisation, by name: each keeps every value of every graph output bit for bit (the graph is
// frozen, FORMAT.md section 2). Some rewrite the integer graph; others are merges that the backend does where layers
// are built, which switching off forbids node by node (QNode::apart).
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "compiler/ir/qgraph.hpp"
#include "compiler/passes/canonicalise.hpp"

namespace tessera::compiler {

struct IntegerPass {
  std::string name;
  std::string sentence;                // what it does
  std::string legal;                   // when
  std::size_t (*run)(QGraph&);         // returns how many places it changed; nullptr: the backend does it
  bool (*forbids)(const QNode& node);  // the backend does it: the nodes that are kept apart when it is off
};

/// In the order in which they run.
[[nodiscard]] const std::vector<IntegerPass>& integer_passes();

/// Runs them but for those in `off`, whose names may also be those of float passes.
std::vector<PassCount> run_integer_passes(QGraph& graph, const std::set<std::string>& off);

/// UserError with the legal names (of float and integer passes) for one that does not exist.
void check_pass_names(const std::set<std::string>& off);

/// Every pass with its two sentences, float ones first, for `compile --passes`.
[[nodiscard]] std::string passes_page();

}  // namespace tessera::compiler
