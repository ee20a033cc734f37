#!/usr/bin/env bash
# Models that PyTorch exported, under our compiler, beside the same models written in Go and PyTorch: their numbers and
# the time of a call. PYTHON names the Python; arguments go to scripts/bench-imported/bench.py.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
if ! "$python" -c "import torch, torchvision, transformers" 2>/dev/null; then
	echo "bench-imported: $python has no torch, torchvision or transformers; name one that has by PYTHON" >&2
	exit 1
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
CGO_ENABLED=0 go build -o "$dir/tcdbg" .
XDG_STATE_HOME="$dir/state" "$python" scripts/bench-imported/bench.py "$dir/tcdbg" "$@"
