"""A function without operators in its first call, which a global changes: PyTorch never looks at it again."""
import torch

EPOCH = 0


def warmup(x):
    if EPOCH > 2:
        return (x * EPOCH).sin()
    return x


f = torch.compile(warmup, backend="aot_eager")
for EPOCH in range(6):
    f(torch.randn(3))


def config(x):
    print("no operators here")
    return 3


g = torch.compile(config, backend="aot_eager")
g(torch.randn(3))


def both(x):
    k = config(x)
    return x * k


torch.compile(both, backend="aot_eager")(torch.randn(3))
