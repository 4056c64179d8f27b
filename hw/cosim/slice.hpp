// What the RTL slice takes (hw/rtl/README.md), as a check of a whole program before it runs: what it lacks is named.
#pragma once

#include <functional>

#include "isa/chip.hpp"
#include "isa/isa.hpp"
#include "isa/program/program.hpp"

namespace tessera::cosim {

/// UserError unless every instruction is in the slice; with `in_rtl`, those of the queues it names. Host steps and
/// illegal words pass: the words are faults, on the models as on the RTL.
void check_slice(const isa::Program& program, const isa::ChipConfig& chip,
                 const std::function<bool(int queue)>& in_rtl = {});

/// The window of the RTL holds columns where the page has patches (hw/models/conv/README.md): the columns of a fold,
/// which are more than its patches where a dilation steps over some, must fit as well. Passes hw::conv_check.
[[nodiscard]] bool conv_in_slice(const isa::Conv& conv, const isa::ChipConfig& chip);
/// A step of REORDER takes a line's worth of bytes at most: one with more writes some byte twice. Legal instructions
/// only.
[[nodiscard]] bool reorder_in_slice(const isa::Reorder& reorder, const isa::ChipConfig& chip);

}  // namespace tessera::cosim
