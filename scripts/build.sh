#!/usr/bin/env bash
# Installs what is missing and builds the release configuration into build/; the command is build/tessera.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh
cmake --preset release >/dev/null
cmake --build --preset release "$@"
