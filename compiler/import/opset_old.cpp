// What differs between opsets 1 to 6 and 7: in-place hints, broadcasting by attribute, shapes and axes as attributes.
#include <set>

#include "compiler/import/opset.hpp"

namespace tessera::compiler::opset_rules_detail {

void from_before_7(Node& node, OpsetContext& context) {
  node.attributes.erase("consumed_inputs");  // a hint that memory may be reused
  static const std::set<std::string> broadcasting = {"Add", "Sub",   "Mul",  "Div",     "Pow",  "And",  "Or",
                                                     "Xor", "Equal", "Less", "Greater", "Gemm", "PRelu"};
  if (broadcasting.count(node.op) != 0) {
    if (node.int_attr("broadcast", 0) != 0 && node.attributes.count("axis") != 0) {
      context.refuse(node, "broadcast along an axis: expected broadcasting as since opset 7; convert the model");
    }
    node.attributes.erase("broadcast");
    node.attributes.erase("axis");
  }
  if (node.op == "Reshape" && node.attributes.count("shape") != 0) attribute_to_input(node, context, "shape", 1);
  if (node.op == "Concat" && node.attributes.count("axis") == 0) node.attributes["axis"] = std::int64_t{1};
  if (node.op == "Pad" && node.attributes.count("paddings") != 0) {
    node.attributes["pads"] = node.attributes.at("paddings");
    node.attributes.erase("paddings");
  }
  if (node.op == "Cast" && !node.string_attr("to", "").empty()) {
    context.refuse(node, "the type stands in words: expected a number as since opset 6; convert the model");
  }
  if (node.op == "Upsample")
    context.refuse(node, "scales in two attributes: expected opset 7 or newer; convert the model");
  if (node.op == "BatchNormalization" || node.op == "Dropout") node.attributes.erase("is_test");
}

}  // namespace tessera::compiler::opset_rules_detail
