// Where the verilated core of a chip shape comes from: the build tree has the chips that CMake verilates; any other
// shape is Verilated on first use into a cache. Leaves out: what a core does (verilated_core.hpp).
#pragma once

#include <filesystem>
#include <string>

#include "hw/cosim/core_api.hpp"
#include "hw/cosim/unit_api.hpp"
#include "isa/chip.hpp"
#include "isa/isa.hpp"

namespace tessera::cosim {

/// "key=value\n" of each key that the RTL sees (hw/rtl/generate_chip_package.py).
[[nodiscard]] std::string rtl_shape(const isa::ChipConfig& chip);

/// Where libraries of shapes that the build tree lacks are kept: $TESSERA_RTL_CACHE, $XDG_CACHE_HOME/tessera/rtl or
/// ~/.cache/tessera/rtl.
[[nodiscard]] std::filesystem::path rtl_cache_folder();

/// The library of the chip's shape; builds it if it is nowhere, and says so on standard error. $TESSERA_RTL_ROOT names
/// another source tree, whose RTL is used instead of the build's (mutations, an RTL engineer's copy). It stays loaded.
/// UserError if it cannot be built.
[[nodiscard]] const CoreApi& core_library(const isa::ChipConfig& chip);
/// The same for one unit (tessera_unit_bench.sv), always through the cache.
[[nodiscard]] const UnitApi& unit_library(const isa::ChipConfig& chip, isa::QueueId queue);

}  // namespace tessera::cosim
