package torch_test

import (
	"strings"
	"testing"

	"tcdbg/torch"
	"tcdbg/torch/kw"
)

func leaf(data any) *torch.Tensor { return torch.NewTensor(data, kw.RequiresGrad(true)) }

func TestGradientsAccumulateAndHooksRun(t *testing.T) {
	x := leaf([]float64{1, 2, 3})
	seen := 0
	y := x.Mul(2)
	y.RetainGrad()
	remove := y.RegisterHook(func(g *torch.Tensor) *torch.Tensor { seen++; return g.Mul(10) })
	y.Sum().Backward()
	same(t, x.Grad(), 20, 20, 20)
	same(t, y.Grad(), 10, 10, 10)
	remove()
	x.Mul(1).Sum().Backward()
	same(t, x.Grad(), 21, 21, 21)
	if seen != 1 {
		t.Errorf("hook ran %d times", seen)
	}
}

func TestSecondDerivative(t *testing.T) {
	x := leaf([]float64{2, 3})
	y := x.Pow(3).Sum()
	g := torch.Grad([]*torch.Tensor{y}, []*torch.Tensor{x}, kw.CreateGraph(true))[0]
	same(t, g, 12, 27)
	h := torch.Grad([]*torch.Tensor{g.Sum()}, []*torch.Tensor{x})[0]
	same(t, h, 12, 18)
}

func TestChangesInPlace(t *testing.T) {
	x := leaf([]float64{1, 2, 3, 4})
	y := x.Mul(1)
	v := y.Narrow(0, 0, 2)
	v.Mul_(3) // a view: its base and what reads the base must see it
	y.Mul(torch.NewTensor([]float64{1, 10, 100, 1000})).Sum().Backward()
	same(t, x.Grad(), 3, 30, 100, 1000)
	if got := v.GradFn(); got != "AsStridedBackward0" {
		t.Errorf("grad_fn of the view is %s", got)
	}
}

// A second view of the same memory, made before the change, reads it too.
func TestOtherViewsSeeAChange(t *testing.T) {
	x := leaf([]float64{1, 2, 3, 4})
	y := x.Mul(1)
	first, all := y.Narrow(0, 0, 2), y.View(2, 2)
	first.Mul_(3)
	all.Sum().Backward()
	same(t, x.Grad(), 3, 3, 1, 1)
}

// An operand that shows the result's memory from its end keeps its old values.
func TestOverlappingOperand(t *testing.T) {
	x := torch.NewTensor([]int{1, 2, 3, 4, 5, 6})
	even, odd := x.AsStrided([]int{2}, []int{2}), x.AsStrided([]int{2}, []int{3})
	even.Add_(odd) // too tangled to be refused, in PyTorch too
	same(t, x, 2, 2, 7, 4, 5, 6)
	y := torch.NewTensor([]int{1, 2, 3, 4})
	y.Copy_(y.Flip(0))
	same(t, y, 4, 3, 2, 1)
}

func TestRefusalsOfTheTape(t *testing.T) {
	for _, c := range []struct {
		name, want string
		run        func()
	}{
		{
			"leaf in place", "a leaf Variable that requires grad is being used in an in-place operation",
			func() { leaf([]float64{1}).Add_(1) },
		},
		{"saved tensor changed", "[torch.FloatTensor [2]], which is output 0 of ExpBackward0, is at version 1; expected version 0 " +
			"instead", func() {
			x := leaf([]float64{1, 2})
			y := x.Exp()
			z := y.Sum()
			y.Mul_(2)
			z.Backward()
		}},
		{"twice", "Trying to backward through the graph a second time", func() {
			y := leaf([]float64{1}).Exp().Sum()
			y.Backward()
			y.Backward()
		}},
		{"no grad", "does not require grad", func() { torch.Ones(1).Backward() }},
		{"not scalar", "grad can be implicitly created only for scalar outputs", func() { leaf([]float64{1, 2}).Mul(2).Backward() }},
		{
			"gradient of another shape", "attempting to assign a gradient of size '[3]' to a tensor of size '[1]'",
			func() { leaf([]float64{1}).SetGrad(torch.Ones(3)) },
		},
		{"gradient of another dtype", "attempting to assign a gradient with dtype 'torch.float64' to a tensor with grad_dtype " +
			"'torch.float32'", func() { leaf([]float64{1}).SetGrad(torch.Ones(1, kw.Dtype(torch.Float64))) }},
		{"integers", "only Tensors of floating point dtype can require gradients", func() { torch.NewTensor([]int{1}).RequiresGrad_() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			Error(t, c.want, c.run)
		})
	}
}

// Error runs f, which must end in PyTorch's error.
func Error(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		if e, ok := recover().(*torch.Error); !ok || !strings.Contains(e.Msg, want) {
			t.Errorf("got %v, want %s", e, want)
		}
	}()
	f()
	t.Error("was not refused")
}

// An input of an addition is not saved: changing it later is no error.
func TestUnusedInputsMayChange(t *testing.T) {
	x, c := leaf([]float64{1, 2}), torch.Ones(2)
	y := x.Add(c)
	c.Mul_(5)
	y.Sum().Backward()
	same(t, x.Grad(), 1, 1)
}

func TestNoGradAndDetach(t *testing.T) {
	x := leaf([]float64{1})
	torch.NoGrad(func() {
		if y := x.Mul(2); y.RequiresGrad() {
			t.Error("recorded inside NoGrad")
		}
	})
	if x.Mul(2).Detach().RequiresGrad() {
		t.Error("Detach keeps history")
	}
	if got := x.Mul(2).String(); got != "tensor([2.], grad_fn=<MulBackward0>)" {
		t.Errorf("printed %s", got)
	}
}

func TestAllocatorReuses(t *testing.T) {
	x := torch.Randn(1 << 20)
	before := torch.Memory() // earlier tests hold some
	for range 500 {
		x.Add(1)
	}
	now := torch.Memory()
	if grown := now.Live + now.Cached - before.Live - before.Cached; grown > 1<<30 {
		t.Errorf("500 results of 4 MB hold %d MB more", grown>>20)
	}
}

// With retain_graph a graph can be walked again; gradients add up. Without it
// what was saved is gone.
func TestRetainGraph(t *testing.T) {
	x := leaf([]float64{2, 3})
	y := x.Pow(2).Sum()
	y.Backward(kw.RetainGraph(true))
	same(t, x.Grad(), 4, 6)
	g := torch.Grad([]*torch.Tensor{y}, []*torch.Tensor{x}, kw.RetainGraph(true))[0]
	same(t, g, 4, 6)
	same(t, x.Grad(), 4, 6) // Grad leaves the leaves alone
	y.Backward()
	same(t, x.Grad(), 8, 12)
	Error(t, "a second time", func() { y.Backward() })
}

// The gradient of a matrix that enters a product transposed lies as the matrix does, so
// that a leaf can keep it: in PyTorch's way.
func TestProductGradientsLieAsTheirMatrices(t *testing.T) {
	x, w, bias := torch.Randn(4, 3).RequiresGrad_(), torch.Randn(5, 3).RequiresGrad_(), torch.Randn(5)
	for name, y := range map[string]*torch.Tensor{
		"mm": x.Mm(w.T()), "mm of columns": w.Mm(x.T()).T(), "addmm": torch.Addmm(bias, x, w.T()),
	} {
		up := torch.Randn(4, 5)
		gs := torch.Grad([]*torch.Tensor{y}, []*torch.Tensor{x, w}, kw.GradOutputs([]*torch.Tensor{up}))
		for i, want := range []*torch.Tensor{up.Mm(w.Detach()), up.T().Mm(x.Detach())} {
			if !gs[i].IsContiguous() {
				t.Errorf("%s: gradient %d has strides %v", name, i, gs[i].Stride())
			}
			if d := gs[i].Sub(want).Abs().Max().Item(); d > 1e-5 {
				t.Errorf("%s: gradient %d is off by %g", name, i, d)
			}
		}
	}
}
