// Roundings behind quantisation that need no instruction of their own.
#pragma once

#include <cstddef>

#include "compiler/ir/qgraph.hpp"

namespace tessera::compiler {

/// requantize and table nodes in a row become one table. Returns how many nodes went. Decided by
/// structure, not by scales: a timing-only graph, which has none, takes the same cycles.
std::size_t merge_tables(QGraph& graph);

}  // namespace tessera::compiler
