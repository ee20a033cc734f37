import torch

K = 2
OPT = {"scale": 1.0}


@torch.compile
def by_int(x, k):
    return x * k


@torch.compile
def by_shape(x):
    return x.relu() + 1


@torch.compile
def by_dtype(x):
    return x.sin()


@torch.compile
def by_global(x):
    return x * K


@torch.compile
def by_flag(x, flag):
    return x.sin() if flag else x.cos()


@torch.compile
def by_list(x, xs):
    for y in xs:
        x = x + y
    return x


@torch.compile
def by_str(x, mode):
    return x.sum() if mode == "sum" else x.mean() if mode == "mean" else x.amax()


@torch.compile
def by_float(x, lr):
    return x - lr * x


@torch.compile
def by_dict(x):
    return x * OPT["scale"]


@torch.compile
def by_grad(x):
    return (x * 2).sum()


@torch.compile
def by_stride(x):
    return x.exp()


@torch.compile
def by_none(x, mask):
    return x if mask is None else x * mask


def make(n):
    def inner(x):
        return x + n
    return inner


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(4, 4)
        self.step = 0

    def forward(self, x):
        self.step += 1
        return self.lin(x) * self.step


with torch.no_grad():
    x = torch.randn(4, 4)
    for k in (2, 3, 4):
        by_int(x, k)
    for n in (3, 5, 7):
        by_shape(torch.randn(n, 4))
    for t in (torch.float32, torch.float64, torch.bfloat16):
        by_dtype(x.to(t))
    for K in (2, 3):
        by_global(x)
    for flag in (True, False):
        by_flag(x, flag)
    for n in (1, 2, 3):
        by_list(x, [x] * n)
    for m in ("sum", "mean", "max"):
        by_str(x, m)
    for lr in (0.1, 0.2, 0.3):
        by_float(x, lr)
    for s in (1.0, 2.0):
        OPT["scale"] = s
        by_dict(x)
    by_stride(x)
    by_stride(x.t())
    by_none(x, None)
    by_none(x, x > 0)
    fs = [torch.compile(make(n)) for n in (1, 2)]
    for f in fs:
        f(x)
    net = torch.compile(Net())
    for _ in range(10):
        net(x)
by_grad(x)
by_grad(x.clone().requires_grad_())
with torch.autocast("cpu", dtype=torch.bfloat16):
    by_grad(x)
print("done")
