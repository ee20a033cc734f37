import torch

calls = 0


@torch.library.custom_op("mine::odd", mutates_args=())
def odd(x: torch.Tensor) -> torch.Tensor:
    return x * 3


@odd.register_fake
def _(x):
    global calls
    calls += 1
    if calls > 2:
        raise RuntimeError("no shape the third time")
    return torch.empty_like(x)


@torch.compile(backend="aot_eager")
def f(x):
    y = x.sin() * 2
    return odd(y).cos()


try:
    f(torch.ones(4))
except Exception as e:
    print("raised", type(e).__name__, str(e)[:200])
