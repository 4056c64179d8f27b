#include "compiler/passes/macs.hpp"

#include <gtest/gtest.h>

#include "one_node.hpp"

namespace tessera::compiler {
namespace {

std::int64_t macs_of(const std::string& op, const std::vector<Operand>& operands, Attributes attributes = {}) {
  Graph graph = one_node(op, operands, std::move(attributes));
  infer_shapes(graph);
  return macs(graph);
}

TEST(Macs, closed_forms) {
  // Conv: outputs x (inputs a group x kernel).
  EXPECT_EQ(macs_of("Conv", {Shape{2, 4, 5, 5}, Shape{6, 2, 3, 3}}, {{"group", std::int64_t{2}}}),
            2 * 6 * 3 * 3 * 2 * 9);
  EXPECT_EQ(macs_of("ConvTranspose", {Shape{1, 4, 5, 5}, Shape{4, 3, 2, 2}}, {{"strides", Ints{2, 2}}}),
            4 * 25 * 3 * 4);
  EXPECT_EQ(macs_of("Gemm", {Shape{3, 2}, Shape{5, 3}}, {{"transA", std::int64_t{1}}, {"transB", std::int64_t{1}}}),
            2 * 3 * 5);
  EXPECT_EQ(macs_of("MatMul", {Shape{7, 4, 3}, Shape{3, 5}}), 7 * 4 * 3 * 5);
  EXPECT_EQ(macs_of("QLinearConv",
                    {Shape{1, 2, 4, 4}, Shape{}, Shape{}, Shape{5, 2, 3, 3}, Shape{}, Shape{}, Shape{}, Shape{}}),
            5 * 4 * 18);
  EXPECT_EQ(macs_of("AveragePool", {Shape{1, 2, 4, 4}}, {{"kernel_shape", Ints{2, 2}}}), 0);
}

TEST(Macs, unknown_shapes_are_refused_by_name) {
  Graph graph = one_node("MatMul", {Shape{4, 3}, Shape{3, 5}});
  graph.values["in0"].shape.reset();
  infer_shapes(graph);
  try {
    (void)macs(graph);
    FAIL() << "expected an error";
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(),
                 "node 'n' (MatMul): the shape of 'n:0' is unknown, so its multiply-accumulates cannot be counted");
  }
}

}  // namespace
}  // namespace tessera::compiler
