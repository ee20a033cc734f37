#!/usr/bin/env bash
# Networks that are no row of bench-peers, ours compiled beside PyTorch's operators. PYTHON names the Python; arguments go to
# scripts/bench-nets/nets.py.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
if ! "$python" -c "import torch" 2>/dev/null; then
	echo "bench-nets: $python has no torch; name one that has by PYTHON" >&2
	exit 1
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
CGO_ENABLED=0 go build -o "$dir/tcdbg" .
XDG_STATE_HOME="$dir/state" XDG_CACHE_HOME="$dir/cache" "$python" scripts/bench-nets/nets.py "$dir/tcdbg" scripts/bench-nets/model.go "$@"
