#!/usr/bin/env bash
# verilator --lint-only -Wall of the RTL, with packages generated for the chips it is built for.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
/usr/bin/python3 isa/generate.py --out "$work"
/usr/bin/python3 hw/rtl/generate_chip_package.py hw/configs/tiny.json "$work"
verilator --lint-only -Wall --assert --top-module tessera_core hw/rtl/lint_waivers.vlt \
  "$work/tessera_isa_pkg.sv" "$work/tessera_chip_pkg.sv" -f hw/rtl/files.f
