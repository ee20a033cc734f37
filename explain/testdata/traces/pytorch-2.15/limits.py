import torch
@torch.compile(backend="aot_eager")
def f(x, k): return x * k
for k in range(12): f(torch.randn(3), float(k) if k % 2 else k)
@torch.compile(backend="aot_eager", fullgraph=True)
def g(x, s): return x + len(s)
try:
    for k in range(12): g(torch.randn(3), "a" * k)
except Exception as e: print(type(e).__name__)
