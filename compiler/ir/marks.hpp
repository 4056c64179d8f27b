// Names that rooms of the compiler write into graphs and files for each other.
#pragma once

namespace tessera::compiler {

/// Attribute that import sets (value 1) on Softmax, LogSoftmax and Hardmax of opset < 13: the operator works on its
/// input coerced to 2-D at `axis`. The pass `settle-softmax` removes it.
inline constexpr const char* kCoercedSoftmax = "tessera_coerced_2d";

/// Attribute that the pass `fold-batch-norm` sets (value 1) on a Conv that was a BatchNormalization without a
/// convolution before it: its multiplications are no useful MACs (FORMAT.md section 5 counts the imported graph's
/// convolutions).
inline constexpr const char* kScaleShiftConv = "tessera_scale_shift";

/// Start of a node's doc_string in files that compiler/export wrote: the names of absorbed nodes follow, one a line.
inline constexpr const char* kFusedPrefix = "tessera.fused:\n";

}  // namespace tessera::compiler
