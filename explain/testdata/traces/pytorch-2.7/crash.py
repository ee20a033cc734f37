import torch


def attempt(name, f, *a):
    torch._dynamo.reset()
    try:
        f(*a)
        print(name, "ok", flush=True)
    except Exception as e:
        print(name, "raised", type(e).__name__, str(e)[:150].replace("\n", " "), flush=True)


def bad_backend(gm, inputs):
    raise RuntimeError("this backend does not work")


def f(x):
    return (x + 1).sin()


def mismatch(x):
    return x @ torch.ones(7, 7)


def prints(x):
    print("no")
    return x + 1


def limited(x, k):
    return x + k


attempt("backend", torch.compile(f, backend=bad_backend), torch.ones(3))
attempt("mismatch", torch.compile(mismatch), torch.ones(3, 3))
attempt("fullgraph", torch.compile(prints, fullgraph=True), torch.ones(3))


@torch.library.custom_op("mine::odd", mutates_args=())
def odd(x: torch.Tensor) -> torch.Tensor:
    return x * 3


attempt("custom", torch.compile(lambda x: odd(x) + 1), torch.ones(3))


def limit():
    c = torch.compile(lambda x, k: x + len(k), fullgraph=True)
    for n in range(10):
        c(torch.ones(3), "a" * n)


attempt("limit", limit)


def raises(x):
    if x.shape[0] == 3:
        raise ValueError("three")
    return x


attempt("raises", torch.compile(raises), torch.ones(3))
attempt("raises full", torch.compile(raises, fullgraph=True), torch.ones(3))


class Odd(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        print("in forward")
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


attempt("function", torch.compile(lambda x: Odd.apply(x).sum()), torch.ones(3, requires_grad=True))


def gen(x):
    def g():
        yield x
        torch._dynamo.graph_break()
        yield x + 1
    return sum(g())


attempt("generator", torch.compile(gen), torch.ones(3))


def inductor_fails(x):
    return x.sin() + 1


from torch._inductor import config

with config.patch({"cpp.cxx": ("/no/such/compiler",), "fx_graph_cache": False}):
    attempt("compiler", torch.compile(inductor_fails), torch.randn(77))
