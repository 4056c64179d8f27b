#!/usr/bin/env bash
# Random programs and whole networks on the models and on the RTL; writes docs/lockstep.md: what was compared, what
# differs, how fast both are. Ends with 1 when something differs that the page does not explain.
# usage: scripts/lockstep_table.sh [--programs N] [--models DIR] [--tessera FILE] [--work DIR] [--only ROW,...] [--speeds]
#        [--page]
# The output of each row is kept in --work (default build/lockstep_table); rows not named by --only, all but the networks
# with --speeds, and all rows with --page are written from there.
set -euo pipefail
cd "$(dirname "$0")/.."
case " $* " in *" --tessera "*|*" --page "*) ;; *) [ -x build/tessera ] || scripts/build.sh ;; esac
exec /usr/bin/python3 scripts/lockstep_table.py "$@"
