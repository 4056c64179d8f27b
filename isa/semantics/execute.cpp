#include "isa/semantics/execute.hpp"

#include "hw/common/error.hpp"
#include "isa/semantics/units.hpp"

namespace tessera::semantics {

namespace {

struct Executor {
  const isa::ChipConfig& chip;
  Memory& memory;
  void operator()(const isa::Nop&) const {}
  void operator()(const isa::Load& i) const { execute_load(i, memory); }
  void operator()(const isa::Store& i) const { execute_store(i, memory); }
  void operator()(const isa::Conv& i) const { execute_conv(i, chip, memory); }
  void operator()(const isa::Gemm& i) const { execute_gemm(i, chip, memory); }
  void operator()(const isa::Edp& i) const { execute_edp(i, chip, memory); }
  void operator()(const isa::Reorder& i) const { execute_reorder(i, memory); }
  void operator()(const isa::Dsp&) const { throw ProgramError("dsp: kernels of the DSP are not supported yet"); }
};

}  // namespace

void execute_checked(const isa::Instruction& instruction, const isa::ChipConfig& chip, Memory& memory) {
  std::visit(Executor{chip, memory}, instruction.body);
}

void execute(const isa::Instruction& instruction, const isa::ChipConfig& chip, Memory& memory) {
  const auto sram_bytes = static_cast<std::size_t>(chip.sram.banks * chip.sram.size_bytes);
  TESSERA_CHECK(memory.sram != nullptr && memory.sram_bytes == sram_bytes, "memory of ", memory.sram_bytes,
                " bytes for a chip with ", sram_bytes);
  const DramLimits limits = memory.dram != nullptr ? memory.dram->limits() : DramLimits{};
  if (const auto fault = find_fault(instruction, chip, limits)) throw ProgramError(fault->text);
  execute_checked(instruction, chip, memory);
}

std::int64_t useful_macs(const isa::Instruction& instruction) {
  if (const auto* conv = std::get_if<isa::Conv>(&instruction.body)) {
    return std::int64_t{conv->out_h} * conv->out_w * conv->cout * (conv->cin / conv->groups) * conv->kh * conv->kw;
  }
  if (const auto* gemm = std::get_if<isa::Gemm>(&instruction.body)) {
    return std::int64_t{gemm->batch} * gemm->m * gemm->n * gemm->k;
  }
  return 0;
}

}  // namespace tessera::semantics
