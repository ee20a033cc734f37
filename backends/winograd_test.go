package backends

import (
	"math"
	"strings"
	"testing"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer"
)

// This file tests what Winograd's form of a convolution is chosen for and how exact
// it is.

// TestWinogradIsChosen: the form needs a filter of 3 x 3 that moves by one and enough
// channels, and enough pixels where filters are transformed in each call; pixels are rows
// in small images and columns in large ones.
func TestWinogradIsChosen(t *testing.T) {
	one, two := ints(1, 1), ints(2, 2)
	for _, c := range []struct {
		convCase
		param bool
		form  string
	}{
		{convCase{1, 64, 28, 28, 64, 3, 3, one, one, one, 1}, true, "3"},
		{convCase{1, 64, 28, 28, 64, 3, 3, one, one, one, 1}, false, "3"},
		{convCase{1, 64, 13, 13, 64, 3, 3, one, one, one, 1}, false, "2"}, // too few pixels for the transform of filters in each call
		{convCase{1, 64, 28, 28, 64, 3, 3, two, one, one, 1}, true, "2"},
		{convCase{1, 64, 28, 28, 64, 3, 3, one, two, two, 1}, true, "2"},
		{convCase{1, 64, 7, 7, 64, 3, 3, one, one, one, 1}, true, "2"},
		{convCase{1, 16, 56, 56, 64, 3, 3, one, one, one, 1}, true, "1"},
		{convCase{1, 128, 28, 28, 128, 3, 3, one, one, one, 2}, true, "1"},
		{convCase{1, 64, 56, 56, 256, 1, 1, one, ints(0, 0), one, 1}, true, "1"},
		{convCase{1, 512, 7, 7, 512, 1, 1, one, ints(0, 0), one, 1}, true, "2"},
	} {
		g := newTestGraph("form")
		p := programOf(t, g.outputs(c.emit(g, ops.Float32, c.param, nil)), false, c.param)
		if !strings.Contains(strings.Join(p.Shards, ""), ", @, "+c.form+", {") &&
			!strings.Contains(strings.Join(p.Shards, ""), "fused_convolution_0, "+c.form+", {") {
			t.Errorf("%v, parameter %v: not form %s:\n%s", c.convCase, c.param, c.form, strings.Join(p.Shards, ""))
		}
	}
}

// TestWinogradIsExact: the error against float64 is about that of the plain sum of
// products, of gradients as well.
func TestWinogradIsExact(t *testing.T) {
	c := convCase{1, 96, 30, 30, 64, 3, 3, ints(1, 1), ints(1, 1), ints(1, 1), 1}
	t.Run("forward", func(t *testing.T) {
		g := newTestGraph("exact")
		isExact(t, g.outputs(c.emit(g, ops.Float32, true, nil)), g)
	})
	t.Run("in steps of two", func(t *testing.T) { // of an image in blocks, which has no error
		g, one, none := newTestGraph("exact"), ints(1, 1), ints(0, 0)
		exact := func(seed int, shape ...int) *torch.Tensor { return wholeNumbers(seed, 2, shape...).To(torch.Float32) }
		image, v, w := g.input(exact(1, 1, 3, 28, 28)), g.param(exact(2, 96, 3, 1, 1)), g.param(filled(ops.Float32, 3, 64, 96, 3, 3))
		x := g.Emit(ops.Convolution, image, v, nil, one, none, one, false, none, sym.C(1))
		y := g.Emit(ops.Convolution, x, w, nil, ints(2, 2), one, one, false, none, sym.C(1))
		isExact(t, g.outputs(g.Emit(ops.MaxPool2d, y, ints(2, 2), one)), g)
	})
	for i, name := range []string{"of the image", "of the weight"} {
		t.Run("gradient "+name, func(t *testing.T) {
			g := newTestGraph("exact")
			isExact(t, g.outputs(c.gradients(g, []bool{i == 0, i == 1})...), g)
		})
	}
}

func isExact(t *testing.T, m *graph.Module, g *testGraph) {
	t.Helper()
	needCompiler(t)
	run, err := inductorAt(t, thisCPU().Lanes).Compile(&tracer.Request{Module: m, Example: g.in})
	if err != nil {
		t.Fatal(err)
	}
	var double []torch.Value
	for _, x := range g.in {
		double = append(double, x.(*torch.Tensor).To(torch.Float64))
	}
	want := elements(m.Run(double)[0].(*torch.Tensor))
	deviation := func(got torch.Value) float64 {
		sum := 0.0
		for i, x := range elements(got.(*torch.Tensor)) {
			sum += (x - want[i]) * (x - want[i])
		}
		return math.Sqrt(sum / float64(len(want)))
	}
	plain, ours := deviation(m.Run(g.in)[0]), deviation(run(g.in)[0])
	t.Logf("root mean square of the error: %.3g, of the plain sum %.3g", ours, plain)
	if !(ours <= 2*plain) {
		t.Errorf("the error's root mean square is %.3g, that of the plain sum %.3g", ours, plain)
	}
}
