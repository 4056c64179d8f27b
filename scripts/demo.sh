#!/usr/bin/env bash
# Installs packages, builds, and runs the main job: ResNet-50 on the a1000 chip, from an ONNX file to explained cycles.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/build.sh
out=${TESSERA_DEMO_DIR:-build/demo}
mkdir -p "$out"
build/tessera zoo build resnet50 -o "$out/resnet50.onnx" --seed 1
build/tessera simulate "$out/resnet50.onnx" --chip a1000 --compare graph,reference \
  --report "$out/report.json" --trace "$out/trace.json"
echo "report: $out/report.json    timeline (open in Perfetto): $out/trace.json"
