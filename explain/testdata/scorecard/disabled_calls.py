# Disabled functions, TorchScript, and checkpointing with a branch.
# fix 1: disabled
# fix 2: branch-on-tensor
# fix 3: checkpoint-side-effect
import os
import torch
from torch.utils.checkpoint import checkpoint
torch.manual_seed(0)
@torch.compiler.disable
def stats(x): return x.mean().item()
@torch.compiler.disable(reason="uses a C library")
def lib(x): return x + 1
@torch.jit.script
def scripted(x):
    return x.sin() * 2
def f(x): #+1
def f(x): #-1
    s = stats(x) #-1
    x = lib(x * s) #-1
    return scripted(x)
x = torch.randn(4) #+1
torch.compile(f, backend="eager")(lib(x * stats(x))) #+1
torch.compile(f, backend="eager")(torch.randn(4)) #-1
traced = torch.jit.trace(lambda v: v * 2, torch.randn(3))
def f2(x): return traced(x) + 1
torch._dynamo.reset(); 
try: torch.compile(f2, backend="eager")(torch.randn(3))
except Exception as e: print("ERR", str(e)[:200])
class Net(torch.nn.Module):
    def __init__(s): super().__init__(); s.a = torch.nn.Linear(8, 8); s.b = torch.nn.Linear(8, 8); s.n = 0
    def blk(s, x):
        s.n += 1 #-3
        y = s.b(x).relu()
        y = torch.where(y.max() > 100, y / 2, y) #+2
        if y.max() > 100: y = y / 2 #-2
        return y
    def forward(s, x):
        s.n += 1 #+3
        x = s.a(x) #+3
        x = s.a(x) #-3
        x = checkpoint(s.blk, x, use_reentrant=False)
        return x.sum()
torch._dynamo.reset()
n = Net(); c = torch.compile(n, backend="eager")
try: c(torch.randn(2, 8)).backward()
except Exception as e: print("ERR ckpt", type(e).__name__, str(e)[:200])
torch._dynamo.reset()
def f3(x):
    x = checkpoint(lambda v: v.sin().cos(), x, use_reentrant=True)
    return x.sum()
# again
try: torch.compile(f3, backend="eager")(torch.randn(3, requires_grad=True)).backward()
except Exception as e: print("ERR ckpt2", type(e).__name__, str(e)[:200])
