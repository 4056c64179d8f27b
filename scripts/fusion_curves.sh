#!/usr/bin/env bash
# Sweeps SRAM, schedules, channels and batch over the networks of docs/fusion.md and rewrites that page's tables and plot.
# usage: scripts/fusion_curves.sh [--models DIR] [--tessera FILE] [--work DIR] [--only PART,...] [--jobs N] [--page]
# Runs that --work (default build/fusion_curves) holds already are not repeated; --page writes from those alone.
set -euo pipefail
exec /usr/bin/python3 "$(dirname "$0")/fusion_curves.py" "$@"
