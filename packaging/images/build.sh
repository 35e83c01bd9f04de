#!/usr/bin/env bash
# Builds the images that agents start from, and that of the service in clusters, for the engine that DOCKER_HOST names:
#
#   wardroom/base     Debian with git, curl, ripgrep and the like, and a user without rights
#   wardroom/claude   the same and the claude command line, at the version that scripts/clis pins
#   wardroom/codex    likewise
#   wardroom/gemini   likewise, with Node.js
#   wardroom/wardroom Debian with git, the service and its plugins, but for those of agents on the same machine
#
#   packaging/images/build.sh [-t TAG] [-o ARCHIVE] [NAME ...]
#
# NAME is base, claude, codex, gemini or wardroom; none means all but the last. ARCHIVE gets them as docker save writes them, for machines without a
# registry. Needs root (or user namespaces) for mmdebstrap, a docker client, npm for the command lines, and go unless
# bin/plugins/holder was built. Every image has the labels of the OCI, io.wardroom.cli, and the list of its packages in
# /usr/share/wardroom/packages.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
root="$(cd "$here/../.." && pwd)"

fail() {
	echo "build.sh: $*" >&2
	exit 1
}

tag="$(cat "$root/VERSION")" archive=
while getopts t:o: option; do
	case $option in
	t) tag=$OPTARG ;;
	o) archive=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || set -- base claude codex gemini
for name in "$@"; do
	case $name in base | claude | codex | gemini | wardroom) ;; *) fail "there is no image $name" ;; esac
done

# The client that this machine has may have no plugin for builds; the engine's own builder does.
export DOCKER_BUILDKIT=0
docker version >/dev/null || fail "no container engine answers; DOCKER_HOST names one"
command -v mmdebstrap >/dev/null || fail "mmdebstrap is missing: install it"

# Of Debian: what coding agents call, and what their programs link.
packages=ca-certificates,curl,diffutils,file,git,less,libstdc++6,openssh-client,patch,procps,ripgrep,unzip,xz-utils
# What the service calls for threads.
service=ca-certificates,git,openssh-client
suite=bookworm
node=20.20.2

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# context NAME makes the folder of one build.
context() {
	mkdir -p "$work/$1"
	cp "$here/Dockerfile.$2" "$work/$1/Dockerfile"
}

# build NAME ARGUMENTS... builds the image of a folder.
build() {
	local name=$1
	shift
	docker build --quiet --pull=false --force-rm --tag "wardroom/$name:$tag" --tag "wardroom/$name:latest" --build-arg "TAG=$tag" "$@" "$work/$name" >/dev/null
}

# rootfs NAME PACKAGES USER HOME makes the image NAME of Debian with packages and a user without rights.
rootfs() {
	local sources=()
	# The machine's own mirror, where it has the same Debian.
	if grep -qs "$suite" /etc/apt/sources.list.d/debian.sources; then sources=(/etc/apt/sources.list.d/debian.sources); fi
	mmdebstrap --quiet --variant=minbase --include="$2" \
		--dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
		--dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
		--customize-hook="chroot \"\$1\" useradd --create-home --home-dir $4 --uid 10001 --shell /bin/bash $3" \
		--customize-hook='mkdir -p "$1/usr/share/wardroom" && chroot "$1" dpkg-query -W >"$1/usr/share/wardroom/packages"' \
		--customize-hook='rm -rf "$1"/var/lib/apt/lists/* "$1"/var/cache/apt/*' \
		"$suite" "$work/rootfs.tar" "${sources[@]}"
	docker import "$work/rootfs.tar" "wardroom/$1:$tag" >/dev/null
	rm "$work/rootfs.tar"
}

base() {
	rootfs debian "$packages" agent /home/agent
	context base base
	if [ -x "$root/bin/plugins/holder" ]; then
		cp "$root/bin/plugins/holder" "$work/base/holder"
	else
		(cd "$root" && CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$work/base/holder" ./plugins/holder)
	fi
	build base
}

# service makes the image of the service, of what make build has made.
service() {
	local at="$work/wardroom/wardroom" plugin
	[ -x "$root/bin/wardroom" ] || fail "bin/wardroom is missing: make build"
	rootfs service-debian "$service" wardroom /var/lib/wardroom
	context wardroom wardroom
	mkdir -p "$at/plugins"
	cp "$root/bin/wardroom" "$at/"
	for plugin in "$root"/bin/plugins/*; do
		case ${plugin##*/} in runtime-kubernetes | secrets-* | audit-*) cp "$plugin" "$at/plugins/" ;; esac
	done
	"$at/wardroom" plugin manifest "$at/plugins" >/dev/null
	chmod -R a+rX,go-w "$at"
	build wardroom
}

# pinned NAME prints the version of a command line.
pinned() {
	local package
	case $1 in claude) package=@anthropic-ai/claude-code ;; codex) package=@openai/codex ;; gemini) package=@google/gemini-cli ;; esac
	sed -n "s|.*\"$package\": \"\(.*\)\".*|\1|p" "$root/scripts/clis/package.json"
}

# cli NAME puts a command line into a context.
cli() {
	local modules="$clis/node_modules"
	context "$1" cli
	mkdir -p "$work/$1/root/usr/local/bin" "$work/$1/root/opt"
	case $1 in
	claude) cp -L "$clis/bin/claude" "$work/$1/root/usr/local/bin/claude" ;;
	codex)
		cp -r "$(dirname "$(dirname "$(readlink -f "$clis/bin/codex")")")" "$work/$1/root/opt/codex"
		ln -s /opt/codex/bin/codex "$work/$1/root/usr/local/bin/codex"
		;;
	gemini)
		cp -r "$modules/@google/gemini-cli" "$work/$1/root/opt/gemini"
		npm install --no-audit --no-fund --silent --ignore-scripts --prefix "$work/node" "node-linux-$arch@$node"
		cp "$work/node/node_modules/node-linux-$arch/bin/node" "$work/$1/root/usr/local/bin/node"
		ln -s /opt/gemini/bundle/gemini.js "$work/$1/root/usr/local/bin/gemini"
		;;
	esac
	chmod -R a+rX "$work/$1/root"
}

case "$(uname -m)" in x86_64) arch=x64 ;; aarch64) arch=arm64 ;; *) fail "there is no codex for $(uname -m)" ;; esac
clis="${WARDROOM_CLIS:-$root/.cache/clis}"
for name in "$@"; do
	case $name in base | wardroom)
		if [ "$name" = base ]; then base; else service; fi
		continue
		;;
	esac
	docker image inspect "wardroom/base:$tag" >/dev/null 2>&1 || base
	[ -x "$clis/bin/$name" ] || bash "$root/scripts/clis/install.sh" "$clis" >/dev/null
	cli "$name"
	build "$name" --build-arg "CLI=$name $(pinned "$name")"
	rm -rf "${work:?}/$name"
done

if [ -n "$archive" ]; then
	references=()
	for name in "$@"; do references+=("wardroom/$name:$tag" "wardroom/$name:latest"); done
	docker save --output "$archive.part" "${references[@]}"
	mv "$archive.part" "$archive"
	echo "$archive $(stat -c %s "$archive") bytes"
fi
for name in "$@"; do
	docker images --format '{{.Repository}}:{{.Tag}} {{.Size}}' "wardroom/$name:$tag"
done
