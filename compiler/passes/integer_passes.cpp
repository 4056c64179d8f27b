#include "compiler/passes/integer_passes.hpp"

#include <algorithm>

#include "compiler/passes/merge_requantize.hpp"
#include "hw/common/error.hpp"

namespace tessera::compiler {
namespace {

bool is_add(const QNode& node) { return node.op == QOp::add; }
bool is_concat(const QNode& node) { return node.op == QOp::concat; }
bool is_product(const QNode& node) { return node.op == QOp::conv && node.kh == 1 && node.kw == 1 && node.sx == 1; }
bool is_strided(const QNode& node) { return node.op == QOp::conv && node.sx > 1; }
bool is_move(const QNode& node) { return node.op == QOp::move; }

std::string legal_names() {
  std::string names;
  for (const Pass& pass : all_passes()) names += (names.empty() ? "" : ", ") + pass.name;
  for (const IntegerPass& pass : integer_passes()) names += ", " + pass.name;
  return names;
}

std::string paragraph(const std::string& name, const std::string& sentence, const std::string& legal) {
  return "  " + name + "\n      " + sentence + "\n      " + legal + "\n";
}

}  // namespace

const std::vector<IntegerPass>& integer_passes() {
  static const std::vector<IntegerPass> passes = {
      {"merge-tables", "Changes of scale and tables one behind the other become one table of 256 entries.",
       "Legal on int8 where the values between have no other reader: a table holds the result of every input.",
       merge_tables, nullptr},
      {"add-in-drain", "The Add behind a convolution runs in that convolution's drain.",
       "Legal where nobody else reads the convolution, it has no clamp of its own, and the other operand is there "
       "before.",
       nullptr, is_add},
      {"concat-in-place", "Parts of a Concat are written where they lie in it.",
       "Legal for parts that start on a channel block and that no import makes.", nullptr, is_concat},
      {"flatten-as-kernel", "A fully connected layer behind a Flatten reads the map, with a kernel of the map's size.",
       "Legal where the map fits the convolution's window.", nullptr, is_product},
      {"columns-as-channels",
       "A convolution of few input channels and a stride reads neighbouring columns of an image in DRAM as channels of "
       "one pixel.",
       "Legal where it alone reads the image, in NCHW order, the columns divide its stride and fit one channel block: "
       "weights for columns outside its kernel are the zero point.",
       nullptr, is_strided},
      {"transpose-into-matmul", "A product reads its operand through the Transpose in front of it.",
       "Legal where the Transpose permutes batch, rows and columns and nobody else needs its result.", nullptr,
       is_move},
  };
  return passes;
}

void check_pass_names(const std::set<std::string>& off) {
  for (const std::string& name : off) {
    const auto named = [&](const auto& pass) { return pass.name == name; };
    if (std::none_of(all_passes().begin(), all_passes().end(), named) &&
        std::none_of(integer_passes().begin(), integer_passes().end(), named)) {
      user_error("--no-pass ", name, ": no such pass: expected one of ", legal_names());
    }
  }
}

std::vector<PassCount> run_integer_passes(QGraph& graph, const std::set<std::string>& off) {
  check_pass_names(off);
  std::vector<PassCount> counts;
  for (const IntegerPass& pass : integer_passes()) {
    const bool on = off.count(pass.name) == 0;
    if (pass.run != nullptr && on) counts.push_back({pass.name, pass.run(graph)});
    if (pass.forbids == nullptr || on) continue;
    for (QNode& node : graph.nodes) node.apart = node.apart || pass.forbids(node);
  }
  return counts;
}

std::string passes_page() {
  std::string page = "before quantisation (they may change arithmetic by folding constants):\n";
  for (const Pass& pass : all_passes()) page += paragraph(pass.name, pass.sentence, pass.legal);
  page +=
      "on request: --preprocess puts (x - mean) / deviation per channel in front of an input; legal for float inputs\n";
  page += "in quantisation: Relu and Clip behind an operator that clamps share its rounding (always)\n";
  page += "behind quantisation (they keep every value):\n";
  for (const IntegerPass& pass : integer_passes()) page += paragraph(pass.name, pass.sentence, pass.legal);
  return page;
}

}  // namespace tessera::compiler
