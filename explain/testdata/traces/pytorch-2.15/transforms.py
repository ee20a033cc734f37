"""torch.func transforms under compile."""
import torch
import torch.nn as nn
from torch.func import functional_call, grad, hessian, jacrev, vmap


def loss(w, x, y):
    return ((x @ w - y) ** 2).mean()


@torch.compile
def per_sample(w, xs, ys):
    return vmap(grad(loss), in_dims=(None, 0, 0))(w, xs, ys)


@torch.compile
def curvature(w):
    return hessian(lambda v: (v ** 3).sum())(w)


def noisy(w):
    print("in grad")                       # break inside grad
    return (w ** 2).sum()


@torch.compile
def through(w):
    a = w.sin()
    g = grad(noisy)(a)
    return g + 1


@torch.compile
def branchy(xs):
    def one(x):
        if x.sum() > 0:                    # data-dependent inside vmap
            return x * 2
        return x
    return vmap(one)(xs)


@torch.compile
def jac(x):
    return jacrev(torch.sin)(x)


@torch.compile
def ensemble(params, x):
    net = nn.Linear(4, 2)                  # made within: ?
    def call(p, x):
        return functional_call(net, p, (x,))
    return vmap(call, in_dims=(0, None))(params, x)


def main():
    torch.manual_seed(0)
    w = torch.randn(4)
    for n in (3, 3, 5, 7):                 # dynamic batch: 1 recompile
        per_sample(w, torch.randn(n, 6, 4), torch.randn(n, 6))
    curvature(w)
    through(w)
    try:
        branchy(torch.randn(3, 4))
    except Exception as e:
        print("branchy:", type(e).__name__)
    jac(w)
    ensemble({"weight": torch.randn(3, 2, 4), "bias": torch.randn(3, 2)}, torch.randn(5, 4))
    print("done")


main()
