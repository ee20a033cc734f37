#!/usr/bin/env bash
# Rewrites the golden files of every package that has any (those whose tests
# import tcdbg/internal/test/golden).
set -euo pipefail
grep -rl '"tcdbg/internal/test/golden"' --include='*_test.go' . | xargs -n1 dirname | sort -u | while read -r pkg; do
	go test "$pkg" -update
done
