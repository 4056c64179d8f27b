// An ONNX file becomes a Graph in its opset-13 form. Leaves out: control flow and other subgraphs (refused in words),
// sequences, sparse and string tensors; shapes of intermediate values (compiler/passes infers them, value_info of the
// file is not believed). Custom domains and unknown operators are kept: whoever needs their shape refuses by node name.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "compiler/ir/graph.hpp"

namespace tessera::compiler {

inline constexpr std::int64_t kOldestOpset = 1;
inline constexpr std::int64_t kNewestOpset = 21;

struct ImportOptions {
  /// As `--shape` gives them: "NAME=1x3x224x224", or "1x3x224x224" when the graph has one input.
  std::vector<std::string> shapes;
};

/// UserError says file, place, what was found and what is legal. `warnings` (may be null) gets what ONNX's own checker
/// finds where it knows the opset; it decides nothing.
[[nodiscard]] Graph import_model(const std::filesystem::path& file, const ImportOptions& options = {},
                                 std::vector<std::string>* warnings = nullptr);

/// The same from bytes; `name` stands for the file in messages, external data is searched in `folder`.
[[nodiscard]] Graph import_bytes(const std::string& bytes, const std::string& name, const std::filesystem::path& folder,
                                 const ImportOptions& options = {}, std::vector<std::string>* warnings = nullptr);

}  // namespace tessera::compiler
