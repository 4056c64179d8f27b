#include "compiler/passes/explicit_windows.hpp"

#include "compiler/passes/rewrite.hpp"
#include "compiler/passes/window.hpp"

namespace tessera::compiler {

std::size_t make_windows_explicit(Graph& graph) {
  std::size_t changed = 0;
  for (Node& node : graph.nodes) {
    const bool conv = is_op(node, "Conv");
    const bool transpose = is_op(node, "ConvTranspose");
    const bool pool = is_op(node, "MaxPool") || is_op(node, "AveragePool") || is_op(node, "LpPool");
    if (!(conv || transpose || pool) || !has_shape(graph, node.inputs[0])) continue;
    if (!pool && !has_shape(graph, node.inputs[1])) continue;
    const Shape& in = graph.shape_of(node.inputs[0]);
    std::vector<std::int64_t> kernel;
    if (!pool) {
      const Shape& weight = graph.shape_of(node.inputs[1]);
      kernel.assign(weight.begin() + 2, weight.end());
    }
    const Window window = transpose ? resolve_transpose_window(node, in, kernel) : resolve_window(node, in, kernel);
    const auto before = node.attributes;
    node.attributes["kernel_shape"] = window.kernel;
    node.attributes["strides"] = window.strides;
    node.attributes["pads"] = window.pads();
    node.attributes.erase("auto_pad");
    if (!pool) {
      node.attributes["dilations"] = window.dilations;
      node.attributes["group"] = node.int_attr("group", 1);
    }
    if (transpose) {
      node.attributes["output_padding"] = window.output_padding;
      node.attributes.erase("output_shape");
    }
    if (node.attributes.size() != before.size() || before.count("auto_pad") != 0 || before.count("output_shape") != 0) {
      ++changed;
    }
  }
  return changed;
}

}  // namespace tessera::compiler
