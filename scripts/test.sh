#!/usr/bin/env bash
# Builds, runs the checks and all tests, and prints ctest's summary.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/build.sh
scripts/check.sh
ctest --test-dir build --output-on-failure -j "$(nproc)" "$@"
