# custom operators: one with a fake, one without, one that mutates
import torch
@torch.library.custom_op("mine::scale", mutates_args=())
def scale(x: torch.Tensor, k: float) -> torch.Tensor:
    return x * k
@scale.register_fake
def _(x, k): return torch.empty_like(x)
@torch.library.custom_op("mine::nofake", mutates_args=())
def nofake(x: torch.Tensor) -> torch.Tensor:
    return x + 1
@torch.library.custom_op("mine::fill", mutates_args=("x",))
def fill(x: torch.Tensor) -> None:
    x.fill_(3)
@torch.compile
def a(x): return scale(x.sin(), 2.0).cos()
@torch.compile
def b(x): return nofake(x.sin()).cos()
@torch.compile
def c(x):
    y = x.sin(); fill(y); return y.cos()
a(torch.randn(4))
try: b(torch.randn(4))
except Exception as e: print(type(e).__name__)
print(c(torch.randn(4)))
