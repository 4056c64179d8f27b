// A Graph becomes an ONNX file: the quantised models that users keep, and the IR dumps that Netron opens. Standard
// operators leave in the opset that the newest of them needs; nodes of other domains are written as they are.
#pragma once

#include <filesystem>
#include <string>

#include "compiler/ir/graph.hpp"

namespace tessera::compiler {

enum class WrittenWeights {
  all,
  small_only  // constants above kSmallConstant elements become inputs, so that ONNX's loader and checker take the file
};
inline constexpr std::int64_t kSmallConstant = 256;

struct ExportOptions {
  WrittenWeights weights = WrittenWeights::all;
};

/// The ONNX file's bytes. Names of absorbed nodes (Node::fused) go to the nodes' doc_string and come back on import;
/// attributes that begin with "tessera_" are left out of standard operators. UserError above protobuf's 2 GiB.
[[nodiscard]] std::string export_bytes(const Graph& graph, const ExportOptions& options = {});

/// Writes beside the file and renames.
void export_model(const Graph& graph, const std::filesystem::path& file, const ExportOptions& options = {});

/// dir/STAGE.onnx (stage "01-imported") without large weights: FORMAT.md section 2 keeps those to NN-quantised.
void dump_ir(const Graph& graph, const std::filesystem::path& dir, const std::string& stage,
             const ExportOptions& options = {WrittenWeights::small_only});

/// What ONNX's own checker says of exported bytes; empty when content (or the opset is newer than it knows).
[[nodiscard]] std::string check_exported(const std::string& bytes);

}  // namespace tessera::compiler
