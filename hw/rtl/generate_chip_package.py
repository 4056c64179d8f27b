"""tessera_chip_pkg.sv and rtl_parameters.hpp from a chip file: what the RTL is built for.

usage: generate_chip_package.py CHIP.json OUT_FOLDER

The package holds one constant a key; the header lists the same keys, so that the co-simulation can refuse a chip whose
values differ from those the RTL was built with (hw/cosim).
"""
import json
import pathlib
import sys

KEYS = [
    "axi.data_bytes", "axi.max_burst_beats", "axi.read_outstanding", "axi.write_outstanding",
    "conv.accumulators", "conv.cin_lanes", "conv.cout_lanes", "conv.depthwise_taps", "conv.engines", "conv.pipeline_cycles",
    "conv.pixel_lanes", "conv.window_bytes",
    "cp.fetch_words", "cp.prefetch_words",
    "gemm.accumulator_rows", "gemm.cols", "gemm.fold_overlap", "gemm.rows",
    "layout.channel_block",
    "load.in_flight", "load.landing_bytes",
    "reorder.pipeline_cycles",
    "sram.banks", "sram.line_bytes", "sram.read_latency", "sram.size_bytes",
    "store.buffer_bytes", "store.in_flight",
]


def sv_name(key):
    return "".join(part.capitalize() for part in key.replace(".", "_").split("_"))


def main(chip_file, out):
    with open(chip_file, encoding="utf-8") as file:
        chip = json.load(file)
    values = {}
    for key in KEYS:
        group, name = key.split(".")
        values[key] = chip[group][name]
    source = f"Generated from hw/configs/{pathlib.Path(chip_file).name} by hw/rtl/generate_chip_package.py. Do not edit."
    package = [f"// {source}", "`timescale 1ns/1ps", "/* verilator lint_off UNUSED */", "package tessera_chip_pkg;"]
    package += [f"  localparam int unsigned {sv_name(key)} = {value};  // {key}" for key, value in values.items()]
    package += ["endpackage", "/* verilator lint_on UNUSED */", ""]
    header = [f"// {source}", "#pragma once", "", "#include <cstdint>", "", "namespace tessera::cosim {", "",
              "struct RtlParameter {", "  const char* key;  // of the chip file", "  std::int64_t value;", "};",
              f'inline constexpr const char* kRtlChip = "{chip["name"]}";',
              "inline constexpr RtlParameter kRtlParameters[] = {"]
    header += [f'    {{"{key}", {value}}},' for key, value in values.items()]
    header += ["};", "", "}  // namespace tessera::cosim", ""]
    folder = pathlib.Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tessera_chip_pkg.sv").write_text("\n".join(package), encoding="utf-8")
    (folder / "rtl_parameters.hpp").write_text("\n".join(header), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
