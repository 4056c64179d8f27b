#include <map>

#include "compiler/interpret/op_call.hpp"

namespace tessera::compiler::operators {

OpFunction find_operator(const std::string& domain, const std::string& op) {
  static const std::map<std::string, OpFunction> all = [] {
    std::map<std::string, OpFunction> table;
    for (const OpTable& part : {elementwise_operators(), conv_operators(), matmul_operators(), pool_operators(),
                                reduce_operators(), normalize_operators(), shape_operators(), index_operators(),
                                resize_operators(), quantize_operators(), sample_operators()}) {
      for (const OpEntry& entry : part) table[entry.op] = entry.run;
    }
    return table;
  }();
  if (!domain.empty() && domain != "ai.onnx") return nullptr;
  const auto found = all.find(op);
  return found == all.end() ? nullptr : found->second;
}

}  // namespace tessera::compiler::operators
