#!/usr/bin/env bash
# Reports whether this machine can run the cluster of up.sh, by doing what that does and undoing it. Prints why where it cannot,
# and exits with 1 then.
set -uo pipefail
cannot() { echo "$*"; exit 1; }
[ "$(id -u)" -eq 0 ] || cannot "it takes root: kubelet makes mounts and control groups, and pods have networks of their own"
ip link show wardroom0 >/dev/null 2>&1 && cannot "the bridge wardroom0 is there: another cluster runs here, or scripts/cluster/down.sh has not taken one away"
groups=0
for at in /sys/fs/cgroup /sys/fs/cgroup/*; do # all in one, or each controller apart
  [ -e "$at/cgroup.procs" ] || continue
  groups=1
  mkdir "$at/wardroom-probe" 2>/dev/null || cannot "no control group can be made in $at"
  rmdir "$at/wardroom-probe"
done
[ "$groups" -eq 1 ] || cannot "no control groups are mounted on /sys/fs/cgroup"
ip link add wardroom-probe type bridge 2>/dev/null || cannot "no bridge can be made, which the network of pods is"
ip link del wardroom-probe
iptables -t nat -L -n >/dev/null 2>&1 || cannot "iptables cannot translate addresses (table nat), which services of the cluster need"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/lower" "$work/upper" "$work/work" "$work/root"
mount -t overlay overlay -o "lowerdir=$work/lower,upperdir=$work/upper,workdir=$work/work" "$work/root" 2>/dev/null ||
  cannot "nothing can be mounted as overlay below ${TMPDIR:-/tmp}, as containers are"
umount "$work/root"
unshare --net --pid --fork --mount true 2>/dev/null || cannot "processes cannot get a network and process ids of their own"
