#!/usr/bin/env bash
# 500 random graphs (branches, residuals, odd sizes) at small SRAM sizes on tiny: naive, layer and fused compute the graph.
set -euo pipefail
cd "$(dirname "$0")/.."
TESSERA_FUSED_SEEDS="${1:-500}" build/tests/compiler/driver/fused_test --gtest_filter='Fused.RandomGraphs*'
