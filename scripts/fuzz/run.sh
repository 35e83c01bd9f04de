#!/usr/bin/env bash
# run.sh TIME [DIR...] runs every fuzz target of the packages in DIR for TIME, which is a duration (5s) or a number of
# inputs (500x). Without DIR it takes all packages that have targets. Each package is built once, and as many targets run
# beside each other as the machine has processors, with one worker each.
#
# FUZZ_SINCE=24h takes only packages in which something changed within that time before the newest commit, or that
# have changes which are not committed; seeds of the others run with the tests. Without history all are taken.
#
# Before Go 1.27 the fuzzer may report its own end of time as a failure, with nothing found (go.dev/issue/75804): only
# that, and nothing else, is tried again. It does not happen with a number of inputs.
set -euo pipefail
cd "$(dirname "$0")/../.."

time=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export work time

dirs=("$@")
if [ "${#dirs[@]}" -eq 0 ]; then
	mapfile -t dirs < <(grep -rlE --include='*_test.go' '^func Fuzz' core sdk appliance plugins scripts | xargs -n1 dirname | sort -u)
fi

# changed prints the directories in which something changed within FUZZ_SINCE, and fails where that cannot be told.
changed() {
	local newest base
	newest=$(git log -1 --format=%ct 2>/dev/null) || return 1
	base=$(git rev-list -1 --before="$((newest - ${FUZZ_SINCE%h} * 3600))" HEAD) && [ -n "$base" ] || return 1
	git diff --name-only "$base" -- '*.go' '*/testdata/*' | sed -E 's,/testdata/.*,/x,' | xargs -r -n1 dirname | sort -u
}
if [ -n "${FUZZ_SINCE:-}" ] && list=$(changed); then
	mapfile -t dirs < <(printf '%s\n' "${dirs[@]}" | grep -Fx -f <(printf '%s\n' "$list") || true)
	echo "fuzz: ${#dirs[@]} packages changed within $FUZZ_SINCE"
fi

# fuzz DIR TARGET BINARY
fuzz() {
	local dir=$1 target=$2 binary=$3 log try code=0
	log=$(mktemp -p "$work")
	for try in 1 2 3; do
		code=0
		(cd "$dir" && "$binary" -test.run '^$' -test.fuzz "^$target\$" -test.fuzztime "$time" -test.fuzzminimizetime 20x \
			-test.parallel 1 -test.fuzzcachedir "$work/cache/$dir") >"$log" 2>&1 || code=$?
		[ "$code" -eq 0 ] && break
		grep -q '^    context deadline exceeded$' "$log" || break
		! grep -qE 'Failing input written|panic:|_test\.go:[0-9]+:' "$log" || break
	done
	if [ "$code" -ne 0 ]; then
		echo "fuzz $dir $target: failed"
		cat "$log"
		return 1
	fi
	echo "fuzz $dir $target: $(grep -o 'execs: [0-9]*' "$log" | tail -1)"
}
export -f fuzz

for dir in "${dirs[@]}"; do
	binary=$work/$(echo "$dir" | tr / _).test
	(cd "$dir" && go test -c -fuzz=. -o "$binary" .) >&2 # in there: the directory may be of a nested module
	(cd "$dir" && "$binary" -test.list '^Fuzz') | sed "s,.*,$dir & $binary,"
done >"$work/targets"
xargs -P "$(nproc)" -L1 bash -c 'fuzz "$@" || exit 1' fuzz <"$work/targets"
echo "fuzz: $(wc -l <"$work/targets") targets, $time each"
