#!/bin/sh
# Installs Wardroom from this bundle, without a network. As root:
#
#   sh install.sh                     the service, and agents on this machine
#   sh install.sh NAME...             the service and these plugins: runtime-local, runtime-docker, audit, ...; none: no plugin
#   sh install.sh --key KEY.asc ...   checks the signature of the bundle before, with the public key of who built it
#   sh install.sh --images            only loads images.tar, for agents in containers, into the container engine of this machine
#
# Nothing is started. It may be run again, with a later bundle as an upgrade.
set -eu
cd "$(dirname "$0")"

fail() {
	echo "install.sh: $*" >&2
	exit 1
}

key= images=
while [ $# -gt 0 ]; do
	case $1 in
	--key)
		[ $# -gt 1 ] || fail "--key needs a file"
		key=$2
		shift 2
		;;
	--images)
		images=yes
		shift
		;;
	-*) fail "there is no flag $1; the head of this file tells those that there are" ;;
	*) break ;;
	esac
done

[ -e SHA256SUMS ] || fail "SHA256SUMS is missing: this is not a whole bundle"
if [ -n "$key" ]; then
	[ -e SHA256SUMS.asc ] || fail "the bundle is not signed"
	command -v gpg >/dev/null || fail "gpg is missing, which checks the signature"
	home=$(mktemp -d)
	trap 'gpgconf --homedir "$home" --kill all 2>/dev/null; rm -rf "$home"' EXIT
	gpg --homedir "$home" --batch --quiet --import "$key" || fail "$key holds no public key"
	gpg --homedir "$home" --batch --quiet --verify SHA256SUMS.asc SHA256SUMS 2>/dev/null || fail "the signature is not by the key in $key"
fi
sha256sum --quiet --check SHA256SUMS || fail "the bundle is damaged: copy it anew"

if [ -n "$images" ]; then
	[ -e images.tar ] || fail "the bundle has no images"
	for engine in docker podman; do
		if command -v "$engine" >/dev/null; then exec "$engine" load --input images.tar; fi
	done
	fail "there is neither docker nor podman here"
fi

[ "$(id -u)" -eq 0 ] || fail "this takes root"
[ $# -gt 0 ] || set -- runtime-local
[ "$*" != none ] || set --
arch=$(cat ARCH)
case "$(uname -m):$arch" in x86_64:amd64 | aarch64:arm64) ;; *) fail "the bundle is for $arch, and this machine is $(uname -m)" ;; esac
if [ -e /etc/debian_version ]; then
	suffix="_*_$arch.deb"
elif command -v rpm >/dev/null; then
	suffix="-[0-9]*.$(uname -m).rpm"
else
	fail "neither dpkg nor rpm is here"
fi
# package prints the file of a package.
package() {
	for file in packages/$1$suffix; do
		[ -e "$file" ] || fail "the bundle has no package $1; it has: $(ls packages)"
		printf '%s\n' "$file"
		return
	done
}
files=$(package wardroom)
for name in "$@"; do
	files="$files $(package "wardroom-${name#wardroom-}")"
done
if [ -e /etc/debian_version ]; then
	# shellcheck disable=SC2086 # names without spaces
	dpkg -i $files
else
	# shellcheck disable=SC2086
	rpm -U --replacepkgs $files
fi
