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
CGO_ENABLED=0 go build -o "$work/tcdbg" .
go build -o "$work/turns" ./scripts/time-in-turns
[ $# -gt 0 ] || set -- tui/testdata/bar.log

# compare RUNS TRACE: both programs in turns.
compare() {
	local runs=$1 trace=$2
	"$work/turns" "$runs" "$work/tcdbg" report "$trace" \
		-- tlparse "$trace" -o "$work/out{}" --no-browser >"$work/figures"
	rm -rf "$work"/out*
	awk -v name="$(basename "$trace")" -v size="$(stat -c %s "$trace")" '
		{ ms[NR] = $1; mb[NR] = $2 }
		END { printf "%-40.40s %8.1f %9.1f %9.1f %6.1fx %7s %7s\n", name, size / 1e6, ms[1], ms[2], ms[2] / ms[1], mb[1], mb[2] }' "$work/figures"
}

printf '%-40s %8s %9s %9s %7s %7s %7s\n' trace MB 'tcdbg ms' 'tlparse' ratio 'MB' 'MB'
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
