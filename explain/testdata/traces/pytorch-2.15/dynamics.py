"""dynamic=True, False and None side by side, marks, nested compile, disable."""
import torch


def body(x, k):
    return (x * k).relu().sum(0)


inner = torch.compile(lambda x: x.sin() + 1)


@torch.compile
def outer(x):
    y = inner(x)                           # nested compile: inlined
    return y * 2


@torch.compiler.disable(reason="needs the real sizes")
def host(x):
    return x.tolist()


@torch.compile
def mixed(x):
    y = x.cos()
    host(y)                                # break: disabled
    return y + 1


@torch.compile
def fixed(x):
    return x.reshape(4, -1) + torch.zeros(x.shape[0] * 2)[:1]


@torch.compile
def special(x):
    if x.shape[0] == 6:                    # branch on a size
        return x * 2
    return x + 1


@torch.compile
def ints(x, n):
    return x + n


@torch.compile
def floats(x, s):
    return x * s


@torch.compile
def texts(x, mode):
    return x.sin() if mode == "sin" else x.cos()


def main():
    torch.manual_seed(0)
    stat = torch.compile(body, dynamic=False)
    dyn = torch.compile(body, dynamic=True)
    auto = torch.compile(body)
    for n in (4, 5, 6):
        x = torch.randn(n, 3)
        stat(x, 2)                         # 3 compiles
        dyn(x, 2)                          # 1 compile
        auto(x, 2)                         # 2 compiles
    outer(torch.randn(4))
    mixed(torch.randn(4))
    x = torch.randn(8, 3)
    torch._dynamo.mark_dynamic(x, 0)
    try:
        fixed(x)                           # 8 -> must divide 4
    except Exception as e:
        print("fixed", type(e).__name__)
    for n in (4, 5, 6, 7):
        special(torch.randn(n))
    for n in (1, 2, 3):
        ints(torch.randn(4), n)
    for s in (0.5, 0.25, 0.125):
        floats(torch.randn(4), s)
    for m in ("sin", "cos", "sin"):
        texts(torch.randn(4), m)
    for n in (0, 1, 2, 3):
        ints(torch.randn(n), 5)
    print("done")


main()
