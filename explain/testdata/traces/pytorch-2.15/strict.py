import torch
import torch._dynamo as d


def helper(x):
    print("in helper")
    return x * 2


@torch.compile
def a(x):
    with d.error_on_graph_break(True):
        y = x + 1
        y = helper(y)
    return y


@torch.compile
def b(x):
    y = helper(x + 1)
    with d.error_on_graph_break(False):
        y = helper(y)
    return y.relu()


@torch.compile
def deep(x):
    x = x + 1
    x = mid(x)
    return x * 3


def mid(x):
    x = x.sin()
    x = leaf(x)
    return x.cos()


def leaf(x):
    x = x - 1
    if x.sum() > 0:
        x = x * 2
    return x.exp()


@torch.compile(fullgraph=True)
def full(x):
    return helper(x)


@torch._dynamo.config.patch(error_on_recompile=True)
def rec():
    f = torch.compile(lambda x: x + 1, dynamic=False)
    f(torch.randn(2))
    f(torch.randn(3))


def run(f, *args):
    try:
        f(*args)
    except Exception as e:
        print(type(e).__name__, str(e).splitlines()[0])


x = torch.randn(4)
run(a, x)
run(b, x)
with d.config.patch(nested_graph_breaks=True):
    run(deep, x)
    run(deep, -x.abs() * 9)
d.reset()
run(deep, x)
run(full, x)
run(rec)
for s in ("eager_on_recompile", "fail_on_recompile"):
    with torch.compiler.set_stance(s):
        run(deep, torch.randn(9))
