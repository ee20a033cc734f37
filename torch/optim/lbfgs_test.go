package optim_test

import (
	"encoding/json"
	"os"
	"testing"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/optim"
)

// testdata/lbfgs.json holds what PyTorch 2.15's LBFGS sees and where it ends.

var quasiNewton = map[string][]torch.Option{
	"plain":      {kw.Lr(0.1), kw.MaxIter(7)},
	"wolfe":      {kw.LineSearchFn("strong_wolfe"), kw.MaxIter(6), kw.HistorySize(3)},
	"wolfe_long": {kw.Lr(20), kw.LineSearchFn("strong_wolfe"), kw.MaxIter(3), kw.MaxEval(30)},
	"until_flat": {kw.LineSearchFn("strong_wolfe"), kw.MaxIter(100), kw.ToleranceGrad(1e-3)},
}

// exact is the start in float64: rounding decides how often a search looks.
func exact() *torch.Tensor {
	return torch.NewTensor([]float64{0.5, -1.25, 2, 0.125}, kw.Dtype(torch.Float64)).RequiresGrad_()
}

// closure is a problem with a minimum; it notes the losses that it returns.
func closure(o *optim.LBFGS, w *torch.Tensor, seen *[]float64) func() *torch.Tensor {
	x := torch.NewTensor([][]float64{{1, 2, -1, 0.5}, {0.25, -1, 3, 2}}, kw.Dtype(torch.Float64))
	return func() *torch.Tensor {
		o.ZeroGrad()
		loss := x.Matmul(w).Pow(2).Sum().Add(w.Pow(4).Sum()).Add(w.Sum())
		loss.Backward()
		*seen = append(*seen, loss.Item())
		return loss
	}
}

func TestLBFGSSearchesAsPyTorch(t *testing.T) {
	text, err := os.ReadFile("testdata/lbfgs.json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]struct{ W, Losses []float64 }
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	if len(want) != len(quasiNewton) {
		t.Errorf("%d reference runs, %d problems", len(want), len(quasiNewton))
	}
	for name, opts := range quasiNewton {
		w := exact()
		o := optim.NewLBFGS([]*torch.Tensor{w}, opts...)
		var seen []float64
		for range 2 {
			o.Step(closure(o, w, &seen))
		}
		near(t, name+": losses", seen, want[name].Losses, 1e-9)
		near(t, name+": w", w.Float64s(), want[name].W, 1e-9)
	}
}

// TestLBFGSGoesOn stops after a step and continues with a new optimizer.
func TestLBFGSGoesOn(t *testing.T) {
	for name, opts := range quasiNewton {
		whole, w := exact(), exact()
		var seen []float64
		one := optim.NewLBFGS([]*torch.Tensor{whole}, opts...)
		one.Step(closure(one, whole, &seen))
		one.Step(closure(one, whole, &seen))
		first := optim.NewLBFGS([]*torch.Tensor{w}, opts...)
		first.Step(closure(first, w, &seen))
		path := t.TempDir() + "/lbfgs.pt"
		if err := optim.Save(first, path); err != nil {
			t.Fatal(err)
		}
		second := optim.NewLBFGS([]*torch.Tensor{w}, opts...)
		if err := optim.Load(second, path); err != nil {
			t.Fatal(err)
		}
		second.Step(closure(second, w, &seen))
		near(t, name, w.Float64s(), whole.Float64s(), 0)
	}
}
