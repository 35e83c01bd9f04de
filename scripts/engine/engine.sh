#!/usr/bin/env bash
# A container engine of one's own for tests and demos, beside none that the machine has: without the default bridge, on a
# socket in a directory. Needs root, dockerd and containerd.
#
#   scripts/engine/engine.sh up DIR [ARGUMENT OF dockerd ...]   starts it; DIR/docker.sock answers when this returns
#   scripts/engine/engine.sh down DIR                           ends it and its containers
#   scripts/engine/engine.sh kill DIR                           ends it as a crash does; its containers go on
#   scripts/engine/engine.sh remove DIR                         ends it for good: containers, bridges and DIR are removed
#   scripts/engine/engine.sh image DIR REFERENCE                makes an image with busybox, and git if there is one
set -euo pipefail

fail() {
	echo "engine.sh: $*" >&2
	exit 1
}

[ $# -ge 2 ] || fail "usage: engine.sh up|down|kill|remove|image DIR ..."
action=$1
mkdir -p "$2"
dir=$(readlink -f "$2")
shift 2

ask() { curl -sf --max-time 5 --unix-socket "$dir/docker.sock" "http://engine$1"; }

# down ends the engine and waits for that.
down() {
	[ -s "$dir/pid" ] || return 0
	local pid
	pid=$(cat "$dir/pid")
	kill "$pid" 2>/dev/null || return 0
	for _ in $(seq 300); do
		kill -0 "$pid" 2>/dev/null || return 0
		sleep 0.1
	done
	kill -9 "$pid" 2>/dev/null || true
}

# discard PATH removes all that the engine lists there. What it made for itself stays.
discard() {
	{ ask "$1" | grep -oE '"(Id|ID)":"[0-9a-f]{64}"' || true; } | cut -d'"' -f4 | while read -r id; do
		curl -s --max-time 60 --unix-socket "$dir/docker.sock" -o /dev/null -X DELETE "http://engine${1%%/json*}/$id?force=1" || true
	done
}

case $action in
up)
	[ "$(id -u)" -eq 0 ] || fail "root is needed"
	for tool in dockerd containerd curl; do
		command -v "$tool" >/dev/null || fail "$tool is missing: install docker.io and curl"
	done
	# dockerd without its default bridge removes that of any other.
	[ ! -e /sys/class/net/docker0 ] || fail "this machine runs an engine already; name its socket in WARDROOM_DOCKER_SOCKET instead"
	ask /_ping >/dev/null 2>&1 && exit 0
	# dockerd gives its containerd 15 seconds, which a machine whose disk is busy may not keep, and ends: then it is started again.
	for _ in 1 2 3 4; do
		rm -f "$dir/pid"
		touch "$dir/log"
		before=$(wc -c <"$dir/log")
		setsid dockerd --data-root "$dir/data" --exec-root "$dir/exec" -H "unix://$dir/docker.sock" --pidfile "$dir/pid" \
			--bridge none --default-address-pool base=172.31.0.0/16,size=24 "$@" >>"$dir/log" 2>&1 </dev/null &
		started=$!
		for _ in $(seq 300); do
			ask /_ping >/dev/null && exit 0
			kill -0 "$started" 2>/dev/null || break
			sleep 0.1
		done
		tail -c +$((before + 1)) "$dir/log" | grep -q 'timeout waiting for containerd to start' || break
	done
	tail -n 20 "$dir/log" >&2
	fail "the engine does not start"
	;;
down) down ;;
remove)
	discard '/containers/json?all=1'
	discard /networks
	down
	# An engine that was killed does not know what it had begun: what held its containers is left.
	for process in /proc/[0-9]*; do
		if tr '\0' ' ' <"$process/cmdline" 2>/dev/null | grep -q -- "^[^ ]*containerd-shim[^ ]* .*-address $dir/"; then kill -9 "${process#/proc/}" 2>/dev/null || true; fi
	done
	# With --live-restore it leaves what is mounted, its own directory among that.
	awk -v dir="$dir/" 'index($2, dir) == 1 { print $2 }' /proc/mounts | sort -r | while read -r path; do umount "$path" || true; done
	rm -rf "$dir"
	;;
kill)
	[ -s "$dir/pid" ] || exit 0
	pid=$(cat "$dir/pid")
	kill -9 "$pid" 2>/dev/null || exit 0
	while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
	;;
image)
	[ $# -eq 1 ] || fail "which reference?"
	busybox=$(command -v busybox) || fail "busybox is missing: install busybox-static"
	root=$(mktemp -d)
	trap 'rm -rf "$root"' EXIT
	mkdir -p "$root/bin" "$root/tmp" "$root/etc"
	chmod 1777 "$root/tmp"
	cp "$busybox" "$root/bin/busybox"
	for tool in $("$busybox" --list); do
		[ "$tool" = busybox ] || ln -s busybox "$root/bin/$tool"
	done
	# git too, where the machine has it, with what it links.
	if git=$(command -v git); then
		cp -L "$git" "$root/bin/git"
		ldd "$git" | grep -o '/[^ ]*' | while read -r library; do
			mkdir -p "$root$(dirname "$library")"
			cp -L "$library" "$root$library"
		done
	fi
	tar -C "$root" -c . | curl -sfS --max-time 60 --unix-socket "$dir/docker.sock" -X POST -H 'Content-Type: application/x-tar' --data-binary @- \
		"http://engine/images/create?fromSrc=-&repo=${1%%:*}&tag=${1##*:}&changes=ENV%20PATH=/bin" >/dev/null
	;;
*) fail "unknown: $action" ;;
esac
