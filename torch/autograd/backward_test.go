package autograd_test

import (
	"testing"

	"tcdbg/torch"
	"tcdbg/torch/autograd"
	"tcdbg/torch/kw"
)

func grads(t *testing.T, x *torch.Tensor, want ...float64) {
	t.Helper()
	if x.Grad() == nil {
		if want != nil {
			t.Errorf("no gradient, want %v", want)
		}
		return
	}
	got := x.Grad().Float64s()
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}

// TestBackwardInputs wants gradients in the named tensors alone.
func TestBackwardInputs(t *testing.T) {
	x, w := leaf(2, 3), leaf(5, 7)
	h := x.Mul(w)
	y := h.Square().Sum()
	y.Backward(kw.Inputs(tensors{w}), kw.RetainGraph(true))
	grads(t, w, 40, 126)
	grads(t, x)
	y.Backward(kw.Inputs(tensors{w, h, w}), kw.RetainGraph(true)) // adds, and a tensor that is no leaf
	grads(t, w, 80, 252)
	grads(t, h, 20, 42)
	grads(t, x)
	y.Backward(kw.Inputs(tensors{h}), kw.RetainGraph(true))
	grads(t, h, 40, 84)
	grads(t, w, 80, 252)
	y.Backward()
	grads(t, h, 60, 126) // once asked for, it stays
	grads(t, x, 100, 294)
	grads(t, w, 120, 378)
}

// TestBackwardInputsWithTape wants gradients that can be differentiated again.
func TestBackwardInputsWithTape(t *testing.T) {
	x, w := leaf(2), leaf(5)
	x.Pow(3).Mul(w).Sum().Backward(kw.Inputs(tensors{x}), kw.CreateGraph(true))
	grads(t, x, 60)
	if !x.Grad().RequiresGrad() {
		t.Fatal("the gradient has no history")
	}
	x.Grad().Sum().Backward(kw.Inputs(tensors{w}))
	grads(t, w, 12)
}

// TestBackwardOfSeveral starts at several tensors with gradients of their own.
func TestBackwardOfSeveral(t *testing.T) {
	x := leaf(2, 3)
	a, b := x.Square(), x.Sum()
	autograd.Backward(tensors{a, b}, kw.GradTensors(tensors{torch.NewTensor([]float64{1, 10}), nil}), kw.RetainGraph(true))
	grads(t, x, 5, 61)
	autograd.Backward(tensors{b, a.Sum()}, kw.Inputs(tensors{x}))
	grads(t, x, 10, 68)
}

// TestGradOfUnused wants zeros only where they are asked for.
func TestGradOfUnused(t *testing.T) {
	x, w := leaf(2), leaf(5, 6)
	y := x.Square().Sum()
	gs := autograd.Grad(tensors{y}, tensors{x, w}, kw.AllowUnused(true), kw.RetainGraph(true))
	if gs[0].Item() != 4 || gs[1] != nil {
		t.Errorf("got %v", gs)
	}
	gs = autograd.Grad(tensors{y}, tensors{x, w}, kw.MaterializeGrads(true))
	if gs[0].Item() != 4 || gs[1].Numel() != 2 || gs[1].Abs().Sum().Item() != 0 {
		t.Errorf("got %v", gs)
	}
}

func TestBackwardRefuses(t *testing.T) {
	for want, f := range map[string]func(){
		"`inputs` argument to `backward()` cannot be empty.": func() { leaf(1).Sum().Backward(kw.Inputs(tensors{})) },
		"can't retain_grad on Tensor that has requires_grad=False": func() {
			leaf(1).Sum().Backward(kw.Inputs(tensors{torch.Ones(1)}))
		},
		"element 1 of tensors does not require grad": func() { autograd.Backward(tensors{leaf(1).Sum(), torch.Ones(1)}) },
		"got 1 tensors and 2 gradients": func() {
			autograd.Backward(tensors{leaf(1)}, kw.GradTensors(tensors{nil, nil}))
		},
		"backward() got an unexpected keyword argument 'grad_outputs'": func() { leaf(1).Sum().Backward(kw.GradOutputs(nil)) },
	} {
		func() {
			defer func() {
				e, ok := recover().(*torch.Error)
				if !ok || len(e.Msg) < len(want) || e.Msg[:len(want)] != want {
					t.Errorf("got %v, want %s", e, want)
				}
			}()
			f()
		}()
	}
}
