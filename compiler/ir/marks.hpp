// Names that rooms of the compiler write into graphs and files for each other.
#pragma once

namespace tessera::compiler {

/// Attribute that import sets (value 1) on Softmax, LogSoftmax and Hardmax of opset < 13: the operator works on its
/// input coerced to 2-D at `axis`. The pass `settle-softmax` removes it.
inline constexpr const char* kCoercedSoftmax = "tessera_coerced_2d";

/// Start of a node's doc_string in files that compiler/export wrote: the names of absorbed nodes follow, one a line.
inline constexpr const char* kFusedPrefix = "tessera.fused:\n";

}  // namespace tessera::compiler
