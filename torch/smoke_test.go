package torch_test

import (
	"math"
	"testing"

	"tcdbg/torch"
	"tcdbg/torch/kw"
)

func TestRandomNumbersArePyTorchs(t *testing.T) {
	torch.ManualSeed(0)
	near(t, torch.Randn(3), 1.5409960746765137, -0.293428897857666, -2.1787893772125244)
	torch.ManualSeed(0)
	near(t, torch.Randn(20), -1.1258398294448853, -1.152360200881958, -0.2505785822868347, -0.4338788092136383, 0.5988394618034363,
		-1.5550950765609741, -0.3413603901863098, 1.85300612449646, 0.46809640526771545, -0.1577124446630478, 1.4436601400375366,
		0.26604941487312317, 1.3893661499023438, 1.586334228515625, 0.946298360824585, -0.843676745891571, 0.9318265914916992,
		1.2590092420578003, 2.0049805641174316, 0.05373690277338028)
	torch.ManualSeed(0)
	near(t, torch.Rand(3), 0.49625658988952637, 0.7682217955589294, 0.08847743272781372)
}

func near(t *testing.T, got *torch.Tensor, want ...float64) {
	t.Helper()
	for i, g := range got.Float64s() {
		if math.Abs(g-want[i]) > 1e-6*math.Max(1, math.Abs(want[i])) {
			t.Fatalf("element %d: got %v, want %v", i, g, want[i])
		}
	}
}

func TestBackwardThroughAnMLP(t *testing.T) {
	torch.ManualSeed(0)
	x := torch.Randn(4, 8)
	w := torch.Randn(3, 8, kw.RequiresGrad(true))
	y := x.Matmul(w.T()).Relu().Sum()
	y.Backward()
	if g := w.Grad(); g == nil || g.Size(0) != 3 || g.Size(1) != 8 {
		t.Fatalf("gradient %v", g)
	}
	if got := y.GradFn(); got != "SumBackward0" {
		t.Errorf("grad_fn %s", got)
	}
}

func TestMatmulAgainstPlainSum(t *testing.T) {
	torch.ManualSeed(1)
	for _, s := range [][3]int{{1, 1, 1}, {7, 17, 33}, {130, 100, 300}, {6, 16, 4}, {250, 33, 5}} {
		a, b := torch.Randn(s[0], s[2]), torch.Randn(s[2], s[1])
		got := a.Mm(b)
		want := a.To(torch.Float64).Mm(b.To(torch.Float64))
		d := got.Sub(want).Abs().Max().Item()
		if d > 1e-3 {
			t.Errorf("%v: difference %g", s, d)
		}
		got = b.T().Mm(a.T())
		if d := got.Sub(want.T()).Abs().Max().Item(); d > 1e-3 {
			t.Errorf("transposed %v: difference %g", s, d)
		}
	}
}

func TestPrint(t *testing.T) {
	torch.ManualSeed(0)
	if got, want := torch.Randn(3).String(), "tensor([ 1.5410, -0.2934, -2.1788])"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
