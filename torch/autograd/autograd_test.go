package autograd_test

import (
	"strings"
	"testing"

	"tcdbg/torch"
	"tcdbg/torch/autograd"
	"tcdbg/torch/kw"
)

type tensors = []*torch.Tensor

// cube is x*x*x, whose derivative factor times what is right.
type cube struct{ factor float64 }

func (cube) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor {
	ctx.SaveForBackward(in[0])
	return tensors{in[0].Pow(3)}
}

func (c cube) Backward(ctx *autograd.Context, grads ...*torch.Tensor) []*torch.Tensor {
	x := ctx.SavedTensors()[0]
	return tensors{grads[0].Mul(x.Square()).Mul(3 * c.factor)}
}

// split returns a result with and one without derivative.
type split struct{ seen *[]*torch.Tensor }

func (split) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor {
	sign := in[0].Sign()
	ctx.MarkNonDifferentiable(sign)
	return tensors{in[0], in[1].Mul(2), sign}
}

func (s split) Backward(ctx *autograd.Context, grads ...*torch.Tensor) []*torch.Tensor {
	*s.seen = grads
	out := tensors{grads[0], grads[1].Mul(2)}
	if !ctx.NeedsInputGrad[1] {
		out[1] = nil
	}
	return out
}

func leaf(v ...float64) *torch.Tensor {
	return torch.NewTensor(v, kw.Dtype(torch.Float64), kw.RequiresGrad(true))
}

func apply(f autograd.Function) autograd.Func {
	return func(in []*torch.Tensor) []*torch.Tensor { return autograd.Apply(f, in...) }
}

func TestFunction(t *testing.T) {
	x := leaf(2, -3)
	y := autograd.Apply(cube{1}, x)[0]
	if got := y.GradFn(); got != "cubeBackward" {
		t.Errorf("grad_fn is %s", got)
	}
	y.Sum().Backward()
	if g := x.Grad(); g.Float64s()[0] != 12 || g.Float64s()[1] != 27 || g.RequiresGrad() {
		t.Errorf("gradient is %v", g)
	}
	once := torch.Grad(autograd.Apply(cube{1}, x), tensors{x}, kw.GradOutputs(tensors{torch.Ones(2, kw.Dtype(torch.Float64))}))[0]
	if once.RequiresGrad() {
		t.Error("a gradient has a history that was not asked for")
	}
	if !autograd.Gradgradcheck(apply(cube{1}), tensors{leaf(2, -3)}, nil) {
		t.Error("second derivative")
	}
}

func TestFunctionOfSeveral(t *testing.T) {
	var seen []*torch.Tensor
	x, c := leaf(2, -3), torch.NewTensor([]float64{1, 1}, kw.Dtype(torch.Float64))
	outs := autograd.Apply(split{&seen}, x, c)
	if outs[0] == x || !outs[0].RequiresGrad() || outs[2].RequiresGrad() {
		t.Errorf("results are %v", outs)
	}
	outs[0].Sum().Backward()
	if len(seen) != 3 || seen[1].Sum().Item() != 0 || x.Grad().Sum().Item() != 2 {
		t.Errorf("gradients %v came in, %v went out", seen, x.Grad())
	}
	torch.NoGrad(func() {
		if autograd.Apply(cube{1}, x)[0].RequiresGrad() {
			t.Error("recorded inside NoGrad")
		}
	})
}

func refused(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		if e, ok := recover().(*torch.Error); !ok || !strings.Contains(e.Msg, want) {
			t.Errorf("got %v, want %s", e, want)
		}
	}()
	f()
	t.Errorf("was not refused: %s", want)
}

type careless struct{ cube }

func (careless) Backward(*autograd.Context, ...*torch.Tensor) []*torch.Tensor { return nil }

func TestFunctionRefusals(t *testing.T) {
	refused(t, "modified by an inplace operation", func() {
		x := leaf(1).Mul(1)
		y := autograd.Apply(cube{1}, x)[0]
		x.Add_(1)
		y.Sum().Backward()
	})
	refused(t, "incorrect number of gradients (expected 1, got 0)", func() {
		autograd.Apply(careless{}, leaf(1))[0].Sum().Backward()
	})
}

func TestGradcheck(t *testing.T) {
	x, y := leaf(0.3, -1.2, 2).Detach().RequiresGrad_(), leaf(1, 2, 0.5)
	f := func(in []*torch.Tensor) []*torch.Tensor {
		return tensors{in[0].Mul(in[1]).Sin(), in[0].Sum()}
	}
	if !autograd.Gradcheck(f, tensors{x, y}) || !autograd.Gradgradcheck(f, tensors{x, y}, nil) {
		t.Error("right gradients are refused")
	}
	if x.Float64s()[1] != -1.2 {
		t.Error("the input was changed")
	}
	wrong := apply(cube{1.01})
	if autograd.Gradcheck(wrong, tensors{leaf(1)}, kw.RaiseException(false)) {
		t.Error("a wrong gradient passes")
	}
	if !autograd.Gradcheck(wrong, tensors{leaf(1)}, kw.Rtol(0.1)) {
		t.Error("the tolerance is not heard")
	}
	refused(t, "the Jacobians differ for output 0 with respect to input 0", func() { autograd.Gradcheck(wrong, tensors{leaf(1)}) })
	refused(t, "should be zero", func() {
		autograd.Gradcheck(func(in []*torch.Tensor) []*torch.Tensor { return tensors{in[0].Detach().Mul(2)} }, tensors{leaf(1)})
	})
	refused(t, "at least one input tensor to require gradient", func() {
		autograd.Gradcheck(f, tensors{x.Detach(), y.Detach()})
	})
}

// An input of another layout has the same derivatives.
func TestGradcheckOfStrides(t *testing.T) {
	x := torch.NewTensor([][]float64{{1, 2, 3}, {4, 5, 6}}, kw.Dtype(torch.Float64)).T().Detach().RequiresGrad_()
	if !autograd.Gradcheck(func(in []*torch.Tensor) []*torch.Tensor { return tensors{in[0].Square().Sum(kw.Dim(0))} }, tensors{x}) {
		t.Error("refused")
	}
}
