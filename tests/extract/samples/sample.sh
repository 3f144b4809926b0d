#!/usr/bin/env bash
# Deploys the shop.
set -euo pipefail
source ./lib.sh
. "$HOME/env.sh"

readonly LIMIT=10
export TARGET="prod"

# Prints and leaves.
die() {
  local code=1
  echo "$1" >&2
  exit "$code"
}

function deploy {
  build-image "$TARGET" | tee log
  if ! check_all; then die "no $(date +%s)"; fi
}

deploy "$@"
