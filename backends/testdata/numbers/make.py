"""Writes answers.json: what PyTorch computes, differentiates and prints for numbers that come out of data.

    python make.py > answers.json

What a case is: ../answers.py.
"""
import math
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from answers import case, write

torch._dynamo.config.capture_scalar_outputs = True
torch._dynamo.config.capture_dynamic_output_shape_ops = True
X = [[0.5, -0.25, 1.5], [0.75, 0.125, -0.5]]
W = [1.0, -2.0, 0.5]


@case("a number scales", """
	s := x.Max().Item()
	return x.Mul(s).Mul(w)""")
def _(x, w):
    s = x.max().item()
    return x * s * w


@case("arithmetic on numbers", """
	s := x.Max().Item()
	y := x.Mul(s*2.0 + 1.0).Div(math.Sqrt(s*s + 2.0))
	return y.Add(w.Sum().Item())""")
def _(x, w):
    s = x.max().item()
    y = x * (s * 2.0 + 1.0) / math.sqrt(s * s + 2.0)
    return y + w.sum().item()


@case("two numbers", """
	s := x.Sum().Item()
	t := x.Max().Item()
	return x.Mul(s - t).Add(s / t).Mul(w)""")
def _(x, w):
    s = x.sum().item()
    t = x.max().item()
    return (x * (s - t) + s / t) * w


@case("extremes and signs", """
	s := x.Sum().Item()
	t := x.Max().Item()
	return x.Mul(max(s, t)).Add(min(s, 2.5)).Sub(math.Abs(s)).Mul(-t)""")
def _(x, w):
    s = x.sum().item()
    t = x.max().item()
    return (x * max(s, t) + min(s, 2.5) - abs(s)) * -t


@case("functions", """
	s := x.Sum().Item()
	return x.Mul(math.Sin(s)).Add(math.Cos(s)).Sub(math.Tanh(s)).Mul(math.Atan(s)).Add(math.Sinh(s) + math.Cosh(s))""")
def _(x, w):
    s = x.sum().item()
    return (x * math.sin(s) + math.cos(s) - math.tanh(s)) * math.atan(s) + (math.sinh(s) + math.cosh(s))


@case("from a number on the left", """
	s := x.Sum().Item()
	return torch.Sub(2.0-s, x).Add(torch.Div(2.0/s, w)).Add(torch.Mul(s, x))""")
def _(x, w):
    s = x.sum().item()
    return ((2.0 - s) - x) + (2.0 / s) / w + s * x


@case("operators that need the number", """
	s := x.Sum().Item()
	y := torch.Full([]int{3}, s)
	return y.Add(x.Clamp(kw.Max(s))).Add(torch.Add(x, w, kw.Alpha(s))).Add(x.Abs().Add(1).Pow(s))""")
def _(x, w):
    s = x.sum().item()
    y = torch.full([3], s)
    return y + x.clamp(max=s) + torch.add(x, w, alpha=s) + (x.abs() + 1) ** s


@case("comparisons with a number", """
	s := x.Mean().Item()
	return torch.Where(x.Gt(s), x.Mul(w), x.Sub(s))""")
def _(x, w):
    s = x.mean().item()
    return torch.where(x > s, x * w, x - s)


@case("integers and half precision", """
	s := x.Sum().Item()
	return x.Mul(4).To(torch.Int64).Mul(s).Add(x.To(torch.Bfloat16).Mul(s).To(torch.Float32))""")
def _(x, w):
    s = x.sum().item()
    return (x * 4).to(torch.int64) * s + (x.to(torch.bfloat16) * s).to(torch.float32)


@case("a whole number as one with a fraction", """
	n := x.Gt(0.2).Sum().ItemInt()
	return x.Mul(float64(n)).Mul(w)""")
def _(x, w):
    n = (x > 0.2).sum().item()
    return x * float(n) * w


@case("a size and a number", """
	n := x.Gt(0.2).Sum().ItemInt()
	torch.Check(n >= 0)
	s := x.Max().Item()
	return torch.Ones(n+1, 3).Mul(s).Mul(w).Sum(kw.Dim(0))""")
def _(x, w):
    n = (x > 0.2).sum().item()
    torch._check(n >= 0)
    s = x.max().item()
    return (torch.ones([n + 1, 3]) * s * w).sum(dim=[0])


@case("a size of what is made", """
	n := x.Gt(0.2).Sum().ItemInt()
	torch.Check(n >= 0)
	return torch.Ones(n+2, 3).Mul(w).Mul(n).Sum(kw.Dim(0))""")
def _(x, w):
    n = (x > 0.2).sum().item()
    torch._check(n >= 0)
    return (torch.ones([n + 2, 3]) * w * n).sum(dim=[0])


@case("what a mask selects", """
	y := x.MaskedSelect(x.Gt(0.2)).Exp()
	return w.Mul(y.Sum()).Mul(y.Size(0))""")
def _(x, w):
    y = x.masked_select(x > 0.2).exp()
    return w * y.sum() * y.size(0)


@case("places", """
	i := torch.Nonzero(x.Gt(0.2))
	return w.Mul(i.Sum()).Add(i.Size(0))""")
def _(x, w):
    i = torch.nonzero(x > 0.2)
    return w * i.sum() + i.size(0)


@case("places by row and column", """
	i := torch.Nonzero(x.Gt(-1))
	return w.Mul(i.Mul(torch.NewTensor([]int{1, 10})).Sum(kw.Dim(1)).Cumsum(0).Sum()).Add(i.Select(1, 1).Amax())""")
def _(x, w):
    i = torch.nonzero(x > -1)
    return w * (i * torch.tensor([1, 10])).sum(dim=[1]).cumsum(0).sum() + i.select(1, 1).amax()


@case("what is checked of a number", """
	s := x.Abs().Sum().Item()
	torch.Check(s > 0.0)
	y := x.Mul(2)
	if s > 0.0 {
		y = y.Mul(s)
	}
	return y.Add(w)""")
def _(x, w):
    s = x.abs().sum().item()
    torch._check(s > 0.0)
    y = x * 2
    if s > 0.0:
        y = y * s
    return y + w


@case("places by argwhere", """
	i := torch.Argwhere(x.Gt(-1)).Mul(2)
	return w.Mul(i.Select(1, 0).Cumsum(0).Sum()).Add(i.Select(1, 1).Amax())""")
def _(x, w):
    i = torch.argwhere(x > -1) * 2
    return w * i.select(1, 0).cumsum(0).sum() + i.select(1, 1).amax()


# Of some of these PyTorch's AOTAutograd has no gradients.
write(X, W, lambda gm, example: gm.forward)
