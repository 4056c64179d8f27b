#!/usr/bin/env bash
# The gate's fast part: format, JSON validity, Verilator lint, tests that no CMake file lists, and a clean tree.
set -euo pipefail
cd "$(dirname "$0")/.."
before=$(git status --porcelain 2>/dev/null || true)
failed=0
fail() { echo "check: $*" >&2; failed=1; }

format=$(command -v clang-format-14 || command -v clang-format || true)
if [ -n "$format" ]; then
  git ls-files '*.cpp' '*.hpp' | xargs -r "$format" --dry-run -Werror 2>/tmp/tessera-format.$$ ||
    fail "clang-format: run scripts/format.sh; first: $(head -1 /tmp/tessera-format.$$)"
  rm -f /tmp/tessera-format.$$
else
  echo "check: SKIPPED format: no clang-format" >&2
fi

while read -r file; do
  /usr/bin/python3 -c 'import json,sys; json.load(open(sys.argv[1]))' "$file" || fail "$file is not JSON"
done < <(git ls-files '*.json')

while read -r file; do
  [ -z "$(git grep -l "$(basename "$file")" -- '*CMakeLists.txt')" ] && fail "$file is listed in no CMake file"
done < <(git ls-files 'tests/*_test.cpp')

if [ -d hw/rtl ] && command -v verilator >/dev/null; then
  scripts/lint_rtl.sh || fail "verilator lint"
fi

after=$(git status --porcelain 2>/dev/null || true)
[ "$before" = "$after" ] || fail "the checks changed the tree: $after"
[ "$failed" = 0 ] && echo "check: ok"
exit "$failed"
