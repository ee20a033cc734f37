package backends

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer"
)

// This file compares what picks and slides with eager: positions that are data,
// poolings and paddings.

// eachExecutor runs a test on compiled code of its widths and on the plain executor.
func eachExecutor(t *testing.T, f func(t *testing.T, b tracer.Backend)) {
	for _, lanes := range widthsOf(t) {
		t.Run(fmt.Sprintf("lanes%d", lanes), func(t *testing.T) { f(t, inductorAt(t, lanes)) })
	}
}

// TestWrongPositionsPanicAsEagerDoes: a position outside of its dimension ends
// the program with the operator's own text, wherever it is in a vector.
func TestWrongPositionsPanicAsEagerDoes(t *testing.T) {
	picks := map[string]func(g *testGraph, x, idx ops.Value) ops.Value{
		"gather": func(g *testGraph, x, idx ops.Value) ops.Value {
			return g.Emit(ops.Gather, x, sym.C(0), g.Emit(ops.Expand, g.Emit(ops.Unsqueeze, idx, sym.C(1)), sym.Consts([]int{19, 5})))
		},
		"gather of numbers": func(g *testGraph, x, idx ops.Value) ops.Value {
			return g.Emit(ops.Gather, g.Emit(ops.Select, x, sym.C(1), sym.C(2)), sym.C(0), idx)
		},
		"index_select": func(g *testGraph, x, idx ops.Value) ops.Value { return g.Emit(ops.IndexSelect, x, sym.C(0), idx) },
		"index":        func(g *testGraph, x, idx ops.Value) ops.Value { return g.Emit(ops.Index, x, []ops.Value{idx}) },
		"embedding":    func(g *testGraph, x, idx ops.Value) ops.Value { return g.Emit(ops.Embedding, idx, x) },
		"scatter_add": func(g *testGraph, x, idx ops.Value) ops.Value {
			zeros := g.Emit(ops.Full, sym.Consts([]int{19, 7}), 0.0)
			one := g.Emit(ops.Unsqueeze, g.Emit(ops.Select, x, sym.C(1), sym.C(2)), sym.C(1)) // [7, 1]
			src := g.Emit(ops.Cat, []ops.Value{one, one, one}, sym.C(0))
			return g.Emit(ops.ScatterAdd, zeros, sym.C(1), g.Emit(ops.Unsqueeze, idx, sym.C(1)), src)
		},
	}
	eachExecutor(t, func(t *testing.T, b tracer.Backend) {
		for name, op := range picks {
			positions := make([]int64, 19)
			for i := range positions {
				positions[i] = int64(i % 7)
			}
			good := torch.NewTensor(positions)
			g := newTestGraph(name)
			x := filled(ops.Float32, 3, 7, 5)
			m := g.outputs(g.Emit(ops.Mul, op(g, g.input(x), g.input(good)), 2.0))
			run, err := b.Compile(&tracer.Request{Module: m, Example: g.in})
			if err != nil {
				t.Fatal(err)
			}
			if err := sameValues(run(g.in), m.Run(g.in), 0); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			for _, at := range []int{0, 3, 18} {
				wrong := slices.Clone(positions)
				wrong[at] = 7
				in := []torch.Value{x, torch.NewTensor(wrong)}
				want := panicText(func() { m.Run(in) })
				if got := panicText(func() { run(in) }); got != want || want == "" {
					t.Errorf("%s with a wrong position at %d: %q, want %q", name, at, got, want)
				}
			}
			if err := sameValues(run(g.in), m.Run(g.in), 0); err != nil {
				t.Errorf("%s after a panic: %v", name, err)
			}
		}
	})
}

func panicText(f func()) (text string) {
	defer func() {
		if r := recover(); r != nil {
			text = fmt.Sprint(r)
		}
	}()
	f()
	return ""
}

// TestNegativePositionsCountFromTheEnd holds for advanced indexing, with several
// tensors, neighbours or not.
func TestNegativePositionsCountFromTheEnd(t *testing.T) {
	eachExecutor(t, func(t *testing.T, b tracer.Backend) {
		g := newTestGraph("negative")
		x := g.input(filled(ops.Float32, 1, 5, 6, 7))
		i, j := g.input(torch.NewTensor([]int64{-5, 4, -1, 0}).Reshape(4, 1)), g.input(torch.NewTensor([]int64{2, -3, 3}))
		m := g.outputs(
			g.Emit(ops.Index, x, []ops.Value{i, j}),
			g.Emit(ops.Index, x, []ops.Value{nil, i, j}),
			g.Emit(ops.Index, x, []ops.Value{i, nil, j}),
			g.Emit(ops.Index, x, []ops.Value{nil, nil, j}),
		)
		run, err := b.Compile(&tracer.Request{Module: m, Example: g.in})
		if err != nil {
			t.Fatal(err)
		}
		if err := sameValues(run(g.in), m.Run(g.in), 0); err != nil {
			t.Error(err)
		}
	})
}

// slides adds random poolings of x over its last dims dimensions.
func (g *testGraph) slides(r *rand.Rand, x ops.Value, dims int) []ops.Value {
	ints := func(f func() int) []sym.Int {
		out := make([]int, dims)
		for i := range out {
			out[i] = f()
		}
		return sym.Consts(out)
	}
	kernel := ints(func() int { return 1 + r.IntN(4) })
	stride := ints(func() int { return 1 + r.IntN(3) })
	pad := make([]sym.Int, dims)
	for i, k := range sym.Hints(kernel) {
		pad[i] = sym.C(r.IntN(k/2 + 1))
	}
	ceil := r.IntN(2) == 0
	maxIDs := []ops.ID{ops.MaxPool1dIndices, ops.MaxPool2dIndices, ops.MaxPool3dIndices}
	avgIDs := []ops.ID{ops.AvgPool1d, ops.AvgPool2d, ops.AvgPool3d}
	adaptive := []ops.ID{ops.AdaptiveAvgPool1d, ops.AdaptiveAvgPool2d, ops.AdaptiveAvgPool3d}
	out := g.EmitN(maxIDs[dims-1], x, kernel, stride, pad, ints(func() int { return 1 }), ceil)
	var divisor ops.Arg
	if r.IntN(3) == 0 {
		divisor = sym.C(3)
	}
	out = append(out, g.Emit(avgIDs[dims-1], x, kernel, stride, pad, ceil, r.IntN(2) == 0, divisor))
	out = append(out, g.Emit(adaptive[dims-1], x, ints(func() int { return 1 + r.IntN(5) })))
	pads := make([]int, 2*dims)
	for i := range pads {
		pads[i] = r.IntN(5) - 2
	}
	return append(out, g.Emit(ops.ConstantPadNd, x, sym.Consts(pads), 2.5))
}

// TestSlidesAsEager pools and pads at random.
func TestSlidesAsEager(t *testing.T) {
	eachExecutor(t, func(t *testing.T, b tracer.Backend) {
		seeds := uint64(8)
		if b.(*inductorBackend).set.cfg.CC == "none" { // no compiler to wait for
			seeds = 150
		}
		for seed := range seeds {
			r := rand.New(rand.NewPCG(seed, 5))
			g := newTestGraph("slides")
			dims := 1 + r.IntN(3)
			shape := []int{2, 3}
			for range dims {
				shape = append(shape, 4+r.IntN(8))
			}
			d := []ops.DType{ops.Float32, ops.Float64}[r.IntN(2)]
			x := g.Emit(ops.Round, g.input(filled(d, int(seed), shape...))) // several are largest
			m := g.outputs(g.slides(r, x, dims)...)
			run, err := b.Compile(&tracer.Request{Module: m, Example: g.in})
			if err != nil {
				t.Fatal(err)
			}
			if err := sameValues(run(g.in), m.Run(g.in), 1e-6); err != nil {
				t.Errorf("seed %d: %v\n%s", seed, err, strings.Join(m.Ops(), " "))
			}
		}
	})
}

// TestPoolOfTheLowest: where nothing is larger than the padding, the first
// element that is no padding wins.
func TestPoolOfTheLowest(t *testing.T) {
	eachExecutor(t, func(t *testing.T, b tracer.Backend) {
		g := newTestGraph("lowest")
		data := make([]float32, 36)
		for i := range data {
			data[i] = float32(math.Inf(-1))
		}
		x := g.input(torch.NewTensor(data).Reshape(1, 6, 6))
		two := sym.Consts([]int{2, 2})
		m := g.outputs(
			g.EmitN(ops.MaxPool2dIndices, x, sym.Consts([]int{3, 3}), two, sym.Consts([]int{1, 1}))[1],
			g.EmitN(ops.MaxPool2dIndices, x, sym.Consts([]int{4, 3}), two, sym.Consts([]int{2, 1}), two)[1],
		)
		run, err := b.Compile(&tracer.Request{Module: m, Example: g.in})
		if err != nil {
			t.Fatal(err)
		}
		if err := sameValues(run(g.in), m.Run(g.in), 0); err != nil {
			t.Error(err)
		}
	})
}

// TestPaddingsAsEager compares all modes with eager, at widths that crop too.
func TestPaddingsAsEager(t *testing.T) {
	eachExecutor(t, func(t *testing.T, b tracer.Backend) {
		g := newTestGraph("pad")
		image := g.input(filled(ops.Float32, 1, 2, 3, 9, 21))
		small := g.input(filled(ops.Int32, 2, 2, 5, 7))
		var outs []ops.Value
		for _, mode := range []string{"constant", "reflect", "replicate", "circular"} {
			for _, w := range [][]int{{1, 2}, {3, 0, 0, 4}, {-2, 3, 1, -1}, {0, 0, 2, 2}, {-1, -1}} {
				outs = append(outs, g.Emit(ops.Pad, g.Emit(ops.Mul, image, 2.0), sym.Consts(w), mode))
			}
			outs = append(outs, g.Emit(ops.Pad, g.Emit(ops.Transpose, small, sym.C(1), sym.C(2)), sym.Consts([]int{2, 4}), mode))
		}
		outs = append(outs, g.Emit(ops.ConstantPadNd, image, sym.Consts([]int{1, 1, 1, 1, 0, 2}), 0.5))
		m := g.outputs(outs...)
		run, err := b.Compile(&tracer.Request{Module: m, Example: g.in})
		if err != nil {
			t.Fatal(err)
		}
		if err := sameValues(run(g.in), m.Run(g.in), 0); err != nil {
			t.Error(err)
		}
	})
}
