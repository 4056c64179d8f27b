#include "compiler/passes/einsum.hpp"

#include <algorithm>
#include <cctype>

#include "hw/common/error.hpp"

namespace tessera::compiler {

Einsum resolve_einsum(const Node& node, const std::vector<Shape>& shapes) {
  const auto refuse = [&](const std::string& text) {
    user_error("node '", node.name, "' (Einsum): equation '", node.string_attr("equation", ""), "': ", text);
  };
  std::string text = node.string_attr("equation", "");
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  if (text.find('.') != std::string::npos) refuse("has an ellipsis: expected one letter an axis");
  const std::size_t arrow = text.find("->");
  std::string left = text.substr(0, arrow);
  Einsum result;
  for (std::size_t at = 0; at <= left.size();) {
    const std::size_t end = std::min(left.find(',', at), left.size());
    result.inputs.push_back(left.substr(at, end - at));
    at = end + 1;
  }
  if (result.inputs.size() != shapes.size()) {
    refuse("names " + std::to_string(result.inputs.size()) + " operands, the node has " +
           std::to_string(shapes.size()));
  }
  std::map<char, int> seen;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (result.inputs[i].size() != shapes[i].size()) {
      refuse("operand " + std::to_string(i) + " has rank " + std::to_string(shapes[i].size()) + ", expected " +
             std::to_string(result.inputs[i].size()));
    }
    for (std::size_t d = 0; d < shapes[i].size(); ++d) {
      const char label = result.inputs[i][d];
      if (std::isalpha(static_cast<unsigned char>(label)) == 0) refuse(std::string("'") + label + "' is no letter");
      ++seen[label];
      const auto [known, fresh] = result.sizes.emplace(label, shapes[i][d]);
      if (!fresh && known->second != shapes[i][d]) {
        refuse(std::string("axis ") + label + " has sizes " + std::to_string(known->second) + " and " +
               std::to_string(shapes[i][d]));
      }
    }
  }
  if (arrow != std::string::npos) {
    result.output = text.substr(arrow + 2);
    for (const char label : result.output) {
      if (seen.count(label) == 0) refuse(std::string("result axis ") + label + " stands in no operand");
    }
  } else {  // implicit: letters that stand once, in alphabetical order
    for (const auto& [label, count] : seen) {
      if (count == 1) result.output += label;
    }
  }
  return result;
}

}  // namespace tessera::compiler
