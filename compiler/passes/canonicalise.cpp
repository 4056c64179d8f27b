#include "compiler/passes/canonicalise.hpp"

#include <algorithm>

#include "compiler/passes/batch_norm.hpp"
#include "compiler/passes/bias_add.hpp"
#include "compiler/passes/dead.hpp"
#include "compiler/passes/explicit_windows.hpp"
#include "compiler/passes/identity.hpp"
#include "compiler/passes/layer_norm.hpp"
#include "compiler/passes/linear.hpp"
#include "compiler/passes/pad.hpp"
#include "compiler/passes/reciprocal.hpp"
#include "compiler/passes/reshape.hpp"
#include "compiler/passes/settle_softmax.hpp"
#include "compiler/passes/shape_inference.hpp"
#include "compiler/passes/split_gemm.hpp"
#include "compiler/passes/token_linear.hpp"
#include "hw/common/error.hpp"

namespace tessera::compiler {

const std::vector<Pass>& all_passes() {
  static const std::vector<Pass> passes = {
      {"settle-softmax",
       "The 2-D Softmax of opset < 13 becomes one along an axis, with Flatten and Reshape where needed.",
       settle_softmax},
      {"explicit-windows",
       "Convolutions and pools state kernel, strides, dilations and pads; auto_pad and output_shape go.",
       make_windows_explicit},
      {"remove-identity", "Identity, Dropout and operators that happen to change nothing are bypassed.",
       remove_identity},
      {"merge-reshapes", "Chains of Reshape, Flatten, Squeeze and Unsqueeze become one Reshape to a constant shape.",
       merge_reshapes},
      {"fuse-layer-norm", "Layer normalisation spelled out in small operators becomes LayerNormalization.",
       fuse_layer_norm},
      {"div-to-mul", "Div by a constant becomes Mul by its reciprocals.", divide_by_multiplying},
      {"tokens-to-gemm", "MatMul of tokens with a constant matrix, and the bias behind it, become a Gemm on rows.",
       tokens_to_gemm},
      {"split-gemm", "transA, a computed B or a computed C of a Gemm become Transpose, MatMul and Add.", split_gemm},
      {"fold-pad", "A Pad of zeros in front of a Conv becomes the Conv's pads.", fold_pad},
      {"fold-bias-add", "An Add of a constant per channel behind Conv, ConvTranspose or Gemm becomes its bias.",
       fold_bias_add},
      {"fold-batch-norm",
       "BatchNormalization goes into the weights of the convolution before it, or becomes a depthwise 1x1 Conv.",
       fold_batch_norm},
      {"normalise-linear",
       "Gemm and 2-D MatMul with constant B become Gemm with B as N x K (transB = 1), alpha = beta = 1, bias of N.",
       normalise_linear},
      {"remove-dead", "Nodes and constants that no output depends on are removed.", remove_dead},
  };
  return passes;
}

const std::vector<std::string>& canonical_passes() {
  static const std::vector<std::string> names = {
      "settle-softmax",  "explicit-windows", "remove-identity", "merge-reshapes", "fuse-layer-norm",
      "div-to-mul",      "tokens-to-gemm",   "split-gemm",      "fold-pad",       "fold-bias-add",
      "fold-batch-norm", "normalise-linear", "fold-bias-add",   "remove-dead"};
  return names;
}

namespace {

const Pass& pass_by_name(const std::string& name) {
  const auto& passes = all_passes();
  const auto it = std::find_if(passes.begin(), passes.end(), [&](const Pass& pass) { return pass.name == name; });
  if (it == passes.end()) {
    std::string legal;
    for (const Pass& pass : passes) legal += (legal.empty() ? "" : ", ") + pass.name;
    user_error("pass '", name, "' does not exist: expected one of ", legal);
  }
  return *it;
}

}  // namespace

std::vector<PassCount> run_passes(Graph& graph, const std::vector<std::string>& names,
                                  const std::set<std::string>& off) {
  for (const std::string& name : off) (void)pass_by_name(name);
  std::vector<PassCount> counts;
  for (const std::string& name : names) {
    const Pass& pass = pass_by_name(name);
    if (off.count(name) != 0) continue;
    counts.push_back({name, pass.run(graph)});
    if (counts.back().changes != 0) infer_shapes(graph);
  }
  return counts;
}

}  // namespace tessera::compiler
