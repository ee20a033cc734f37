import torch


@torch.compile(dynamic=True)
def f(x, n):
    if x.size(0) > 16:
        return x.sum(0) * n
    return x.mean(0) + n


@torch.compile
def unb(x):
    if x.size(0) == 4:
        return x * 2
    return x + 1


@torch.compile
def dyn(x, y):
    return x @ y


@torch.compile(dynamic=False)
def static(x):
    return x.cos() + 1


@torch.compile
def nz(x):
    i = x.nonzero()
    return i.float().sum()


@torch.compile(dynamic=True)
def r(x):
    return x.reshape(-1, 4).sum(1)


for s in (3, 8, 20, 40):
    f(torch.randn(s, 4), s)
x = torch.randn(8, 4)
torch._dynamo.decorators.mark_unbacked(x, 0)
try:
    unb(x)
except Exception as e:
    print(type(e).__name__, str(e)[:300])
a, b = torch.randn(4, 8), torch.randn(8, 3)
torch._dynamo.mark_dynamic(a, 0)
dyn(a, b)
a = torch.randn(5, 8)
torch._dynamo.mark_dynamic(a, 0)
dyn(a, b)
a = torch.randn(5, 8)
torch._dynamo.mark_dynamic(a, 1)
try:
    dyn(a, b)
except Exception as e:
    print(type(e).__name__, str(e)[:300])
for s in (2, 3, 4, 5):
    static(torch.randn(s))
nz(torch.tensor([1., 0., 2.]))
with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
    torch._dynamo.reset()
    nz(torch.tensor([1., 0., 2.]))
for s in (4, 8, 12):
    r(torch.randn(s))
