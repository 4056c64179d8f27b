#include "compiler/ir/qgraph.hpp"

#include "hw/common/error.hpp"

namespace tessera::compiler {

const char* qop_name(QOp op) {
  switch (op) {
    case QOp::conv:
      return "conv";
    case QOp::add:
      return "add";
    case QOp::mul:
      return "mul";
    case QOp::max_pool:
      return "max_pool";
    case QOp::average_pool:
      return "average_pool";
    case QOp::requantize:
      return "requantize";
    case QOp::table:
      return "table";
    case QOp::concat:
      return "concat";
    case QOp::view:
      return "view";
    case QOp::move:
      return "move";
    case QOp::matmul:
      return "matmul";
    case QOp::constant:
      return "constant";
    case QOp::host:
      return "host";
  }
  TESSERA_CHECK(false, "no such quantised operator ", static_cast<int>(op));
}

std::int64_t QGraph::macs() const {
  std::int64_t sum = 0;
  for (const QNode& node : nodes) sum += node.macs;
  return sum;
}

}  // namespace tessera::compiler
