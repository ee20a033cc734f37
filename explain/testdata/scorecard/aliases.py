# The same tensor twice, views and buffers that are resized.
# fix 1: metadata-of-input
import os, torch

@torch.compile(backend="eager")
def add(a, b): return a * 2 + b

@torch.compile(backend="eager")
def grow(buf, x):
    buf.resize_(4) #-1
    return buf.fill_(1) + x

x = torch.ones(4)
for _ in range(int(os.environ.get("ROUNDS", "1"))):
    print(add(x, x), add(x, torch.ones(4)), add(x.view(2, 2), x.view(2, 2)).sum())
buf = torch.empty(2)
buf.resize_(4) #+1
print(grow(buf, x))
