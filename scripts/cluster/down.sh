#!/usr/bin/env bash
# Ends the cluster that up.sh started in a directory, by the pids that it wrote, and takes its mounts, control groups, chains
# of iptables and bridge away.
#
#   scripts/cluster/down.sh DIR
[ $# -eq 1 ] || { echo "usage: down.sh DIR" >&2; exit 2; }
[ -d "$1" ] || exit 0
KR=$(readlink -f "$1")
stop() { # names: TERM, then up to 10 s, then KILL: the next up.sh needs the ports free
  local n p ps=
  for n; do p=$(cat "$KR/pid/$n" 2>/dev/null) && kill "$p" 2>/dev/null && ps="$ps $p"; done
  for p in $ps; do
    for _ in $(seq 100); do kill -0 "$p" 2>/dev/null || continue 2; sleep 0.1; done
    kill -KILL "$p" 2>/dev/null
  done
}
stop kube-proxy kubelet kube-scheduler kube-controller-manager
stop kube-apiserver; stop etcd
if [ -S "$KR/containerd/sock" ]; then
  c() { ctr -a "$KR/containerd/sock" -n k8s.io "$@"; }
  for t in $(c tasks ls -q 2>/dev/null); do c tasks kill -s KILL "$t"; done 2>/dev/null
  sleep 0.5; for t in $(c containers ls -q); do c tasks rm -f "$t"; c containers rm "$t"; done >/dev/null 2>&1
fi
stop containerd
awk -v k="$KR/" 'index($2,k)==1{print $2}' /proc/mounts | sort -r | while read -r m; do umount -l "$m"; done
for d in $(find /sys/fs/cgroup/*/kubepods -depth -type d 2>/dev/null); do rmdir "$d" 2>/dev/null; done
iptables -D FORWARD -i wardroom0 -j ACCEPT 2>/dev/null; iptables -D FORWARD -o wardroom0 -j ACCEPT 2>/dev/null
for t in iptables ip6tables; do $t-save | grep -vE '(KUBE|CNI)-' | $t-restore; done
ip link del wardroom0 2>/dev/null
for n in $(ip netns list 2>/dev/null | awk '/^cni-/{print $1}'); do ip netns del "$n"; done
rm -rf "$KR" /var/lib/cni/networks/lab
