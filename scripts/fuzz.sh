#!/usr/bin/env bash
# Runs every fuzz target of the project, or those whose name matches, for the
# given time each; JOBS of them at a time (2), each on one core. What is new is
# made smaller in a hundred tries: the minute that go test would take for each
# leaves no time for the search.
# Usage: fuzz.sh [TIME] [NAME]
set -euo pipefail
cd "$(dirname "$0")/.."
export TIME=${1:-30s}
name=${2:-.}
one() {
	log=$(mktemp)
	if nice go test "$1" -run '^$' -fuzz "^$2\$" -fuzztime "$TIME" -fuzzminimizetime 100x -parallel 1 >"$log" 2>&1; then
		echo "ok   $1 $2: $(grep -o 'execs: [0-9]*' "$log" | tail -1)"
		rm "$log"
	elif grep -qx '    context deadline exceeded' "$log" && ! grep -q 'Failing input written' "$log"; then
		# The time was up while an input was made smaller: go test calls that a failure of the target,
		# although nothing failed. What did fail is written to a file, and go test names it.
		echo "ok   $1 $2: $(grep -o 'execs: [0-9]*' "$log" | tail -1), its time was up amid an input"
		rm "$log"
	else
		echo "FAIL $1 $2"
		cat "$log"
		rm "$log"
		return 1
	fi
}
export -f one
grep -rE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*\(' . |
	sed -E 's|^(.*)/[^/]*:func (Fuzz[A-Za-z0-9_]*)\(.*|\1 \2|' |
	grep -E -- "$name" |
	xargs -P "${JOBS:-2}" -L 1 bash -c 'one "$1" "$2"' fuzz
