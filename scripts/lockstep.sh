#!/usr/bin/env bash
# Random programs on the models and on the verilated RTL, cycle for cycle. usage: scripts/lockstep.sh [N [SEED]]
set -euo pipefail
cd "$(dirname "$0")/.."
[ -x build/tessera ] || scripts/build.sh
time build/tessera lockstep --random "${1:-300}" --seed "${2:-1}"
