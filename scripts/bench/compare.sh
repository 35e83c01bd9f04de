#!/usr/bin/env bash
# Compares benchmarks of packages with those of another commit, in turns on the same machine, and prints the medians
# of ns/op and their ratio (above 1: this tree is quicker). On a machine with other load the ratios mean little.
#
#   bash scripts/bench/compare.sh COMMIT [COUNT] [PATTERN] [PACKAGE...]
set -euo pipefail
cd "$(dirname "$0")/../.."
commit=${1:?the commit to compare with is missing} count=${2:-6} pattern=${3:-.}
shift $(($# < 3 ? $# : 3))
packages=("$@")
[ "${#packages[@]}" -gt 0 ] || packages=(core/store core/engine)

dir=$(mktemp -d)
trap 'git worktree remove --force "$dir/tree" 2>/dev/null || true; rm -rf "$dir"' EXIT
git worktree add --quiet --detach "$dir/tree" "$commit"
for package in "${packages[@]}"; do
	name=${package//\//-}
	go test -c -o "$dir/$name.new" "./$package"
	(cd "$dir/tree" && go test -c -o "$dir/$name.old" "./$package")
done
for _ in $(seq "$count"); do
	for package in "${packages[@]}"; do
		for version in old new; do
			tree=$PWD
			[ "$version" = new ] || tree=$dir/tree
			(cd "$tree/$package" && "$dir/${package//\//-}.$version" -test.run '^$' -test.bench "$pattern") |
				awk -v v="$version" '/^Benchmark/ { print v, $1, $3 }'
		done
	done
done >"$dir/results"
echo "load: $(cut -d' ' -f1-3 /proc/loadavg 2>/dev/null || uptime)"
sort -k2,2 -k1,1 -k3,3n "$dir/results" | awk '
	function flush() {
		if (n) median[version] = n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
		n = 0
	}
	function line() {
		if (median["old"] && median["new"])
			printf "%-50s %14.0f %14.0f %7.2f\n", name, median["old"], median["new"], median["old"] / median["new"]
		delete median
	}
	BEGIN { printf "%-50s %14s %14s %7s\n", "BENCHMARK", "OLD NS/OP", "NEW NS/OP", "RATIO" }
	$2 != name { flush(); line(); name = $2; version = $1 }
	$1 != version { flush(); version = $1 }
	{ list[++n] = $3 }
	END { flush(); line() }'
