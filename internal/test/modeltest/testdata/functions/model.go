// functions compiles functions and modules of torch/nn, each into one graph, and
// compares outputs and gradients with the eager ones. It prints what differs.
package main

import (
	"fmt"

	"tcdbg/torch"
	"tcdbg/torch/compiler"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
	F "tcdbg/torch/nn/functional"
)

// function is a function of one tensor of numbers.
type function func(x *torch.Tensor) *torch.Tensor

// overInput are functions that write over what stands before them.
var overInput = map[string]function{
	"silu":        func(x *torch.Tensor) *torch.Tensor { return F.Silu(x, kw.Inplace(true)) },
	"mish":        func(x *torch.Tensor) *torch.Tensor { return F.Mish(x, kw.Inplace(true)) },
	"hardswish":   func(x *torch.Tensor) *torch.Tensor { return F.Hardswish(x, kw.Inplace(true)) },
	"hardsigmoid": func(x *torch.Tensor) *torch.Tensor { return F.Hardsigmoid(x, kw.Inplace(true)) },
	"hardtanh":    func(x *torch.Tensor) *torch.Tensor { return F.Hardtanh(x, kw.MinVal(-0.5), kw.Inplace(true)) },
	"relu6":       func(x *torch.Tensor) *torch.Tensor { return F.Relu6(x, kw.Inplace(true)) },
	"elu_":        func(x *torch.Tensor) *torch.Tensor { return F.Elu_(x, kw.Alpha(2)) },
	"selu_":       func(x *torch.Tensor) *torch.Tensor { return F.Selu_(x) },
	"celu":        func(x *torch.Tensor) *torch.Tensor { return F.Celu(x, kw.Inplace(true)) },
	"leaky_relu_": func(x *torch.Tensor) *torch.Tensor { return F.LeakyRelu_(x) },
	"rrelu_":      func(x *torch.Tensor) *torch.Tensor { return F.Rrelu_(x) },
	"threshold_":  func(x *torch.Tensor) *torch.Tensor { return F.Threshold_(x, 0.25, -1) },
	"dropout":     func(x *torch.Tensor) *torch.Tensor { return F.Dropout(x, kw.Inplace(true)) },
	"dropout1d":   func(x *torch.Tensor) *torch.Tensor { return F.Dropout1d(x, kw.Inplace(true)) },
}

// modules are modules over [3, 4, 5].
var modules = map[string]nn.Module{
	"weight_norm":   nn.WeightNorm(nn.NewLinear(5, 4)),
	"spectral_norm": settled(nn.SpectralNorm(nn.NewConv1d(4, 3, 2))),
	"rule":          nn.RegisterParametrization(nn.NewLinear(5, 4), "weight", nn.NewTanh()),
	"dropout":       nn.NewSequential(nn.NewLinear(5, 4), nn.NewDropout(0.5, kw.Inplace(true)), nn.NewELU(kw.Alpha(0.5), kw.Inplace(true))),
}

// settled calls a module until its buffers stay as they are.
func settled(m nn.Module) nn.Module {
	torch.NoGrad(func() {
		for range 200 {
			m.Forward(torch.Zeros(3, 4, 5))
		}
	})
	return m
}

// functions are functions of [3, 4, 5].
var functions = map[string]function{
	"gumbel_softmax":      func(x *torch.Tensor) *torch.Tensor { return F.GumbelSoftmax(x, kw.Tau(0.5)) },
	"gumbel_softmax_hard": func(x *torch.Tensor) *torch.Tensor { return F.GumbelSoftmax(x, kw.Hard(true)).Mul(x) },
	"affine_grid": func(x *torch.Tensor) *torch.Tensor {
		return F.AffineGrid(x.Narrow(1, 0, 2).Narrow(2, 0, 3), []int{3, 1, 4, 2})
	},
	"conv_tbc": func(x *torch.Tensor) *torch.Tensor {
		return F.ConvTbc(x, x.Transpose(1, 2), x.Select(0, 0).Select(1, 0), 1)
	},
	"embedding_max_norm": func(x *torch.Tensor) *torch.Tensor {
		return F.Embedding(torch.Arange(6).Remainder(2), x.Mul(1).Select(1, 1), kw.MaxNorm(2))
	},
}

// cases are the functions to be compiled.
func cases() map[string]function {
	out := map[string]function{}
	for name, m := range modules {
		out["module "+name] = m.Forward
	}
	for name, f := range functions {
		out[name] = f
	}
	for name, f := range overInput {
		// What was written over is read again, as y and as x.
		out[name] = func(x *torch.Tensor) *torch.Tensor {
			x = x.Mul(1)
			y := f(x)
			return y.Add(x.Mul(3))
		}
	}
	return out
}

// run is the output of f and the gradient of its weighted sum.
func run(f function) (y, grad *torch.Tensor) {
	torch.ManualSeed(1)
	x := torch.Linspace(-4, 4, 60).Reshape(3, 4, 5).RequiresGrad_()
	y = f(x)
	y.Mul(torch.Arange(y.Numel()).Reshape(y.Shape()...)).Sum().Backward()
	return y, x.Grad()
}

func main() {
	for name, f := range cases() {
		y, g := run(f)
		compiler.Reset() // closures of one literal share its cache, and so its limit
		fy, fg := run(torch.Compile(f, kw.Fullgraph(true)))
		if !torch.Allclose(fy, y, kw.Rtol(1e-5), kw.Atol(1e-6)).Bool() || !torch.Allclose(fg, g, kw.Rtol(1e-5), kw.Atol(1e-5)).Bool() {
			fmt.Println(name, "differs:", fy, y, fg, g)
		}
	}
	fmt.Println("compared", len(cases()))
}
