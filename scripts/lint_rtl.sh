#!/usr/bin/env bash
# verilator --lint-only -Wall of the RTL, with packages generated for every chip shape it is built for: the chips that
# CMake verilates, and the shapes of the lock-step runs (a chip, then KEY=VALUE overrides).
# usage: scripts/lint_rtl.sh [CHIP [KEY=VALUE]...]
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
/usr/bin/python3 isa/generate.py --out "$work"

lint() {
  local chip=$1
  /usr/bin/python3 hw/rtl/generate_chip_package.py "hw/configs/$chip.json" "$work" "${@:2}"
  if ! verilator --lint-only -Wall --assert --top-module tessera_core hw/rtl/lint_waivers.vlt \
    "$work/tessera_isa_pkg.sv" "$work/tessera_chip_pkg.sv" -f hw/rtl/files.f; then
    echo "lint_rtl: chip $*" >&2
    return 1
  fi
}

# Each unit alone, as hw/cosim verilates it for --rtl-unit: 2 conv0, 6 gemm, 7 edp, 8 reorder. The packages hold
# constants of the whole core.
lint_units() {
  local queue
  for queue in 2 6 7 8; do
    verilator --lint-only -Wall -Wno-UNUSEDPARAM --assert --top-module tessera_unit_bench "-GQueue=$queue" \
      hw/rtl/lint_waivers.vlt "$work/tessera_isa_pkg.sv" "$work/tessera_chip_pkg.sv" -f hw/rtl/files.f \
      hw/cosim/tessera_unit_bench.sv
  done
}

if [ $# -gt 0 ]; then
  lint "$@"
  exit
fi
lint tiny
lint_units
lint micro
lint tiny conv.engines=2
lint tiny conv.cin_lanes=12 conv.cout_lanes=8 conv.pixel_lanes=6 'conv.pixel_shapes=["6x1","2x3"]' conv.window_bytes=1152 \
  conv.depthwise_taps=3 conv.accumulators=7
lint tiny sram.banks=1 sram.size_bytes=65536
lint tiny edp.lanes=3 edp.pipeline_cycles=2 sram.read_latency=1
lint tiny edp.lanes=5 edp.pipeline_cycles=9
lint tiny axi.data_bytes=16 axi.max_burst_beats=2 axi.read_outstanding=1 load.in_flight=1 store.in_flight=1
# docs/lockstep.md's large engine (scripts/lockstep_table.py).
lint tiny layout.channel_block=16 conv.cin_lanes=16 conv.cout_lanes=16 conv.pixel_lanes=4 \
  'conv.pixel_shapes=["4x1","2x2"]' conv.window_bytes=2304 conv.accumulators=16 gemm.rows=4 gemm.cols=4 \
  sram.line_bytes=32 sram.size_bytes=65536 axi.data_bytes=16 load.landing_bytes=1024 store.buffer_bytes=1024
