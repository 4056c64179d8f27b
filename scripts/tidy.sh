#!/usr/bin/env bash
# clang-tidy over the C++ files that differ from a base (default: the commit before last); needs a configured build/.
set -euo pipefail
cd "$(dirname "$0")/.."
base=${1:-HEAD~1}
tidy=$(command -v clang-tidy-14 || command -v clang-tidy || true)
[ -n "$tidy" ] || { echo "tidy: SKIPPED: no clang-tidy (package clang-tidy-14)" >&2; exit 0; }
[ -f build/compile_commands.json ] || scripts/build.sh
git diff --name-only --diff-filter=d "$base" -- '*.cpp' | xargs -r "$tidy" -p build --quiet
