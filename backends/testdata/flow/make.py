"""Writes answers.json: what PyTorch computes, differentiates and prints for control flow.

    python make.py > answers.json

What a case is: ../answers.py.
"""
import pathlib
import sys

import torch
from torch._higher_order_ops import associative_scan, scan, switch
from torch._higher_order_ops.map import map as torch_map
from torch._higher_order_ops.while_loop import while_loop

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from answers import case, write

X = [[0.5, -0.25, 1.5], [0.75, 0.125, -0.5]]
W = [1.0, -2.0, 0.5]


def cond(p, yes, no, *operands):
    return torch.cond(p, yes, no, operands)


def associated_scan(f, xs, dim, reverse=False):
    """Is one operator where it is compiled. Its gradient is that of a loop for one tensor
    only, so that values and gradients are those of the form that is made of others."""
    mode = "pointwise" if torch.compiler.is_compiling() else "generic"
    return associative_scan(f, xs, dim, reverse=reverse, combine_mode=mode)


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

BODY = "func(a ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{%s} }"
COMBINE = """func(c, a []*torch.Tensor) (next, y []*torch.Tensor) {
			return []*torch.Tensor{%s}, []*torch.Tensor{%s}
		}"""


def list_of(*xs):
    return "[]*torch.Tensor{" + ", ".join(xs) + "}"


def mapped(body, xs, *args):
    return "compiler.Map(%s, %s%s)" % (BODY % body, list_of(*xs), "".join(", " + a for a in args))


def scanned(next, y, init, xs, *opts):
    return "compiler.Scan(%s,\n\t\t%s, %s%s)" % (COMBINE % (next, y), list_of(*init), list_of(*xs), "".join(", " + o for o in opts))


def associated(body, xs, *opts):
    return "compiler.AssociativeScan(func(a, b []*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{%s} }, %s%s)" % (
        body, list_of(*xs), "".join(", " + o for o in opts))


def branches(*bodies):
    return "[]func(...*torch.Tensor) *torch.Tensor{\n" + "".join(
        "\t\tfunc(a ...*torch.Tensor) *torch.Tensor { return %s },\n" % b for b in bodies) + "\t}"


@case("a map", "return " + mapped("a[0].Mul(w).Sin()", ["x"]) + "[0].Add(1)")
def _(x, w):
    return torch_map(lambda a: (a * w).sin(), x) + 1


@case("a map with an argument of each call", "y := x.Mul(2)\nreturn " + mapped("a[0].Mul(a[1]).Sin()", ["y"], "w") + "[0]")
def _(x, w):
    y = x * 2
    return torch_map(lambda a, b: (a * b).sin(), y, w)


@case("a map of two tensors to two", "y := x.Exp()\nr := " + mapped("a[0].Mul(w), a[1].Sum().Add(a[0])", ["x", "y"]) + "\nreturn r[0].Sub(r[1])")
def _(x, w):
    y = x.exp()
    r = torch_map(lambda a: (a[0] * w, a[1].sum() + a[0]), (x, y))
    return r[0] - r[1]


@case("a map with a product and a reduction", "y := x.T()\nreturn " + mapped("a[0].Outer(w).Softmax(1).Sum(kw.Dim(0)).Mul(a[0].Mean())", ["y"]) + "[0]")
def _(x, w):
    y = x.t()
    return torch_map(lambda a: a.outer(w).softmax(1).sum(dim=[0]) * a.mean(), y)


@case("a map with an argument that nobody reads", "return " + mapped("a[0].Cos()", ["x"], "w") + "[0]")
def _(x, w):
    return torch_map(lambda a, b: a.cos(), x, w)


@case("a scan", "i := w.Mul(2)\n_, y := " + scanned("c[0].Mul(a[0]).Add(w)", "c[0].Sin()", ["i"], ["x"]) + "\nreturn y[0]")
def _(x, w):
    i = w * 2
    _, y = scan(lambda c, a: (c * a + w, c.sin()), i, x)
    return y


@case("a scan whose last carry is read", "i := w.Mul(2)\nc, y := " + scanned("c[0].Mul(a[0]).Add(w)", "c[0].Add(a[0])", ["i"], ["x"]) + "\nreturn y[0].Add(c[0])")
def _(x, w):
    i = w * 2
    c, y = scan(lambda c, a: (c * a + w, c + a), i, x)
    return y + c


@case("a scan of columns from the last", "i := x.Sum(kw.Dim(1))\nc, y := " + scanned("c[0].Mul(a[0]).Add(1)", "c[0].Sin()", ["i"], ["x"], "kw.Dim(1)", "kw.Reverse(true)") + "\nreturn y[0].Add(c[0].Mean()).Mul(w)")
def _(x, w):
    i = x.sum(dim=[1])
    c, y = scan(lambda c, a: (c * a + 1, c.sin()), i, x, dim=1, reverse=True)
    return (y + c.mean()) * w


@case("a scan that carries two tensors", "i := w.Mul(2)\nj := x.Mean()\nr, y := " + scanned("c[0].Mul(a[0]), c[1].Add(a[0].Sum())", "c[0].Mul(c[1]), a[0].Exp()", ["i", "j"], ["x"]) + "\nreturn y[0].Add(y[1]).Mul(r[1])")
def _(x, w):
    i = w * 2
    j = x.mean()
    r, y = scan(lambda c, a: ((c[0] * a, c[1] + a.sum()), (c[0] * c[1], a.exp())), (i, j), x)
    return (y[0] + y[1]) * r[1]


@case("a recurrent layer", "h := torch.ZerosLike(w)\n_, y := " + scanned("c[0].Mul(w).Add(a[0]).Tanh()", "c[0].Mul(w).Add(a[0]).Tanh().Mul(2)", ["h"], ["x"]) + "\nreturn y[0]")
def _(x, w):
    h = torch.zeros_like(w)
    _, y = scan(lambda c, a: ((c * w + a).tanh(), (c * w + a).tanh() * 2), h, x)
    return y


@case("a choice in a scan", "i := w.Mul(2)\n_, y := compiler.Scan(func(c, a []*torch.Tensor) (next, y []*torch.Tensor) {\n\t\tz := compiler.Cond(a[0].Sum().Gt(0.5),\n\t\t\tfunc(b ...*torch.Tensor) *torch.Tensor { return b[0].Mul(b[1]) },\n\t\t\tfunc(b ...*torch.Tensor) *torch.Tensor { return b[0].Sub(b[1]) }, c[0], a[0])\n\t\treturn []*torch.Tensor{z}, []*torch.Tensor{c[0].Cos()}\n\t}, []*torch.Tensor{i}, []*torch.Tensor{x})\nreturn y[0]")
def _(x, w):
    i = w * 2

    def combine(c, a):
        z = cond(a.sum() > 0.5, lambda b, d: b * d, lambda b, d: b - d, c, a)
        return z, c.cos()
    _, y = scan(combine, i, x)
    return y


@case("an associative scan", "y := x.Mul(w)\nreturn " + associated("a[0].Mul(b[0])", ["y"]) + "[0]")
def _(x, w):
    y = x * w
    return associated_scan(lambda a, b: a * b, y, 0)


@case("an associative scan of columns from the last", "y := x.Sub(w)\nreturn " + associated("a[0].Mul(b[0])", ["y"], "kw.Dim(1)", "kw.Reverse(true)") + "[0]")
def _(x, w):
    y = x - w
    return associated_scan(lambda a, b: a * b, y, 1, reverse=True)


@case("an associative scan of a recurrence", "g := x.Sigmoid()\ny := x.Mul(w)\nr := " + associated("a[0].Mul(b[0]), b[0].Mul(a[1]).Add(b[1])", ["g", "y"], "kw.Dim(1)") + "\nreturn r[0].Add(r[1])")
def _(x, w):
    g = x.sigmoid()
    y = x * w
    r = associated_scan(lambda a, b: (a[0] * b[0], b[0] * a[1] + b[1]), (g, y), 1)
    return r[0] + r[1]


@case("one of three branches", "n := x.Gt(0.6).Sum()\nreturn compiler.Switch(n, " + branches("a[0].Mul(w)", "a[0].Sin()", "a[0].Sub(w).Exp()") + ", x)")
def _(x, w):
    n = (x > 0.6).sum()
    return switch(n, [lambda a: a * w, lambda a: a.sin(), lambda a: (a - w).exp()], (x,))


@case("a number past the last branch, and one below the first", "n := x.Mul(20).Sum().To(torch.Int64)\nreturn compiler.Switch(n, " + branches("a[0].Exp()", "a[0].Sin()", "a[0].Mul(a[1])") + ", x, w).Add(1)")
def _(x, w):
    n = (x * 20).sum().to(torch.int64)
    return switch(n, [lambda a, b: a.exp(), lambda a, b: a.sin(), lambda a, b: a * b], (x, w)) + 1


write(X, W, eagerly=lambda name: "associative" in name)
