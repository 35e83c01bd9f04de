#!/usr/bin/env bash
# run.sh DIR TARGET TIME fuzzes one target of the package in DIR for TIME. Before Go 1.27 the fuzzer may report its own
# end of time as a failure, with nothing found (go.dev/issue/75804): only that, and nothing else, is tried again.
set -u
cd "$1" || exit 1
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for try in 1 2 3; do
	go test -run '^$' -fuzz "^$2\$" -fuzztime "$3" -fuzzminimizetime 20x . 2>&1 | tee "$log"
	code=${PIPESTATUS[0]}
	[ "$code" -eq 0 ] && exit 0
	grep -q '^    context deadline exceeded$' "$log" || exit "$code"
	grep -qE 'Failing input written|panic:|_test\.go:[0-9]+:' "$log" && exit "$code"
	echo "fuzz $1 $2: the fuzzer tripped over its own end of time (try $try); nothing was found" >&2
done
exit "$code"
