// One TensorProto becomes one Tensor, wherever its elements lie: raw bytes, typed fields, or a file beside the model.
#pragma once

#include <filesystem>
#include <string>

#include "compiler/ir/graph.hpp"

namespace onnx {
class TensorProto;
}

namespace tessera::compiler {

/// ONNX's number for a data type -> ours; undefined for what Tessera has no tensors of (bfloat16, float8, int4, ...).
[[nodiscard]] DType dtype_from_onnx(int type);
/// "bfloat16 (16)", for messages about types that Tessera has not.
[[nodiscard]] std::string onnx_type_text(int type);

/// `where` opens each message ("model.onnx: initialiser 'w'"); external data must lie inside `folder`.
[[nodiscard]] Tensor tensor_from_proto(const onnx::TensorProto& proto, const std::string& where,
                                       const std::filesystem::path& folder);

}  // namespace tessera::compiler
