# Blind, second set: a tensor subclass with units, a custom Function, weight norm and einops-like reshapes.
import os, torch, torch.nn as nn
from torch.nn.utils.parametrizations import weight_norm, orthogonal
torch.manual_seed(0)

class Unit(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return super().__torch_function__(func, types, args, kwargs or {})

class Round(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, bits):
        ctx.bits = bits
        return (x * 2 ** bits).round() / 2 ** bits
    @staticmethod
    def backward(ctx, g):
        return g, None

def rearrange(x, pattern, **axes):
    left, right = [p.split() for p in pattern.split("->")]
    sizes = dict(zip(left, x.shape))
    order = [left.index(name) for name in right]
    return x.permute(order)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = weight_norm(nn.Linear(6, 6)); self.b = orthogonal(nn.Linear(6, 6))
    def forward(self, x, bits, pattern="b c h -> b h c"):
        x = rearrange(x, pattern)
        x = Round.apply(self.a(x), bits)
        return self.b(x).sum((0, 1))

f = torch.compile(Net(), backend="eager")
# again
with torch.no_grad():
    for bits in (2, 4, 8):
        y = f(torch.ones(2, 6, 3), bits)
    y = f(torch.ones(2, 3, 6), 8, "b h c -> b h c")
    u = f(torch.ones(2, 6, 3).as_subclass(Unit), 8)
print("%.3f" % y.sum(), type(u).__name__)
