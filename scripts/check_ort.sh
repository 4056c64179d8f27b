#!/usr/bin/env bash
# Compares our int8 results with onnxruntime-node 1.30.0, fetched into a temporary folder: node by node in networks that
# we quantise, and whole models that come quantised. Prints a table; fails beyond 1 apart or below 99.9 % equal.
set -euo pipefail
cd "$(dirname "$0")/.."
models=${1:-../shared/models}
build=${TESSERA_BUILD:-build}
skip() { echo "check_ort: SKIPPED, nothing was compared: $*" >&2; exit 0; }
command -v npm >/dev/null && command -v node >/dev/null || skip "npm or node is missing"
[ -d "$models" ] || skip "$models is not there"
cmake --build "$build" --target qdq_nodes quantised_cases >/dev/null

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export ORT_MODULES=${ORT_MODULES:-$work/npm/node_modules}
if [ ! -d "$ORT_MODULES/onnxruntime-node" ]; then
  # --ignore-scripts: the package's own script would fetch GPU libraries.
  npm install --prefix "$work/npm" --ignore-scripts --no-audit --no-fund onnxruntime-node@1.30.0 >"$work/npm.log" 2>&1 ||
    skip "npm cannot fetch onnxruntime-node@1.30.0: $(tail -1 "$work/npm.log")"
fi

directories=()
pieces() {  # NAME FILE SEED NODES [SHAPE]
  "$build/tests/validation/ort/qdq_nodes" "$models/$2" "$work/$1" "${@:3}" >/dev/null
  directories+=("$work/$1")
}
pieces resnet50_first_stage light/light_resnet50.onnx 1 15
pieces mnist models/zoo_mnist_cntk/model.onnx 0 0
pieces residual_block models/qonnx_residual_block_clean/model.onnx 0 0
pieces squeezenet light/light_squeezenet.onnx 1 0
pieces twin_nodes models/emmtrix_micro_kws_m_static_qdq/model.onnx 0 0 1x1960
pieces mobilenet_v2_w025 models/torch_mnv2_w025_96_op11/model.onnx 0 0
"$build/tests/validation/ort/quantised_cases" "$work/quantised" "$models"
node tests/validation/ort/compare.js "${directories[@]}" --each "$work/quantised/operators" \
  "$work/quantised/conformance" --whole "$work/quantised/twin"
