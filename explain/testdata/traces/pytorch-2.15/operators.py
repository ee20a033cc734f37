"""Custom operators, autograd functions, checkpointing."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint


@torch.library.custom_op("demo::sin2", mutates_args=())
def sin2(x: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(np.sin(x.detach().numpy()) * 2)


@sin2.register_fake
def _(x):
    return torch.empty_like(x)


@torch.library.custom_op("demo::nofake", mutates_args=())
def nofake(x: torch.Tensor) -> torch.Tensor:
    return x.clone() + 1


@torch.library.custom_op("demo::pick", mutates_args=())
def pick(x: torch.Tensor) -> torch.Tensor:
    return x[x > 0].clone()


@pick.register_fake
def _(x):
    n = torch.library.get_ctx().new_dynamic_size()
    return x.new_empty(n)


class Clip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(-1, 1)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (x.abs() < 1)


class Loud(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        print("loud")                        # break inside a Function
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


@torch.compile
def good(x):
    return sin2(x) + 1


@torch.compile
def missing(x):
    y = x * 2
    return nofake(y) + 1


@torch.compile
def ragged(x):
    y = pick(x)
    return y * 2


@torch.compile
def clipped(x):
    return Clip.apply(x) * 3


@torch.compile
def loud(x):
    return Loud.apply(x.sin()) + 1


class Deep(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(8, 8)
        self.l2 = nn.Linear(8, 8)

    def part(self, x):
        return torch.relu(self.l1(x))

    def forward(self, x):
        x = checkpoint(self.part, x, use_reentrant=False)
        return self.l2(x)


class Noisy(Deep):
    def part(self, x):
        print("part")                        # break inside a checkpoint
        return torch.relu(self.l1(x))


def main():
    torch.manual_seed(0)
    x = torch.randn(6)
    good(x)
    try:
        missing(x)
    except Exception as e:
        print("missing:", type(e).__name__)
    ragged(x)
    clipped(x.clone().requires_grad_()).sum().backward()
    loud(x.clone().requires_grad_()).sum().backward()
    for cls in (Deep, Noisy):
        torch.compile(cls())(torch.randn(4, 8)).sum().backward()
    print("done")


main()
