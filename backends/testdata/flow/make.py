"""Writes answers.json: what PyTorch computes, differentiates and prints for control flow.

    python make.py > answers.json

Each case is a function of x and w, in Python and in Go. It runs on x and on -x.
"""
import json
import sys
import warnings

import torch
from torch._higher_order_ops.while_loop import while_loop

warnings.filterwarnings("ignore")
X = [[0.5, -0.25, 1.5], [0.75, 0.125, -0.5]]
W = [1.0, -2.0, 0.5]


def cond(p, yes, no, *operands):
    return torch.cond(p, yes, no, operands)


CASES = []


def case(name, go, grad=True):
    def add(f):
        CASES.append((name, f, go, grad))
    return add


@case("captured weight", """
	y := x.Mul(2)
	z := compiler.Cond(y.Sum().Gt(0),
		func(a ...*torch.Tensor) *torch.Tensor { return a[0].Mul(w).Sin() },
		func(a ...*torch.Tensor) *torch.Tensor { return a[0].Cos().Add(1) }, y)
	return z.Add(1)""")
def _(x, w):
    y = x * 2
    z = cond(y.sum() > 0, lambda a: (a * w).sin(), lambda a: a.cos() + 1, y)
    return z + 1


@case("each branch captures its own", """
	u := x.Exp()
	return compiler.Cond(x.Mean().Lt(0.1),
		func(a ...*torch.Tensor) *torch.Tensor { return u.Mul(a[0]) },
		func(a ...*torch.Tensor) *torch.Tensor { return a[0].Sub(w) }, x)""")
def _(x, w):
    u = x.exp()
    return cond(x.mean() < 0.1, lambda a: u * a, lambda a: a - w, x)


@case("without operands", """
	return compiler.Cond(x.Sum().Gt(0),
		func(...*torch.Tensor) *torch.Tensor { return x.Tanh() },
		func(...*torch.Tensor) *torch.Tensor { return w.Mul(x) })""")
def _(x, w):
    return cond(x.sum() > 0, lambda: x.tanh(), lambda: w * x)


@case("a branch in a branch", """
	return compiler.Cond(x.Sum().Gt(0),
		func(a ...*torch.Tensor) *torch.Tensor {
			return compiler.Cond(a[0].Mean().Gt(1),
				func(b ...*torch.Tensor) *torch.Tensor { return b[0].Mul(w) },
				func(b ...*torch.Tensor) *torch.Tensor { return b[0].Sin() }, a[0])
		},
		func(a ...*torch.Tensor) *torch.Tensor { return a[0].Sigmoid() }, x)""")
def _(x, w):
    return cond(x.sum() > 0,
                lambda a: cond(a.mean() > 1, lambda b: b * w, lambda b: b.sin(), a),
                lambda a: a.sigmoid(), x)


@case("two choices in a row", """
	p := x.Sum().Gt(0)
	y := compiler.Cond(p, func(a ...*torch.Tensor) *torch.Tensor { return a[0].Mul(a[1]) },
		func(a ...*torch.Tensor) *torch.Tensor { return a[0].Add(a[1]) }, x, w)
	return compiler.Cond(p.LogicalNot(), func(a ...*torch.Tensor) *torch.Tensor { return a[0].Relu() },
		func(a ...*torch.Tensor) *torch.Tensor { return a[0].Exp() }, y)""")
def _(x, w):
    p = x.sum() > 0
    y = cond(p, lambda a, b: a * b, lambda a, b: a + b, x, w)
    return cond(p.logical_not(), lambda a: a.relu(), lambda a: a.exp(), y)


@case("a product and a reduction", """
	return compiler.Cond(x.Sum().Gt(0),
		func(a ...*torch.Tensor) *torch.Tensor { return a[0].Matmul(a[0].T()).Sum(kw.Dim(1)) },
		func(a ...*torch.Tensor) *torch.Tensor { return a[0].Mul(w).Amax(kw.Dim(1)) }, x)""")
def _(x, w):
    return cond(x.sum() > 0, lambda a: a.matmul(a.t()).sum(dim=[1]), lambda a: (a * w).amax(dim=[1]), x)


@case("softmax and views", """
	return compiler.Cond(x.Select(0, 0).Sum().Gt(0.5),
		func(a ...*torch.Tensor) *torch.Tensor { return a[0].Softmax(1).T().Clone() },
		func(a ...*torch.Tensor) *torch.Tensor { return a[0].T().Mul(2).Clone() }, x)""")
def _(x, w):
    return cond(x.select(0, 0).sum() > 0.5, lambda a: a.softmax(1).t().clone(), lambda a: (a.t() * 2).clone(), x)


@case("one branch without gradient", """
	return compiler.Cond(x.Sum().Gt(0),
		func(a ...*torch.Tensor) *torch.Tensor { return a[0].Mul(a[0]) },
		func(a ...*torch.Tensor) *torch.Tensor { return torch.ZerosLike(a[0]) }, x).Add(x)""")
def _(x, w):
    return cond(x.sum() > 0, lambda a: a * a, lambda a: torch.zeros_like(a), x) + x


@case("write to what a branch made", """
	return compiler.Cond(x.Sum().Gt(0),
		func(a ...*torch.Tensor) *torch.Tensor { y := a[0].Mul(2); y.Add_(w); return y.Sin() },
		func(a ...*torch.Tensor) *torch.Tensor { return a[0].Neg() }, x)""")
def _(x, w):
    def yes(a):
        y = a * 2
        y.add_(w)
        return y.sin()
    return cond(x.sum() > 0, yes, lambda a: a.neg(), x)


@case("a predicate of one element and a piece of a tensor", """
	p := x.Narrow(1, 0, 1).Sum(kw.Dim(0)).Gt(0)
	s := x.Narrow(1, 1, 2)
	return compiler.Cond(p, func(a ...*torch.Tensor) *torch.Tensor { return a[0].Exp() },
		func(a ...*torch.Tensor) *torch.Tensor { return a[0].Mul(3) }, s)""")
def _(x, w):
    p = x.narrow(1, 0, 1).sum(dim=[0]) > 0
    s = x.narrow(1, 1, 2)
    return cond(p, lambda a: a.exp(), lambda a: a * 3, s)


@case("rounds that are counted", """
	r := compiler.WhileLoop(
		func(c ...*torch.Tensor) *torch.Tensor { return c[0].Lt(5) },
		func(c ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{c[0].Add(1), c[1].Mul(1.5)} },
		torch.NewTensor(0), x)
	return r[1].Sub(r[0])""", grad=False)
def _(x, w):
    r = while_loop(lambda i, a: i < 5, lambda i, a: (i + 1, a * 1.5), (torch.tensor(0), x))
    return r[1] - r[0]


@case("rounds until the data says so", """
	r := compiler.WhileLoop(
		func(c ...*torch.Tensor) *torch.Tensor { return c[0].Abs().Sum().Lt(9) },
		func(c ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{c[0].Mul(1.25).Add(w)} }, x)
	return r[0].Cos()""", grad=False)
def _(x, w):
    r = while_loop(lambda a: a.abs().sum() < 9, lambda a: (a * 1.25 + w,), (x,))
    return r[0].cos()


@case("no round", """
	r := compiler.WhileLoop(
		func(c ...*torch.Tensor) *torch.Tensor { return c[0].Sum().Gt(100) },
		func(c ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{c[0].Mul(2)} }, x)
	return r[0].Add(w)""", grad=False)
def _(x, w):
    r = while_loop(lambda a: a.sum() > 100, lambda a: (a * 2,), (x,))
    return r[0] + w


@case("a choice in a loop", """
	r := compiler.WhileLoop(
		func(c ...*torch.Tensor) *torch.Tensor { return c[0].Lt(4) },
		func(c ...*torch.Tensor) []*torch.Tensor {
			y := compiler.Cond(c[1].Sum().Gt(1),
				func(a ...*torch.Tensor) *torch.Tensor { return a[0].Mul(0.5) },
				func(a ...*torch.Tensor) *torch.Tensor { return a[0].Add(w) }, c[1])
			return []*torch.Tensor{c[0].Add(1), y}
		},
		torch.NewTensor(0), x)
	return r[1]""", grad=False)
def _(x, w):
    def body(i, a):
        return i + 1, cond(a.sum() > 1, lambda b: b * 0.5, lambda b: b + w, a)
    return while_loop(lambda i, a: i < 4, body, (torch.tensor(0), x))[1]


def answer(name, f, go, grad):
    graphs = []

    def backend(gm, example):
        graphs.append(gm.print_readable(print_output=False, include_stride=True, include_device=True))
        from torch._dynamo.backends.debugging import aot_eager
        return aot_eager(gm, example)

    torch._dynamo.reset()
    fast = torch.compile(f, backend=backend, fullgraph=True, dynamic=False)
    runs = []
    for sign in (1.0, -1.0):
        x = (torch.tensor(X) * sign).requires_grad_(grad)
        w = torch.tensor(W).requires_grad_(grad)
        y = fast(x, w)
        run = {"value": y.detach().flatten().tolist()}
        if grad:
            (y * torch.arange(1.0, y.numel() + 1).reshape(y.shape)).sum().backward()
            for k, t in (("x", x), ("w", w)):
                g = t.grad if t.grad is not None else torch.zeros_like(t)
                run[k] = g.flatten().tolist()
        runs.append(run)
    return {"name": name, "go": go.strip("\n"), "grad": grad, "runs": runs, "graph": [s for s in graphs[0].split("\n") if "# File" not in s]}


out = {"pytorch": torch.__version__, "x": X, "w": W, "cases": [answer(*c) for c in CASES]}
json.dump(out, sys.stdout, indent=1)
print()
