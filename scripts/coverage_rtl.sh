#!/usr/bin/env bash
# Coverage of the RTL by random lock-step programs: lines and branches on tiny, toggled bits on micro. Ends with 1 if a
# line was not run that docs/rtl_coverage.md does not explain. usage: scripts/coverage_rtl.sh [PROGRAMS]
set -euo pipefail
cd "$(dirname "$0")/.."
[ -x build/tessera ] || scripts/build.sh
run() { /usr/bin/python3 scripts/coverage_rtl.py --tessera "$PWD/build/tessera" --page "$@"; }
run --kind toggle --chip micro --programs "${1:-200}"
run --kind line --chip tiny --programs "${1:-200}"
