#!/usr/bin/env bash
# Puts an image for agents, with busybox, git and the holder, on the node of a cluster that up.sh started.
#
#   scripts/cluster/image.sh DIR REFERENCE HOLDER
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ $# -eq 3 ] || { echo "usage: image.sh DIR REFERENCE HOLDER" >&2; exit 2; }
archive=$(mktemp)
trap 'rm -f "$archive"' EXIT
"$here/mkimage.sh" "$archive" "$2" '["/bin/sh"]' "$3=/usr/local/bin/wardroom-holder"
ctr -a "$1/containerd/sock" -n k8s.io images import "$archive" >/dev/null
