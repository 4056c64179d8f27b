#!/usr/bin/env bash
# 500 random graphs (branches, residuals, odd sizes) at small SRAM sizes on tiny: naive, layer and fused compute the graph,
# so do groups in strips of columns (also on micro and a1000) and on two cores (also on j5).
set -euo pipefail
cd "$(dirname "$0")/.."
TESSERA_FUSED_SEEDS="${1:-500}" build/tests/compiler/driver/fused_test --gtest_filter='Fused.RandomGraphs*:Fused.ForcedStrips*:Fused.RowsOfTwoCores*'
