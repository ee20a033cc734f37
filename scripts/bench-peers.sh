#!/usr/bin/env bash
# Models, steps of training and kernels of ours against torch.compile, ONNX Runtime and OpenVINO, in
# one run: scripts/bench-peers/peers.py drives scripts/bench-peers/model.go and the peers that
# Python has. PYTHON names the Python; arguments go to peers.py.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
if ! command -v "$python" >/dev/null; then
	echo "bench-peers: no $python; install Python 3 and its packages torch torchvision transformers onnx onnxscript onnxruntime openvino, or name one by PYTHON" >&2
	exit 1
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
CGO_ENABLED=0 go build -o "$dir/tcdbg" .
"$python" scripts/bench-peers/peers.py "$dir/tcdbg" scripts/bench-peers/model.go "$@"
