# a Triton kernel of the program's own within a compiled function
import torch, triton, triton.language as tl

@triton.jit
def addmul(x, y, out, n, k: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(out + i, (tl.load(x + i, m) + tl.load(y + i, m)) * k, m)

def call(x, y, k):
    out = torch.empty_like(x)
    addmul[(triton.cdiv(x.numel(), 256),)](x, y, out, x.numel(), k, BLOCK=256)
    return out

@torch.compile(fullgraph=True)
def f(x, y):
    return call(x.sin(), y, 3).cos()

@torch.compile
def g(x, y, k):
    return call(x, y, k) + 1

x, y = torch.randn(1000, device="cuda"), torch.randn(1000, device="cuda")
f(x, y)
for k in (2, 3, 4):
    g(x, y, k)
