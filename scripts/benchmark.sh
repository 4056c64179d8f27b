#!/usr/bin/env bash
# Speed and memory of compile, quantise and run on ResNet-50 and a1000, and of the DRAM alone, one core each; options go to Google Benchmark.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/build.sh --target tessera
cmake --build build --target tessera_benchmark dram_benchmark
build/tests/benchmark/tessera_benchmark "$@"
build/tests/benchmark/dram_benchmark "$@"
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
build/tessera zoo build resnet50 -o "$out/resnet50.onnx" --seed 1
build/tessera compile "$out/resnet50.onnx" --chip a1000 --timing-only -o "$out/program" >/dev/null
for mode in "run $out/program --timing-only" "simulate $out/resnet50.onnx --chip a1000"; do
  if [ -x /usr/bin/time ]; then
    /usr/bin/time -f "tessera ${mode%% *}: %U s user, %M KiB peak" build/tessera $mode >/dev/null
  else
    echo "tessera ${mode%% *}: SKIPPED memory: /usr/bin/time is absent (package time)"
  fi
done
