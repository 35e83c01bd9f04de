#!/usr/bin/env bash
# Proves the packages on a booted Debian: builds two versions, installs the first with dpkg under a real systemd, starts
# it, has a run answered, reloads, upgrades it while agents work, backs up, restores, removes and purges; and installs the
# rpm into a root. Needs root, and systemd-nspawn, mmdebstrap, rpm and lintian (.ci/run installs them); the machine that it
# boots has no network, and is kept as an archive in .cache for the next time.
#
# KEEP=1 leaves the machine running for a look, until Ctrl-C. PACKAGES=DIR keeps the packages, and takes those that are
# there already: it saves building them while the rig is changed. AGAIN names the packages that are built once more, to
# compare their bytes, all where it is empty.
#
# It exits with 77 where this machine cannot boot another, which says nothing of the packages, and with 1 when a proof fails.
#
# This script only watches over scripts/appliancerig/prove.sh, which runs in namespaces of its own: whatever happens to
# either, nothing that they started goes on, and what they wrote goes now or with the next run.
set -euo pipefail
cd "$(dirname "$0")/../.."

cannot() {
	echo "appliancerig: this machine cannot boot another, nothing is proved: $*" >&2
	exit 77
}
[ "$(id -u)" -eq 0 ] || cannot "it takes root"
for program in systemd-nspawn mmdebstrap rpm lintian gpg nsenter unshare setpriv flock pgrep; do
	command -v "$program" >/dev/null ||
		cannot "$program is missing: apt-get install systemd-container mmdebstrap rpm lintian gpg gpg-agent util-linux procps"
done
reason=$(unshare --mount --pid --fork --mount-proc true 2>&1) || cannot "it denies namespaces: $reason"
grep -q ' - cgroup2\? ' /proc/self/mountinfo || cannot "no cgroups are mounted"

temp=${TMPDIR:-/tmp}
# Runs that were killed could not clear up; a lock that somebody holds is of one that goes on.
find "$temp" -maxdepth 1 -name 'appliancerig.*' -type d -mmin +1 2>/dev/null | while read -r left; do
	if flock -n "$left/lock" true; then rm -rf "$left"; fi
done
work=$(mktemp -d "$temp/appliancerig.XXXXXX")
exec 9>"$work/lock"
flock 9

prover=
finish() {
	local code=$?
	trap - EXIT INT TERM HUP
	if [ -n "$prover" ]; then
		kill -KILL "$prover" 2>/dev/null || true
		wait "$prover" 2>/dev/null || true
	fi
	for _ in $(seq 50); do rm -rf "$work" 2>/dev/null && break; sleep 0.1; done # the last of it may still be ending
	exit "$code"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# The first process of a namespace takes all others with it; that one goes with unshare, and unshare with this script.
setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child=KILL --mount-proc bash scripts/appliancerig/prove.sh "$work" &
prover=$!
if [ "${KEEP:-}" = 1 ]; then
	while [ -d "/proc/$prover" ] && [ ! -e "$work/kept" ]; do sleep 0.5; done
	if [ -e "$work/kept" ]; then
		nspawn=$(pgrep -P "$(pgrep -P "$prover")" -x systemd-nspawn)
		echo "the machine runs: nsenter -t $(pgrep -P "$nspawn" -x systemd) -a bash; its files are in $work; Ctrl-C ends it"
	fi
fi
wait "$prover"
