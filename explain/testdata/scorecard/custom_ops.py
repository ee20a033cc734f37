# Custom operators without shape rules, a custom Function and a hook.
# fix 1: register-fake-lib
# fix 2: print
# fix 3: branch-on-tensor
# fix 4: register-fake
import os
import torch
torch.manual_seed(0)
@torch.library.custom_op("mylib::scale_shift", mutates_args=())
def scale_shift(x: torch.Tensor, k: float) -> torch.Tensor:
    return x * k + 1

@scale_shift.register_fake #+4
def _(x, k): return torch.empty_like(x) #+4
lib = torch.library.Library("mylib2", "DEF")
lib.define("raw(Tensor x) -> Tensor")
lib.impl("raw", lambda x: x * 3, "CPU")

@torch.library.register_fake("mylib2::raw") #+1
def _(x): return torch.empty_like(x) #+1
class Clamp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, lo):
        ctx.save_for_backward(x); ctx.lo = lo
        return x.clamp(min=lo)
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return torch.where((x > ctx.lo).all(), g, g * (x > ctx.lo)), None #+3
        if (x > ctx.lo).all(): #-3
            return g, None #-3
        return g * (x > ctx.lo), None #-3

class Net(torch.nn.Module):
    def __init__(s): super().__init__(); s.l = torch.nn.Linear(8, 8); s.acts = []
    def forward(s, x):
        y = s.l(x)
        y = Clamp.apply(y, 0.0)
        y = scale_shift(y, 2.0)
        return y.sum()

def hook(mod, inp, out):
    mod.seen = getattr(mod, "seen", 0) + 1
    pass #+2
    print("hook", tuple(out.shape)) #-2
print("hook", (4, 8)) #+2
net = Net(); net.l.register_forward_hook(hook)
f = torch.compile(net, backend="eager")
try:
    f(torch.randn(4, 8)).backward()
except Exception: pass

@torch.compile(backend="eager")
def g(x):
    return torch.ops.mylib2.raw(x.sin()).cos()
# again
try: g(torch.randn(4))
except Exception: pass
