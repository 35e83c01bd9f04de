#!/usr/bin/env bash
# Proves the packages on a booted Debian: builds two versions, installs the first with dpkg under a real systemd, starts
# it, has a run answered, reloads, upgrades it while agents work, backs up, restores, removes and purges; and installs the
# rpm into a root. Needs root, and systemd-nspawn, mmdebstrap, rpm and lintian (.ci/run installs them); the machine that it
# boots has no network. KEEP=1 leaves it running, for a look: nsenter -t PID -a bash.
set -euo pipefail
cd "$(dirname "$0")/../.."

if [ "$(id -u)" -ne 0 ]; then
	echo "appliancerig: it boots a machine, which takes root" >&2
	exit 2
fi
for program in systemd-nspawn mmdebstrap rpm lintian gpg nsenter; do
	command -v "$program" >/dev/null || {
		echo "appliancerig: $program is missing: apt-get install systemd-container mmdebstrap rpm lintian gpg util-linux" >&2
		exit 2
	}
done

arch=$(go env GOARCH)
version=$(cat VERSION)
cache=$PWD/.cache/appliancerig
work=$(mktemp -d "${TMPDIR:-/tmp}/appliancerig.XXXXXX")
machine=

finish() {
	local code=$?
	if [ "$code" -ne 0 ] && [ -n "$machine" ]; then
		echo "--- the journal of the service:" >&2
		inside journalctl -u wardroom --no-pager -n 60 -o cat >&2 || true
	fi
	if [ "${KEEP:-}" = 1 ] && [ -n "$machine" ]; then
		echo "the machine runs on: nsenter -t $machine -a bash; its files are in $work"
		exit "$code"
	fi
	if [ -n "$machine" ]; then
		kill -RTMIN+4 "$machine" 2>/dev/null || true # poweroff
		for _ in $(seq 100); do [ -e "/proc/$machine" ] || break; sleep 0.1; done
		[ -e "/proc/$machine" ] && kill -KILL "$machine" 2>/dev/null
	fi
	rm -rf "$work"
	exit "$code"
}
trap finish EXIT

say() { printf '== %s\n' "$*"; }

# inside runs a command on the booted machine.
inside() { nsenter -t "$machine" -a env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 "$@"; }

# PACKAGES names a directory in which a former run left its packages: it saves building them while the rig is changed.
packages=${PACKAGES:-$work}
if [ ! -e "$packages/two/SHA256SUMS.asc" ]; then
	say "packages, twice the same bytes"
	export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
	pack() { make --no-print-directory package ARCHES="$arch" "$@" >/dev/null; }
	pack DIST="$packages/one" PACKAGE_VERSION="$version"
	pack DIST="$work/again" PACKAGE_VERSION="$version"
	cmp "$packages/one/SHA256SUMS" "$work/again/SHA256SUMS"
	(cd "$work/again" && sha256sum --quiet -c SHA256SUMS)
	rm -rf "$work/again"

	say "a second version, signed by a key of its own"
	export GNUPGHOME=$work/gnupg
	mkdir -m 700 "$GNUPGHOME"
	gpg --batch --quiet --pinentry-mode loopback --passphrase '' --quick-generate-key 'Rig <rig@example.com>' rsa3072 sign never
	gpg --batch --quiet --armor --export-secret-keys >"$work/key.asc"
	gpg --batch --quiet --armor --export >"$packages/key.pub"
	pack DIST="$packages/two" PACKAGE_VERSION="$version+rig2" SIGN_KEY="$work/key.asc"
	gpg --batch --quiet --verify "$packages/two/SHA256SUMS.asc" "$packages/two/SHA256SUMS" 2>/dev/null
	gpgconf --kill all
	unset GNUPGHOME
fi

say "lintian"
lintian --fail-on error,warning "$packages"/one/*.deb

say "the rpm in a root"
rpm --root "$work/rpmdb" --initdb
rpm --root "$work/rpmdb" --import "$packages/key.pub"
rpm --root "$work/rpmdb" -K "$packages"/two/wardroom-[0-9]*.rpm | tee "$work/rpmK"
grep -q 'signatures OK' "$work/rpmK"

say "a Debian to boot"
mkdir -p "$cache"
if [ ! -s "$cache/debian.tar" ]; then
	mmdebstrap --quiet --format=tar --variant=minbase --include=systemd,systemd-sysv,dbus,git,ca-certificates,procps bookworm "$cache/debian.tar.new"
	mv "$cache/debian.tar.new" "$cache/debian.tar"
fi
root=$work/root
mkdir "$root"
tar -C "$root" -xf "$cache/debian.tar"
rpm --root "$root" --initdb
# Debian's rpm installs packages only when it is told to.
rpm_root() { rpm --force-debian --root "$root" --nodeps "$@" >>"$work/rpm.log" 2>&1 || { cat "$work/rpm.log" >&2; return 1; }; }
mkdir -p "$root/packages"
cp "$packages"/one/*.rpm "$root/packages/"
rpm_root -i "$root"/packages/wardroom-[0-9]*.rpm "$root"/packages/wardroom-runtime-local-*.rpm
chroot "$root" getent passwd wardroom >/dev/null
[ "$(chroot "$root" stat -c '%U:%G %a' /etc/wardroom/wardroom.yaml)" = "root:wardroom 640" ]
chroot "$root" wardroom config validate /etc/wardroom/wardroom.yaml
chroot "$root" wardroom version --client
echo "# kept" >>"$root/etc/wardroom/wardroom.yaml"
cp "$packages"/two/*.rpm "$root/packages/"
rpm_root -U "$root"/packages/wardroom-[0-9]*rig2*.rpm "$root"/packages/wardroom-runtime-local-*rig2*.rpm
grep -q '^# kept' "$root/etc/wardroom/wardroom.yaml"
[ "$(chroot "$root" stat -c '%U:%G %a' /etc/wardroom)" = "root:wardroom 750" ]
rpm_root -e wardroom-runtime-local wardroom
[ ! -e "$root/usr/bin/wardroom" ]
if grep 'scriptlet failed' "$work/rpm.log"; then exit 1; fi
rm -rf "$root"

say "boot"
mkdir "$root"
tar -C "$root" -xf "$cache/debian.tar"
mkdir "$root/packages"
cp -r "$packages/one" "$packages/two" "$root/packages/"
CGO_ENABLED=0 go build -trimpath -o "$root/packages/agent" ./scripts/appliancerig/agent
cp scripts/appliancerig/inside.sh "$root/packages/"
setsid systemd-nspawn -D "$root" --machine="rig$$" --register=no --keep-unit --private-network --resolv-conf=off -b \
	>"$work/console" 2>&1 </dev/null &
nspawn=$!
for _ in $(seq 300); do
	machine=$(pgrep -P "$nspawn" -x systemd || true)
	if [ -n "$machine" ]; then
		state=$(inside systemctl is-system-running 2>/dev/null || true)
		case $state in running | degraded) break ;; esac
	fi
	sleep 0.1
done
[ -n "$machine" ] || { cat "$work/console" >&2; exit 1; }
inside bash /packages/inside.sh "$version" "$version+rig2"
say "all of it holds"
