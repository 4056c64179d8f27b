#!/usr/bin/env bash
# Draws 50 seeded mutations over all RTL files and runs 200 random lock-step programs on each: which program catches it?
# Ends with 1 if under 95 % are caught. usage: scripts/mutate_rtl.sh [OPTION]... (mutate_rtl.py)
set -euo pipefail
cd "$(dirname "$0")/.."
[ -x build/tessera ] || scripts/build.sh
exec /usr/bin/python3 scripts/mutate_rtl.py --tessera "$PWD/build/tessera" --page "$@"
