// One function per unit, each in its own file; execute.cpp chooses. Instructions must have passed find_fault().
#pragma once

#include "isa/semantics/execute.hpp"

namespace tessera::semantics {

void execute_load(const isa::Load& load, Memory& memory);
void execute_store(const isa::Store& store, Memory& memory);
void execute_conv(const isa::Conv& conv, const isa::ChipConfig& chip, Memory& memory);
void execute_gemm(const isa::Gemm& gemm, const isa::ChipConfig& chip, Memory& memory);
void execute_edp(const isa::Edp& edp, const isa::ChipConfig& chip, Memory& memory);
void execute_reorder(const isa::Reorder& reorder, Memory& memory);

}  // namespace tessera::semantics
