#include "compiler/passes/canonicalise.hpp"

#include <algorithm>
#include <utility>

#include "compiler/passes/batch_norm.hpp"
#include "compiler/passes/bias_add.hpp"
#include "compiler/passes/dead.hpp"
#include "compiler/passes/explicit_windows.hpp"
#include "compiler/passes/identity.hpp"
#include "compiler/passes/layer_norm.hpp"
#include "compiler/passes/linear.hpp"
#include "compiler/passes/pad.hpp"
#include "compiler/passes/reciprocal.hpp"
#include "compiler/passes/reduce.hpp"
#include "compiler/passes/reshape.hpp"
#include "compiler/passes/scale.hpp"
#include "compiler/passes/settle_softmax.hpp"
#include "compiler/passes/shape_inference.hpp"
#include "compiler/passes/split_gemm.hpp"
#include "compiler/passes/token_linear.hpp"
#include "compiler/passes/transpose.hpp"
#include "hw/common/error.hpp"

namespace tessera::compiler {

namespace {

struct Own {
  Pass pass;
  std::string before;
};

/// Filled before main by the objects that UserPass documents, never after.
std::vector<Own>& own_passes() {
  static std::vector<Own> passes;
  return passes;
}

std::vector<Pass> built_in_passes() {
  return {
      {"settle-softmax",
       "The 2-D Softmax of opset < 13 becomes one along an axis, with Flatten and Reshape where needed.",
       "Legal on Softmax, LogSoftmax and Hardmax that import marked as coerced to 2-D.", settle_softmax},
      {"explicit-windows",
       "Convolutions and pools state kernel, strides, dilations and pads; auto_pad and output_shape go.",
       "Legal where shapes are known; no value changes.", make_windows_explicit},
      {"remove-identity", "Identity, Dropout and operators that happen to change nothing are bypassed.",
       "Legal where the result is the input, element by element, and no mask is read.", remove_identity},
      {"merge-reshapes", "Chains of Reshape, Flatten, Squeeze and Unsqueeze become one Reshape to a constant shape.",
       "Legal where the values between have no other reader.", merge_reshapes},
      {"merge-transposes", "Transposes one behind the other become one.",
       "Legal where the value between has no other reader.", merge_transposes},
      {"reduce-to-pool", "ReduceMean over rows and columns becomes GlobalAveragePool, and a Reshape where the axes go.",
       "Legal on four axes when exactly the two spatial ones are reduced.", reduce_to_pool},
      {"fuse-layer-norm", "Layer normalisation spelled out in small operators becomes LayerNormalization.",
       "Legal where the operators between have no other reader and epsilon and axes are constant.", fuse_layer_norm},
      {"div-to-mul", "Div by a constant becomes Mul by its reciprocals.",
       "Legal where no element of the constant is zero.", divide_by_multiplying},
      {"tokens-to-gemm", "MatMul of tokens with a constant matrix, and the bias behind it, become a Gemm on rows.",
       "Legal with more than two axes in front and a matrix of two; the bias is one value a column.", tokens_to_gemm},
      {"split-gemm", "transA, a computed B or a computed C of a Gemm become Transpose, MatMul and Add.",
       "Legal for any Gemm without constant B, with transA or with computed C; alpha and beta become Mul.", split_gemm},
      {"fold-pad", "A Pad of zeros in front of a Conv becomes the Conv's pads.",
       "Legal for constant mode with value 0 on spatial axes, none negative, read by the Conv alone; never for another "
       "value, reflect or edge.",
       fold_pad},
      {"fold-bias-add", "An Add of a constant per channel behind Conv, ConvTranspose or Gemm becomes its bias.",
       "Legal where nobody else reads the sum's operand and the old bias is constant.", fold_bias_add},
      {"fold-batch-norm",
       "BatchNormalization goes into the weights of the convolution before it, or becomes a depthwise 1x1 Conv.",
       "Legal with constant statistics; into a convolution with constant weights that nobody else reads.",
       fold_batch_norm},
      {"fold-scale", "A Mul by a constant per channel behind Conv or ConvTranspose goes into its weights and bias.",
       "Legal with constant weights and bias, where nobody else reads the convolution.", fold_scale},
      {"normalise-linear",
       "Gemm and 2-D MatMul with constant B become Gemm with B as N x K (transB = 1), alpha = beta = 1, bias of N: a "
       "1x1 convolution.",
       "Legal with constant B and without transA.", normalise_linear},
      {"remove-dead", "Nodes and constants that no output depends on are removed.", "Legal always; graph inputs stay.",
       remove_dead},
  };
}

}  // namespace

UserPass::UserPass(Pass pass, std::string before) { own_passes().push_back({std::move(pass), std::move(before)}); }

const std::vector<Pass>& all_passes() {
  static const std::vector<Pass> passes = [] {
    std::vector<Pass> all = built_in_passes();
    for (const Own& own : own_passes()) {
      for (const Pass& other : all) {
        TESSERA_CHECK(other.name != own.pass.name, "two passes are called ", own.pass.name);
      }
      all.push_back(own.pass);
    }
    return all;
  }();
  return passes;
}

const std::vector<std::string>& canonical_passes() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> order = {"settle-softmax",   "explicit-windows", "remove-identity", "merge-reshapes",
                                      "merge-transposes", "remove-identity",  "reduce-to-pool",  "fuse-layer-norm",
                                      "div-to-mul",       "tokens-to-gemm",   "split-gemm",      "fold-pad",
                                      "fold-scale",       "fold-bias-add",    "fold-batch-norm", "fold-scale",
                                      "normalise-linear", "fold-bias-add",    "remove-dead"};
    for (const Own& own : own_passes()) {
      std::vector<std::string> with;
      for (const std::string& name : order) {
        if (name == own.before) with.push_back(own.pass.name);
        with.push_back(name);
      }
      if (with.size() == order.size()) with.push_back(own.pass.name);
      order = std::move(with);
    }
    return order;
  }();
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
