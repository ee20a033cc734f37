#!/usr/bin/env bash
# Our kernels and models against their peers, in one run: the benchmarks of
# backends beside PyTorch's torch.compile where Python has it.
set -euo pipefail
cd "$(dirname "$0")/.."
go test ./backends/... -run '^$' -bench . -benchtime 2s
if python3 -c 'import torch' 2>/dev/null; then
	python3 - <<'EOF'
import time
import torch

def best(f, n=50):
    for _ in range(5):
        f()
    times = []
    for _ in range(n):
        t = time.perf_counter()
        f()
        times.append(time.perf_counter() - t)
    return min(times) * 1e3

torch.set_num_threads(2)
x = torch.randn(64, 784)
net = torch.nn.Sequential(torch.nn.Linear(784, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10))
with torch.no_grad():
    compiled = torch.compile(net)
    print(f"PyTorch {torch.__version__} MLP 64x784: eager {best(lambda: net(x)):.3f} ms, compiled {best(lambda: compiled(x)):.3f} ms")
EOF
else
	echo "bench-peers: no PyTorch in this Python; pip install torch to compare" >&2
fi
