# cudagraphs: one that is recorded, one that mutates its input, one with a tensor of the CPU, one with open sizes
import torch

@torch.compile(mode="reduce-overhead")
def plain(x, w):
    return torch.relu(x @ w).sum(-1)

@torch.compile(mode="reduce-overhead")
def mutates(x, buf):
    buf.add_(x)
    return buf * 2

@torch.compile(mode="reduce-overhead")
def with_cpu(x, c):
    return x * 2 + c.cuda().sum()

@torch.compile(mode="reduce-overhead", dynamic=True)
def sizes(x):
    return (x.sin() + x.cos()).softmax(-1)

x, w = torch.randn(64, 64, device="cuda"), torch.randn(64, 64, device="cuda")
for _ in range(4):
    torch.compiler.cudagraph_mark_step_begin()
    plain(x, w)
buf = torch.zeros(64, 64, device="cuda")
for _ in range(3):
    torch.compiler.cudagraph_mark_step_begin()
    mutates(x, buf)
c = torch.randn(8)
for _ in range(3):
    torch.compiler.cudagraph_mark_step_begin()
    with_cpu(x, c)
for n in range(3, 16):
    torch.compiler.cudagraph_mark_step_begin()
    sizes(torch.randn(n, 32, device="cuda"))
