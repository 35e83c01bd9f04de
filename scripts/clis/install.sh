#!/usr/bin/env bash
# Installs the pinned claude, codex and gemini command lines into a folder, with npm, and prints where the
# executables are. A second run with the same versions does nothing. Needs node 20 or later.
#
#   scripts/clis/install.sh DIR
#
# The executables are links in DIR/bin; put it into PATH, or set WARDROOM_CLIS=DIR for the tests.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"

fail() {
	echo "install.sh: $*" >&2
	exit 1
}

[ $# -eq 1 ] && [ -n "$1" ] || fail "one argument is needed: the folder to install into"
command -v node >/dev/null && command -v npm >/dev/null || fail "node and npm are needed; install Node.js 20 or later"
major="$(node -p 'process.versions.node.split(".")[0]')"
[ "$major" -ge 20 ] || fail "node $(node --version) is too old for gemini; install Node.js 20 or later"

mkdir -p "$1"
dir="$(cd "$1" && pwd)"

# Two installations at once into the same folder would remove each other's files.
if command -v flock >/dev/null; then
	exec 9>"$dir/.lock"
	flock 9
fi

complete() {
	cmp -s "$here/package.json" "$dir/package.json" && cmp -s "$here/package-lock.json" "$dir/.installed" || return 1
	for name in claude codex gemini; do
		[ -x "$dir/bin/$name" ] || return 1
	done
}

# link NAME FILE... links the first file that is there and can be run. The native executables are taken
# directly: the scripts around them keep a second process alive, or want an installation script to have run.
link() {
	local name="$1" file
	shift
	for file in "$@"; do
		if [ -x "$file" ]; then
			ln -sfn "$file" "$dir/bin/$name"
			return
		fi
	done
	fail "npm installed no $name for this machine ($(uname -sm))"
}

if ! complete; then
	rm -f "$dir/.installed"
	cp "$here/package.json" "$here/package-lock.json" "$dir/"
	# No package needs its installation scripts here, so none is run.
	npm ci --prefix "$dir" --ignore-scripts --no-audit --no-fund --no-update-notifier --loglevel=error >"$dir/npm.log" 2>&1 || {
		cat "$dir/npm.log" >&2
		fail "npm ci failed"
	}
	mkdir -p "$dir/bin"
	modules="$dir/node_modules"
	link claude "$modules"/@anthropic-ai/claude-code-*/claude
	link codex "$modules"/@openai/codex-*/vendor/*/bin/codex
	link gemini "$modules/.bin/gemini"
	cp "$here/package-lock.json" "$dir/.installed"
fi

for name in claude codex gemini; do
	echo "$name $dir/bin/$name"
done
