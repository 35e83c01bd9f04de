#!/usr/bin/env bash
# What run.sh runs in namespaces of their own. Argument: a directory for everything.
set -euo pipefail
work=$1
export TMPDIR=$work # so that what is left of a killed program goes with the rest
arch=$(go env GOARCH)
version=$(cat VERSION)
packages=${PACKAGES:-$work}
machine=

finish() {
	local code=$?
	if [ "$code" -ne 0 ] && [ -n "$machine" ]; then
		echo "--- the journal of the service:" >&2
		inside journalctl -u wardroom --no-pager -n 60 -o cat >&2 || true
	fi
	if [ "${KEEP:-}" = 1 ] && [ -n "$machine" ]; then
		touch "$work/kept"
		sleep infinity
	fi
	exit "$code" # with this process all others go, the machine among them
}
trap finish EXIT
trap 'exit 143' INT TERM HUP

started=$SECONDS
say() { printf '== %3ds  %s\n' $((SECONDS - started)) "$*"; }

# beside NAME COMMAND... runs something beside what follows; joined NAME waits for it, and shows what it printed if it failed.
declare -A besides
beside() {
	local name=$1
	shift
	("$@") >"$work/$name.log" 2>&1 </dev/null &
	besides[$name]=$!
}
joined() {
	wait "${besides[$1]}" || {
		echo "FAILED: $1" >&2
		cat "$work/$1.log" >&2
		exit 1
	}
	say "$1: done"
}

# inside runs a command on the booted machine.
inside() { nsenter -t "$machine" -a env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 "$@"; }

cannot() {
	echo "appliancerig: this machine cannot boot another, nothing is proved: $*" >&2
	exit 77
}

# debian makes the archive of the machine, once. Its name has what is in it.
include=systemd,systemd-sysv,dbus,git,ca-certificates,procps,zstd,rpm
debian=$PWD/.cache/appliancerig/bookworm-$arch-$(sha256sum <<<"$include" | cut -c1-8).tar
debian() {
	[ ! -s "$debian" ] || return 0
	mkdir -p "${debian%/*}"
	local sources=()
	# The machine's own mirror, where it has the same Debian.
	if grep -qs bookworm /etc/apt/sources.list.d/debian.sources; then sources=(/etc/apt/sources.list.d/debian.sources); fi
	mmdebstrap --quiet --format=tar --variant=minbase --include="$include" bookworm "$work/debian.tar" "${sources[@]}"
	mv "$work/debian.tar" "$debian.$$"
	mv "$debian.$$" "$debian"
}

pack() { make --no-print-directory "$1" ARCHES="$arch" "${@:2}"; }

# first packs the version that is installed.
first() { pack bundle DIST="$packages/one" PACKAGE_VERSION="$version"; }

# again packs once more, and compares. Those of the other plugins are made in the same way, and take most of the time.
again=${AGAIN-wardroom,wardroom-runtime-local,wardroom-sdk}
again() {
	local target=bundle # of all packages; one of a few is another file
	[ -z "$again" ] || target=package
	pack "$target" DIST="$work/again" PACKAGE_VERSION="$version" ONLY="$again"
	(cd "$work/again" && sha256sum --quiet -c SHA256SUMS)
	(cd "$packages/one" && sha256sum --quiet -c "$work/again/SHA256SUMS") # they are the same as those
	rm -rf "$work/again"
}

# two packs a second version of what is upgraded, signed by a key of its own, with something in the place of images.
two() {
	export GNUPGHOME=$work/gnupg
	mkdir -m 700 "$GNUPGHOME"
	gpg --batch --quiet --pinentry-mode loopback --passphrase '' --quick-generate-key 'Rig <rig@example.com>' rsa3072 sign never
	gpg --batch --quiet --armor --export-secret-keys >"$work/key.asc"
	gpg --batch --quiet --armor --export >"$packages/key.pub"
	tar -C "$PWD" -cf "$work/images.tar" VERSION
	pack bundle DIST="$packages/two" PACKAGE_VERSION="$version+rig2" SIGN_KEY="$work/key.asc" IMAGES="$work/images.tar" ONLY=wardroom,wardroom-runtime-local
	gpg --batch --quiet --verify "$packages/two/SHA256SUMS.asc" "$packages/two/SHA256SUMS"
	gpgconf --kill all
}

# rpms installs, upgrades and removes the rpm in a root.
rpms() {
	local root=$work/rpmroot
	rpm --root "$work/rpmdb" --initdb
	rpm --root "$work/rpmdb" --import "$packages/key.pub"
	rpm --root "$work/rpmdb" -K "$packages"/two/wardroom-[0-9]*.rpm | grep 'signatures OK'
	mkdir "$root"
	tar -C "$root" -xf "$debian"
	rpm --root "$root" --initdb
	mkdir -p "$root/packages"
	cp "$packages"/one/wardroom-[0-9]*.rpm "$packages"/one/wardroom-runtime-local-*.rpm "$packages"/two/*.rpm "$root/packages/"
	# Debian's rpm installs packages only when it is told to.
	rpm_root() { rpm --force-debian --root "$root" --nodeps "$@" >>"$work/rpm.log" 2>&1 || { cat "$work/rpm.log" >&2; return 1; }; }
	rpm_root -i "$root/packages/wardroom-$version-1".*.rpm "$root/packages/wardroom-runtime-local-$version-1".*.rpm
	chroot "$root" getent passwd wardroom
	[ "$(chroot "$root" stat -c '%U:%G %a' /etc/wardroom/wardroom.yaml)" = "root:wardroom 640" ]
	chroot "$root" wardroom config validate /etc/wardroom/wardroom.yaml
	chroot "$root" wardroom version --client
	echo "# kept" >>"$root/etc/wardroom/wardroom.yaml"
	rpm_root -U "$root"/packages/wardroom-[0-9]*rig2*.rpm "$root"/packages/wardroom-runtime-local-*rig2*.rpm
	grep '^# kept' "$root/etc/wardroom/wardroom.yaml"
	[ "$(chroot "$root" stat -c '%U:%G %a' /etc/wardroom)" = "root:wardroom 750" ]
	rpm_root -e wardroom-runtime-local wardroom
	[ ! -e "$root/usr/bin/wardroom" ]
	if grep 'scriptlet failed' "$work/rpm.log"; then exit 1; fi
	rm -rf "$root"
}

export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
mkdir -p "$packages"
fresh=
if [ ! -e "$packages/one/SHA256SUMS" ]; then
	fresh=1
	say "packages"
	beside first first
fi
debian >"$work/debian.log" 2>&1 || { cat "$work/debian.log" >&2; cannot "there is no Debian to boot, and none could be made"; }

# Before there is a package: whether it boots is a matter of this machine.
say "boot"
root=$work/root
mkdir "$root"
tar -C "$root" -xf "$debian"
mkdir "$root/packages"
setsid systemd-nspawn -D "$root" --machine="rig$(basename "$work" | tr -dc a-zA-Z0-9)" --register=no --keep-unit --private-network --resolv-conf=off -b \
	>"$work/console" 2>&1 </dev/null &
nspawn=$!
state=
for _ in $(seq 1200); do
	machine=$(pgrep -P "$nspawn" -x systemd || true)
	if [ -n "$machine" ]; then
		state=$(inside systemctl is-system-running 2>/dev/null || true)
		case $state in running | degraded) break ;; esac
	fi
	[ -d "/proc/$nspawn" ] || break
	sleep 0.1
done
case $state in running | degraded) ;; *)
	machine=
	cat "$work/console" >&2
	cannot "systemd-nspawn did not boot it (state: ${state:-none}); its console is above"
	;;
esac
say "booted"

[ -z "$fresh" ] || joined first
if [ ! -e "$packages/two/SHA256SUMS.asc" ]; then beside two two; fi
CGO_ENABLED=0 go build -trimpath -o "$root/packages/agent" ./scripts/appliancerig/agent
CGO_ENABLED=0 go build -trimpath -o "$root/packages/fakemodel" ./scripts/fakemodel/cmd
CGO_ENABLED=0 go build -trimpath -o "$root/packages/s2d" github.com/klauspost/compress/s2/cmd/s2d # opens archives of backups
# Of the coding tools the one that is a program of its own, which needs no node.
if [ -x .cache/clis/bin/claude ]; then
	cp -L .cache/clis/bin/claude "$root/usr/local/bin/claude"
elif [ -n "${WARDROOM_REQUIRE_REAL:-}" ]; then
	echo "FAILED: no coding tool in .cache/clis: make clis" >&2
	exit 1
else
	say "no coding tool in .cache/clis (make clis): the upgrade in its turn is left out"
fi
[ -z "${besides[two]:-}" ] || joined two
[ -z "$fresh" ] || beside again again
cp -r "$packages/one" "$packages/two" "$packages/key.pub" "$root/packages/"
cp scripts/appliancerig/inside.sh scripts/packager/testdata/packaged-open.yaml "$root/packages/"
beside rpms rpms
beside lintian lintian --fail-on error,warning "$packages"/one/*.deb
say "an operator's week"
inside bash /packages/inside.sh "$version" "$version+rig2"
joined rpms
joined lintian
[ -z "$fresh" ] || joined again
say "all of it holds"
