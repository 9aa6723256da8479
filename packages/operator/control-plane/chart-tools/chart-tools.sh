#!/usr/bin/env bash
# The programs that check charts (helm, helm-unittest, kubeconform, kube-score), and the API descriptions of several
# Kubernetes versions in openapi-VERSION. Gets the missing ones once from the Go module proxy, and prints their folder.
#
#   CONTROL_PLANE_CACHE   the parent of the folder   default: ~/.cache/control-plane
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=$(realpath -m "${CONTROL_PLANE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/control-plane}")
bin=$cache/charts-$(cat "$here"/{,kube-score/}go.{mod,sum} "$here"/chart-tools.sh | sha256sum | cut -c1-12)

mkdir -p "$bin" && exec 9>"$bin/lock" && flock 9
set -a && . "$here/../go.env" && set +a

# build NAME PACKAGE FOLDER, where FOLDER contains the go.mod that pins the program
build() {
  [[ -x $bin/$1 ]] && return
  echo "building $1 in $bin" >&2
  (cd "$3" && go build -o "$bin/$1.new" "$2")
  mv "$bin/$1.new" "$bin/$1"
}
build helm helm.sh/helm/v4/cmd/helm "$here"
build helm-unittest github.com/helm-unittest/helm-unittest/cmd/helm-unittest "$here"
build kubeconform github.com/yannh/kubeconform/cmd/kubeconform "$here"
# In a separate module, because kube-score needs older Kubernetes libraries than Helm.
build kube-score github.com/zegl/kube-score/cmd/kube-score "$here/kube-score"

# The three releases before the one of the control plane. The fourth, 1.37, is what the running API server says.
for version in 1.34.4 1.35.4 1.36.3; do
  folder=$bin/openapi-${version%.*}
  [[ -d $folder ]] && continue
  echo "getting the API description of Kubernetes $version" >&2
  module=$(cd / && go mod download -json "k8s.io/kubernetes@v$version" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
  rm -rf "$folder.new" && cp -r "$module/api/openapi-spec/v3" "$folder.new"
  chmod -R u+w "$folder.new"
  mv "$folder.new" "$folder"
done
echo "$bin"
