#!/usr/bin/env bash
# Makes an archive of an image with busybox, from scratch and without an engine: "ctr images import" and "docker load" take it.
#
#   mkimage.sh OUT.tar REFERENCE ENTRYPOINT_JSON [FILE=PATH ...]
#
# Each FILE is put at PATH. git comes too, where the machine has it, with what it links.
set -euo pipefail
out=$1 ref=$2 entry=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
mkdir -p "$root/bin" "$root/etc" "$root/tmp" "$root/home/agent" "$work/img"
chmod 1777 "$root/tmp"
cp "$(command -v busybox)" "$root/bin/busybox"
printf 'root:x:0:0:root:/:/sbin/nologin\nagent:x:10001:10001:agent:/home/agent:/bin/sh\n' >"$root/etc/passwd"
printf 'root:x:0:\nagent:x:10001:\n' >"$root/etc/group"
if [ $# -gt 0 ]; then
	for tool in $("$root/bin/busybox" --list); do
		[ "$tool" = busybox ] || ln -s busybox "$root/bin/$tool"
	done
	if git=$(command -v git); then
		cp -L "$git" "$root/bin/git"
		ln -s git "$root/bin/git-upload-pack" # what it runs for repositories at a path
		ln -s git "$root/bin/git-receive-pack"
		ldd "$git" | grep -o '/[^ ]*' | while read -r library; do
			mkdir -p "$root$(dirname "$library")"
			cp -L "$library" "$root$library"
		done
	fi
fi
for pair; do
	mkdir -p "$root$(dirname "${pair#*=}")"
	install -m 755 "${pair%%=*}" "$root${pair#*=}"
done
tar -C "$root" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf "$work/img/layer.tar" .
diff=$(sha256sum <"$work/img/layer.tar" | cut -d' ' -f1)
case $(uname -m) in aarch64) arch=arm64 ;; *) arch=amd64 ;; esac
printf '{"architecture":"%s","os":"linux","config":{"Entrypoint":%s,"Env":["PATH=/usr/local/bin:/bin"]},"rootfs":{"type":"layers","diff_ids":["sha256:%s"]},"history":[{"created_by":"mkimage"}]}' \
	"$arch" "$entry" "$diff" >"$work/img/config.json"
id=$(sha256sum <"$work/img/config.json" | cut -d' ' -f1)
mv "$work/img/config.json" "$work/img/$id.json"
printf '[{"Config":"%s.json","RepoTags":["%s"],"Layers":["layer.tar"]}]' "$id" "$ref" >"$work/img/manifest.json"
tar -C "$work/img" -cf "$out" .
