// From an ONNX file to the frozen quantised graph and to a program: the order of the stages, and their IR dumps.
// Leaves out: every stage's own work (compiler/).
#pragma once

#include <filesystem>
#include <optional>

#include "compiler/driver/compile.hpp"
#include "compiler/ir/graph.hpp"
#include "compiler/ir/qgraph.hpp"
#include "isa/chip.hpp"
#include "isa/program/program.hpp"
#include "runtime/session/options.hpp"

namespace tessera::runtime {

struct Quantised {
  compiler::Graph qdq;      // standard QDQ ONNX, the frozen form
  compiler::QGraph qgraph;  // what it means in integers
};

/// Imported, shapes known, constants folded, weights randomised when asked.
[[nodiscard]] compiler::Graph load_model(const ModelOptions& options);

/// Float passes and quantisation (a QDQ / QLinear model comes in as it is). With `ir_dir` every stage is dumped there.
[[nodiscard]] Quantised quantise_model(const ModelOptions& options,
                                       const std::optional<std::filesystem::path>& ir_dir = std::nullopt);

/// The quantised graph of a compiled program, from DIR/ir. UserError when the dump is missing or holds no weights.
[[nodiscard]] compiler::QGraph read_quantised(const std::filesystem::path& dir);

/// What does not depend on the schedule.
struct PreparedModel {
  isa::ChipConfig chip;
  compiler::QGraph qgraph;
};
[[nodiscard]] PreparedModel prepare_model(const ModelOptions& model, const CompileOptions& options,
                                          const std::optional<std::filesystem::path>& ir_dir = std::nullopt);
/// One program of it.
[[nodiscard]] compiler::Compiled schedule_model(const PreparedModel& prepared, const ModelOptions& model,
                                                const CompileOptions& options);

struct CompiledModel {
  isa::Program program;
  isa::ChipConfig chip;
  compiler::QGraph qgraph;
};

[[nodiscard]] CompiledModel compile_model(const ModelOptions& model, const CompileOptions& options,
                                          const std::optional<std::filesystem::path>& ir_dir = std::nullopt);

}  // namespace tessera::runtime
