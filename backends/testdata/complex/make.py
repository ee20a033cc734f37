"""Writes answers.json: what PyTorch computes, differentiates and prints for complex numbers.

    python make.py > answers.json

What a case is: ../answers.py.
"""
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from answers import case, write

X = [[0.5, -0.25, 1.5, 2.0], [0.75, 0.125, -0.5, 1.25]]
W = [1.0, -2.0, 0.5, 0.25]


@case("arithmetic", """
	z := torch.Complex(x, w.Mul(x))
	y := z.Mul(w).Add(z).Sub(2).Div(z.Add(3))
	return y.Abs().Add(1)""")
def _(x, w):
    z = torch.complex(x, w * x)
    y = (z * w + z - 2) / (z + 3)
    return y.abs() + 1


@case("complex constants", """
	z := torch.Complex(x, w.Mul(x))
	y := z.Mul(1 + 2i).Add(3i).Mul(-1.5 - 0.5i)
	return torch.ViewAsReal(y)""")
def _(x, w):
    z = torch.complex(x, w * x)
    y = (z * (1 + 2j) + 3j) * (-1.5 - 0.5j)
    return torch.view_as_real(y)


@case("between kernels", """
	a := x.Sin().Mul(w).Add(1)
	z := torch.Polar(a, x.Mul(2))
	y := z.Mul(z)
	return y.Real().Mul(2).Add(y.Imag().Sin()).Mul(a)""")
def _(x, w):
    a = x.sin() * w + 1
    z = torch.polar(a, x * 2)
    y = z * z
    return (y.real * 2 + y.imag.sin()) * a


@case("rotary embedding", """
	z := torch.ViewAsComplex(x.Reshape(2, -1, 2))
	freqs := torch.Polar(torch.OnesLike(w), w).Reshape(2, 2)
	return torch.ViewAsReal(z.Mul(freqs)).Flatten(kw.StartDim(1))""")
def _(x, w):
    z = torch.view_as_complex(x.reshape([2, -1, 2]))
    freqs = torch.polar(torch.ones_like(w), w).reshape([2, 2])
    return torch.view_as_real(z * freqs).flatten(start_dim=1)


@case("product of matrices", """
	z := torch.Complex(x, x.Cos())
	v := torch.Complex(w, w.Mul(2)).Unsqueeze(1)
	return torch.ViewAsReal(z.Matmul(v))""")
def _(x, w):
    z = torch.complex(x, x.cos())
    v = torch.complex(w, w * 2).unsqueeze(1)
    return torch.view_as_real(z.matmul(v))


@case("conjugate and transpose", """
	z := torch.Complex(x, x.Cos()).Mul(w)
	y := z.Matmul(z.Transpose(0, 1).Conj())
	return y.Real().Add(y.Imag())""")
def _(x, w):
    z = torch.complex(x, x.cos()) * w
    y = z.matmul(z.transpose(0, 1).conj())
    return y.real + y.imag


@case("angle and functions", """
	z := torch.Complex(x, w.Add(x))
	return z.Exp().Angle().Add(z.Sin().Abs()).Mul(z.Sqrt().Real())""")
def _(x, w):
    z = torch.complex(x, w + x)
    return (z.exp().angle() + z.sin().abs()) * z.sqrt().real


@case("sums and means", """
	z := torch.Complex(x, w.Mul(x))
	return torch.ViewAsReal(z.Sum(kw.Dim(0)).Add(z.Mean()))""")
def _(x, w):
    z = torch.complex(x, w * x)
    return torch.view_as_real(z.sum(dim=[0]) + z.mean())


@case("pieces", """
	z := torch.Complex(x, w.Mul(x))
	y := torch.Cat([]*torch.Tensor{z.Narrow(1, 1, 2), z.Narrow(1, 0, 1)}, kw.Dim(1))
	return torch.ViewAsReal(torch.Stack([]*torch.Tensor{y, y.Flip(1)}).Permute(1, 0, 2).Clone()).Sum(kw.Dim(0))""")
def _(x, w):
    z = torch.complex(x, w * x)
    y = torch.cat([z.narrow(1, 1, 2), z.narrow(1, 0, 1)], dim=1)
    return torch.view_as_real(torch.stack([y, y.flip([1])]).permute([1, 0, 2]).clone()).sum(dim=[0])


@case("write to a complex tensor", """
	z := torch.Complex(x, w.Mul(x))
	y := z.Mul(2)
	y.Add_(z)
	y.Mul_(1i)
	return y.Abs()""")
def _(x, w):
    z = torch.complex(x, w * x)
    y = z * 2
    y.add_(z)
    y.mul_(1j)
    return y.abs()


@case("write through the real view", """
	y := torch.Complex(x, w.Mul(x)).Mul(2)
	r := torch.ViewAsReal(y)
	r.Add_(1)
	r.Select(2, 0).Mul_(w)
	return y.Abs().Add(r.Sum())""", grad=False)
def _(x, w):
    y = torch.complex(x, w * x) * 2
    r = torch.view_as_real(y)
    r.add_(1)
    r.select(2, 0).mul_(w)
    return y.abs() + r.sum()


@case("write through the complex view", """
	y := x.Mul(2).Reshape(2, 2, 2)
	z := torch.ViewAsComplex(y)
	z.Mul_(1 + 1i)
	z.Select(0, 1).Add_(3)
	return y.Mul(w.Reshape(2, 2))""", grad=False)
def _(x, w):
    y = (x * 2).reshape([2, 2, 2])
    z = torch.view_as_complex(y)
    z.mul_(1 + 1j)
    z.select(0, 1).add_(3)
    return y * w.reshape([2, 2])


@case("comparison and choice", """
	z := torch.Complex(x, w.Mul(x))
	m := z.Abs().Gt(1)
	return torch.ViewAsReal(torch.Where(m, z, z.Mul(2)))""")
def _(x, w):
    z = torch.complex(x, w * x)
    m = z.abs() > 1
    return torch.view_as_real(torch.where(m, z, z * 2))


@case("windows of a signal by a matrix of waves", """
	s := x.Flatten().Unfold(0, 4, 2).Mul(w)
	k := torch.Arange(4).To(torch.Float32)
	waves := torch.Polar(torch.Ones(4, 4), torch.Outer(k, k).Mul(-1.5707963))
	f := s.To(torch.Complex64).Matmul(waves)
	return f.Abs().Pow(2).Add(1e-3).Log()""")
def _(x, w):
    s = x.flatten().unfold(0, 4, 2) * w
    k = torch.arange(4).to(torch.float32)
    waves = torch.polar(torch.ones([4, 4]), torch.outer(k, k) * -1.5707963)
    f = s.to(torch.complex64).matmul(waves)
    return (f.abs() ** 2 + 1e-3).log()


write(X, W)
