#!/usr/bin/env bash
# The demo: three agents vote on a real corpus, five run the built-in org charts, and the coding command lines that are
# installed are driven, one of them as a managed thread, each through a kill -9 of the server, as is an agent in a container
# where an engine answers. `make demo` calls it;
# `make clis` installs the command lines.
# KEEP=1 leaves server and agents running at the end. Exits non-zero, and says where the logs are, on failure.
set -euo pipefail
cd "$(dirname "$0")/../.."

if [ ! -x bin/wardroom ]; then
	make build
fi
dir=$(mktemp -d "${TMPDIR:-/tmp}/wardroom-demo.XXXXXX")
go build -o "$dir/demo" ./scripts/demo
go build -o "$dir/agent" ./scripts/demo/agent
flags=(-wardroom "$PWD/bin/wardroom" -agent "$dir/agent" -dir "$dir")
if [ "${KEEP:-}" = 1 ]; then
	flags+=(-keep)
fi
exec "$dir/demo" "${flags[@]}"
