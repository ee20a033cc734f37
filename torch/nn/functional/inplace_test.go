package functional_test

import (
	"slices"
	"strings"
	"testing"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	F "tcdbg/torch/nn/functional"
)

// function is a function of nn.functional with its arguments after the input.
type function func(x *torch.Tensor, opts ...torch.Option) *torch.Tensor

// overInput are the functions that kw.Inplace is an option of.
var overInput = map[string]function{
	"silu": F.Silu, "mish": F.Mish, "hardswish": F.Hardswish, "hardsigmoid": F.Hardsigmoid, "hardtanh": F.Hardtanh, "relu6": F.Relu6,
	"elu": F.Elu, "selu": F.Selu, "celu": F.Celu, "leaky_relu": F.LeakyRelu, "rrelu": F.Rrelu, "dropout": F.Dropout,
	"elu_alpha": with(F.Elu, kw.Alpha(2)), "hardtanh_range": with(F.Hardtanh, kw.MinVal(-0.5), kw.MaxVal(2)),
	"threshold":   func(x *torch.Tensor, opts ...torch.Option) *torch.Tensor { return F.Threshold(x, 0.25, -1, opts...) },
	"dropout_off": with(F.Dropout, kw.Training(false)), "dropout_all": with(F.Dropout, kw.P(1)),
	"dropout1d": F.Dropout1d, "dropout2d": F.Dropout2d, "dropout3d": F.Dropout3d, "rrelu_drawn": with(F.Rrelu, kw.Training(true)),
	"alpha_dropout": with(F.AlphaDropout, kw.Training(true)), "feature_alpha_dropout": with(F.FeatureAlphaDropout, kw.Training(true)),
}

// with gives a function options.
func with(f function, fixed ...torch.Option) function {
	return func(x *torch.Tensor, opts ...torch.Option) *torch.Tensor { return f(x, append(opts, fixed...)...) }
}

// run applies f to what a leaf gives and returns the input, the output and the
// leaf's gradient.
func run(f function, over bool) (x, y *torch.Tensor, grad []float64) {
	torch.ManualSeed(4)
	leaf := torch.Linspace(-4, 4, 48, kw.Dtype(torch.Float64)).Reshape(2, 4, 2, 3).RequiresGrad_()
	x = leaf.Mul(1)
	if over {
		y = f(x, kw.Inplace(true))
	} else {
		y = f(x)
	}
	y.Mul(torch.Arange(48).Reshape(2, 4, 2, 3)).Sum().Backward()
	return x, y, leaf.Grad().Float64s()
}

func TestInplaceWritesOverTheInput(t *testing.T) {
	for name, f := range overInput {
		_, want, wantGrad := run(f, false)
		x, y, grad := run(f, true)
		if x != y {
			t.Errorf("%s: the result is not the input", name)
		}
		if !slices.Equal(x.Float64s(), want.Float64s()) {
			t.Errorf("%s: the input holds %v, want %v", name, x.Float64s(), want.Float64s())
		}
		if !slices.Equal(grad, wantGrad) {
			t.Errorf("%s: the gradient is %v, want %v", name, grad, wantGrad)
		}
	}
}

func TestInplaceRefusesLeaves(t *testing.T) {
	for name, f := range overInput {
		if name == "dropout_off" {
			continue
		}
		func() {
			defer func() {
				if e, ok := recover().(*torch.Error); !ok ||
					!strings.Contains(e.Msg, "a leaf Variable that requires grad is being used in an in-place operation.") {
					t.Errorf("%s of a leaf: got %v", name, e)
				}
			}()
			f(torch.Ones(2, 4, 2, 3).RequiresGrad_(), kw.Inplace(true))
		}()
	}
}

// TestUnderscoreNames holds the functions whose in-place form has a name.
func TestUnderscoreNames(t *testing.T) {
	for name, two := range map[string][2]function{
		"celu": {F.Celu, F.Celu_}, "elu": {with(F.Elu, kw.Alpha(0.5)), with(F.Elu_, kw.Alpha(0.5))}, "hardtanh": {F.Hardtanh, F.Hardtanh_},
		"leaky_relu": {F.LeakyRelu, F.LeakyRelu_},
		"selu":       {F.Selu, func(x *torch.Tensor, _ ...torch.Option) *torch.Tensor { return F.Selu_(x) }}, "rrelu": {F.Rrelu, F.Rrelu_},
		"threshold": {
			func(x *torch.Tensor, _ ...torch.Option) *torch.Tensor { return F.Threshold(x, 0.5, 3) },
			func(x *torch.Tensor, _ ...torch.Option) *torch.Tensor { return F.Threshold_(x, 0.5, 3) },
		},
	} {
		want := two[0](torch.Linspace(-2, 2, 9))
		x := torch.Linspace(-2, 2, 9)
		if y := two[1](x); y != x || !slices.Equal(x.Float64s(), want.Float64s()) {
			t.Errorf("%s_: %v, want %v", name, x, want)
		}
	}
}

// TestAlphaDropoutIsOffByDefault holds the default that differs from dropout's.
func TestAlphaDropoutIsOffByDefault(t *testing.T) {
	x := torch.Ones(3, 5, 2)
	if F.AlphaDropout(x) != x || F.FeatureAlphaDropout(x, kw.P(0.9)) != x {
		t.Error("numbers were drawn")
	}
	if F.Dropout1d(x) == x {
		t.Error("nothing was drawn")
	}
}
