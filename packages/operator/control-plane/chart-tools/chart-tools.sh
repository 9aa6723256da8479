#!/usr/bin/env bash
# The programs that check charts: helm, helm-unittest, and kubeconform. Builds the missing ones once from the Go module
# proxy, and prints their folder.
#
#   CONTROL_PLANE_CACHE   the parent of the folder   default: ~/.cache/control-plane
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=$(realpath -m "${CONTROL_PLANE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/control-plane}")
bin=$cache/charts-$(cat "$here"/go.{mod,sum} | sha256sum | cut -c1-12)

mkdir -p "$bin" && exec 9>"$bin/lock" && flock 9
cd "$here" && export CGO_ENABLED=0 GOWORK=off
declare -A packages=(
  [helm]=helm.sh/helm/v4/cmd/helm
  [helm-unittest]=github.com/helm-unittest/helm-unittest/cmd/helm-unittest
  [kubeconform]=github.com/yannh/kubeconform/cmd/kubeconform
)
for name in "${!packages[@]}"; do
  [[ -x $bin/$name ]] && continue
  echo "building $name in $bin" >&2
  go build -trimpath -ldflags '-s -w' -o "$bin/$name.new" "${packages[$name]}"
  mv "$bin/$name.new" "$bin/$name"
done
echo "$bin"
