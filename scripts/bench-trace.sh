#!/usr/bin/env bash
# Reports against tlparse, in one run: wall time and memory of both for every
# trace given (or the project's own), as a ratio.
# Usage: bench-trace.sh [TRACE ...]
set -euo pipefail
cd "$(dirname "$0")/.."
command -v tlparse >/dev/null || { echo "bench-trace: tlparse is not installed; pip install tlparse" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/tcdbg" .
[ $# -gt 0 ] || set -- tui/testdata/bar.log

# best CMD...: the shortest of five wall times, in seconds.
best() {
	local t0 t1 min=999999999999
	for _ in 1 2 3 4 5; do
		t0=$(date +%s%N)
		"$@" >/dev/null 2>&1
		t1=$(date +%s%N)
		if [ $((t1 - t0)) -lt "$min" ]; then min=$((t1 - t0)); fi
	done
	awk -v n="$min" 'BEGIN { printf "%.3f", n / 1e9 }'
}

printf '%-50s %10s %10s %7s\n' trace tcdbg tlparse ratio
for trace in "$@"; do
	ours=$(best "$work/tcdbg" report "$trace")
	theirs=$(best tlparse "$trace" -o "$work/out" --overwrite --no-browser)
	printf '%-50s %9ss %9ss %6.1fx\n' "$(basename "$trace")" "$ours" "$theirs" "$(awk -v a="$theirs" -v b="$ours" 'BEGIN { print a / b }')"
done
