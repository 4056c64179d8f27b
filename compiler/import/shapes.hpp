// The shapes of graph inputs: what the file declares, with symbols bound by `--shape`. Nothing is guessed, not even a
// batch of one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.hpp"

namespace tessera::compiler {

/// One dimension as the file declares it: a number, or a symbol ("?" when it has no name; "0" and "-1" as
/// some exporters write it).
struct DeclaredDim {
  std::int64_t size = -1;  // -1: symbol
  std::string symbol;
};

struct DeclaredInput {
  std::string name;
  DType dtype = DType::undefined;
  std::optional<std::vector<DeclaredDim>> dims;  // nullopt: the file gives no rank
};

/// A shape for each input. A symbol bound through one input is bound in all. UserError otherwise, naming `--shape`.
[[nodiscard]] std::vector<Shape> bind_shapes(const std::string& file, const std::vector<DeclaredInput>& inputs,
                                             const std::vector<std::string>& given);

}  // namespace tessera::compiler
