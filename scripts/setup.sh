#!/usr/bin/env bash
# Installs what a bare Debian machine lacks, by package name; says nothing when everything is there.
set -euo pipefail
packages=(
  g++ cmake ninja-build pkg-config ccache mold git ca-certificates python3
  libsystemc-dev verilator zlib1g-dev
  libonnx-dev libprotobuf-dev protobuf-compiler
  nlohmann-json3-dev libcli11-dev
  libgtest-dev libbenchmark-dev time
  clang-format-14
)
optional=(gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf)  # compile-checks the firmware header
missing=()
for p in "${packages[@]}" "${optional[@]}"; do
  dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing+=("$p")
done
if [ ${#missing[@]} -gt 0 ]; then
  echo "setup: installing ${missing[*]}" >&2
  sudo=""
  [ "$(id -u)" = 0 ] || sudo=sudo
  $sudo apt-get update -qq
  DEBIAN_FRONTEND=noninteractive $sudo apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends \
    "${missing[@]}" >/dev/null
fi
