#!/usr/bin/env bash
# Reports against tlparse, in one run: the shortest wall time and the largest
# memory of both, taken in turns, for every trace given (or the project's own),
# and for the traces put together until they have 200 MB and, with SIZES="200 1000",
# 1 GB. Then the search over all payloads of the largest.
# Usage: [RUNS=5] [SIZES="200"] bench-trace.sh [TRACE ...]
set -euo pipefail
cd "$(dirname "$0")/.."
command -v tlparse >/dev/null || { echo "bench-trace: tlparse is not installed; pip install tlparse" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/tcdbg" .
[ $# -gt 0 ] || set -- tui/testdata/bar.log

# once NAME CMD...: runs a command and notes its wall time in s and memory in KB.
once() {
	local name=$1
	shift
	/usr/bin/time -f '%e %M' -o "$work/time" "$@" >/dev/null 2>&1
	cat "$work/time" >>"$work/$name"
}

# best NAME: the shortest time and the largest memory of a command's runs.
best() { awk 'NR == 1 || $1 < t { t = $1 } $2 > m { m = $2 } END { printf "%.2f %.0f", t, m / 1024 }' "$work/$1"; }

# compare RUNS TRACE: both programs in turns.
compare() {
	local runs=$1 trace=$2 ours theirs
	rm -f "$work/ours" "$work/theirs"
	for _ in $(seq "$runs"); do
		once ours "$work/tcdbg" report "$trace"
		once theirs tlparse "$trace" -o "$work/out" --overwrite --no-browser
		rm -rf "$work/out"
	done
	ours=$(best ours) theirs=$(best theirs)
	awk -v name="$(basename "$trace")" -v size="$(stat -c %s "$trace")" -v a="$ours" -v b="$theirs" 'BEGIN {
		split(a, o); split(b, t)
		printf "%-40.40s %8.1f %9s %9s %6.1fx %7s %7s\n", name, size / 1e6, o[1], t[1], t[1] / (o[1] > 0 ? o[1] : 0.01), o[2], t[2]
	}'
}

printf '%-40s %8s %9s %9s %7s %7s %7s\n' trace MB 'tcdbg s' 'tlparse s' ratio 'MB' 'MB'
for trace in "$@"; do compare "${RUNS:-5}" "$trace"; done
for size in ${SIZES:-}; do
	big=$work/${size}MB.log
	cat "$@" >"$work/all.log"
	while [ "$(stat -c %s "$work/all.log")" -lt $((size * 1000000)) ]; do
		cat "$work/all.log" "$@" >"$big"
		mv "$big" "$work/all.log"
	done
	mv "$work/all.log" "$big"
	compare 2 "$big"
	TCDBG_BENCH_TRACE=$big go test ./logs -run '^$' -bench Search -benchtime 2x | grep Benchmark
	rm "$big"
done
