#!/bin/sh
# Installs Wardroom from this bundle, without a network. As root:
#
#   sh install.sh                     the service, and agents on this machine; of an upgrade, what is installed
#   sh install.sh NAME...             the service and these plugins: runtime-local, runtime-docker, audit, ...; none: no plugin.
#                                     Plugins that are installed already come along
#   sh install.sh --key KEY.asc ...   checks the signature of the bundle before, with the public key of who built it, which must come
#                                     by another way than the bundle; it is kept in /etc/wardroom/bundle-key.asc, and later bundles
#                                     need a signature by it
#   sh install.sh --images            only loads images.tar, for agents in containers, into the container engine of this machine
#
# Nothing is started. It may be run again, with a later bundle as an upgrade.
set -eu
from=$PWD
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
		case $2 in /*) key=$2 ;; *) key=$from/$2 ;; esac
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

# signed checks the signature of the checksums. gpgv is what apt needs, gpg what rpm needs: one of them is on each machine.
signed() {
	home=$(mktemp -d)
	trap 'rm -rf "$home"' EXIT
	if grep -q 'BEGIN PGP PUBLIC KEY BLOCK' "$1"; then
		awk '/^-----BEGIN/ { head = 1; next } /^-----END/ { exit } head && /^\r?$/ { head = 0; body = 1; next } body && /^=/ { next } body' "$1" |
			base64 -d >"$home/key" 2>/dev/null || fail "$1 holds no public key"
	else
		cp "$1" "$home/key"
	fi
	if command -v gpgv >/dev/null; then
		gpgv --homedir "$home" --keyring "$home/key" --status-fd 3 SHA256SUMS.asc SHA256SUMS 3>"$home/status" 2>/dev/null && return
	elif command -v gpg >/dev/null; then
		gpg --homedir "$home" --batch --no-default-keyring --keyring "$home/key" --trust-model always --no-autostart \
			--status-fd 3 --verify SHA256SUMS.asc SHA256SUMS 3>"$home/status" 2>/dev/null && return
	else
		fail "neither gpgv nor gpg is here, which check the signature"
	fi
	if grep -q ' BADSIG ' "$home/status"; then fail "SHA256SUMS was changed after it was signed: do not install this bundle"; fi
	fail "the signature is not by the key in $1: do not install this bundle unless you know why"
}

kept=/etc/wardroom/bundle-key.asc
if [ -z "$key" ] && [ -e "$kept" ]; then key=$kept; fi
if [ -n "$key" ]; then
	[ -r "$key" ] || fail "the key $key cannot be read"
	[ -e SHA256SUMS.asc ] || fail "the bundle is not signed, and $key asks for a signature"
	signed "$key"
elif [ -e SHA256SUMS.asc ]; then
	echo "install.sh: the bundle is signed, which is not checked without --key KEY.asc" >&2
fi
if ! bad=$(sha256sum --quiet --check SHA256SUMS 2>/dev/null); then
	fail "the bundle is damaged or was changed, copy it anew: $(printf '%s\n' "$bad" | sed 's/: FAILED.*//' | paste -sd ' ' -)"
fi
# What the checksums do not name is not of whoever made them.
find . ! -type d | sed 's,^\./,,' | while IFS= read -r file; do
	case $file in SHA256SUMS | SHA256SUMS.asc) continue ;; esac
	[ -f "$file" ] && [ ! -h "$file" ] && cut -c67- SHA256SUMS | grep -qxF -- "$file" || fail "$file is not of this bundle: remove it"
done

if [ -n "$images" ]; then
	[ -e images.tar ] || fail "the bundle has no images"
	for engine in docker podman; do
		if command -v "$engine" >/dev/null; then exec "$engine" load --input images.tar; fi
	done
	fail "there is neither docker nor podman here"
fi

[ "$(id -u)" -eq 0 ] || fail "this takes root"
arch=$(cat ARCH)
case "$(uname -m):$arch" in x86_64:amd64 | aarch64:arm64) ;; *) fail "the bundle is for $arch, and this machine is $(uname -m)" ;; esac
if [ -e /etc/debian_version ]; then
	suffix="_*_$arch.deb" any="_*_all.deb"
	# Also what an upgrade that was cut off has left unpacked.
	there=$(dpkg-query --show --showformat '${db:Status-Status} ${Package}\n' 'wardroom*' 2>/dev/null |
		sed -n '/^not-installed /d; /^config-files /d; s/^[^ ]* //p')
elif command -v rpm >/dev/null; then
	suffix="-[0-9]*.$(uname -m).rpm" any="-[0-9]*.noarch.rpm"
	there=$(rpm -qa --queryformat '%{NAME}\n' 'wardroom*')
else
	fail "neither dpkg nor rpm is here"
fi
if [ $# -eq 0 ] && [ -z "$there" ]; then set -- runtime-local; fi
[ "$*" != none ] || set --
# package prints the file of a package.
package() {
	for file in packages/$1$suffix packages/$1$any; do
		[ -e "$file" ] || continue
		printf '%s\n' "$file"
		return
	done
	fail "the bundle has no package $1; it has: $(ls packages)"
}
files=$(package wardroom)
for name in "$@"; do
	files="$files $(package "wardroom-${name#wardroom-}")"
done
# Plugins that are here need the service of their own version.
for name in $there; do
	for file in packages/$name$suffix packages/$name$any; do
		case " $files " in *" $file "*) continue ;; esac
		[ ! -e "$file" ] || files="$files $file"
	done
done
if [ -e /etc/debian_version ]; then
	# shellcheck disable=SC2086 # names without spaces
	dpkg -i $files
else
	# shellcheck disable=SC2086
	rpm -U --replacepkgs $files
fi
if [ -n "$key" ] && [ "$key" != "$kept" ]; then
	cp "$key" "$kept.new"
	chmod 0644 "$kept.new"
	mv "$kept.new" "$kept"
fi
if [ -e images.tar ]; then echo "Images of agents in containers: sh install.sh --images loads them into the engine of this machine."; fi
