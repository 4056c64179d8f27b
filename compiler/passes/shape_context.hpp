// What a shape function sees of its node. Private to compiler/passes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.hpp"

namespace tessera::compiler {

class ShapeContext {
 public:
  ShapeContext(const Graph& graph, const Node& node) : graph_(graph), node_(node) {}

  [[nodiscard]] const Node& node() const { return node_; }
  [[nodiscard]] std::size_t inputs() const { return node_.inputs.size(); }
  [[nodiscard]] bool has(std::size_t i) const { return i < node_.inputs.size() && !node_.inputs[i].empty(); }
  /// nullptr when the input is absent or its shape unknown.
  [[nodiscard]] const Shape* shape(std::size_t i) const;
  [[nodiscard]] DType dtype(std::size_t i) const;
  [[nodiscard]] const Tensor* constant(std::size_t i) const;
  /// The elements of an integer constant; nullopt when absent or not constant.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> ints(std::size_t i) const;
  /// Axes from the input at i, else from the attribute `axes`, else empty; nullopt: an input that is not constant.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> axes(std::size_t i) const;
  /// A non-negative axis; refuses one outside [-rank, rank).
  [[nodiscard]] std::size_t axis(std::int64_t given, std::size_t rank) const;
  /// Refuses unless there are at least that many inputs.
  void need(std::size_t count) const;
  [[noreturn]] void refuse(const std::string& text) const;

 private:
  const Graph& graph_;
  const Node& node_;
};

using Infos = std::vector<ValueInfo>;
using ShapeFunction = Infos (*)(const ShapeContext&);
using ShapeTable = std::map<std::string, ShapeFunction>;

[[nodiscard]] inline Infos unknown(DType dtype) { return {ValueInfo{dtype, std::nullopt}}; }
[[nodiscard]] inline Infos known(DType dtype, Shape shape) { return {ValueInfo{dtype, std::move(shape)}}; }

void add_elementwise_shapes(ShapeTable& table);
void add_window_shapes(ShapeTable& table);    // Conv, pools, Resize
void add_matrix_shapes(ShapeTable& table);    // Gemm, MatMul, reductions
void add_layout_shapes(ShapeTable& table);    // Reshape, Transpose, Concat, Slice, ...
void add_indexing_shapes(ShapeTable& table);  // Gather, Scatter, Split, Pad, ...

}  // namespace tessera::compiler
