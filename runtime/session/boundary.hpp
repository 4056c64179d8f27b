// What crosses between the user and DRAM: tensors in ONNX's order <-> quantised bytes in a program's buffers.
#pragma once

#include <vector>

#include "compiler/ir/graph.hpp"
#include "hw/models/dram/storage.hpp"
#include "hw/platform/dram_layout.hpp"
#include "hw/platform/platform.hpp"
#include "isa/program/program.hpp"
#include "runtime/session/options.hpp"

namespace tessera::runtime {

/// Inputs from files (float, uint8 where the model has uint8, or already quantised as the program stores them) or
/// seeded random, in the order of Program::inputs.
[[nodiscard]] std::vector<compiler::Tensor> make_inputs(const isa::Program& program, const RunOptions& options);

void place_inputs(const isa::Program& program, const platform::DramLayout& layout,
                  const std::vector<compiler::Tensor>& inputs, hw::DramStorage& dram);
[[nodiscard]] std::vector<compiler::Tensor> fetch_outputs(const isa::Program& program,
                                                          const platform::DramLayout& layout,
                                                          const hw::DramStorage& dram);

/// A quantised tensor in the model's own type: float32, or the uint8 or int8 that a quantised model gives.
[[nodiscard]] compiler::Tensor dequantise(const isa::TensorRef& ref, const compiler::Tensor& tensor);

/// Runs a host step's arithmetic on DRAM.
void run_host_step_on(const isa::Program& program, const platform::DramLayout& layout, const isa::HostStep& step,
                      hw::DramStorage& dram);
/// Bytes a host step reads and writes.
[[nodiscard]] std::pair<Bytes, Bytes> host_step_bytes(const isa::HostStep& step);
/// Those, and the cycles that it takes.
[[nodiscard]] platform::HostCost host_step_cost(const isa::ChipConfig& chip, const isa::HostStep& step);

}  // namespace tessera::runtime
