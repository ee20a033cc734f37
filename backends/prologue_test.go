package backends

import (
	"fmt"
	"sync"
	"testing"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer"
)

// linearModule is relu(x @ w.T) with w a parameter.
func linearModule(rows, in, out int) (*graph.Module, []torch.Value) {
	g := newTestGraph("linear")
	x, w := g.input(filled(ops.Float32, 1, rows, in)), g.param(filled(ops.Float32, 2, out, in))
	return g.outputs(g.Emit(ops.Relu, g.Emit(ops.Linear, x, w))), g.in
}

// TestPrologueFollowsParameters: packed weights are made again when a parameter
// changed in place, or when another one is passed, and not otherwise.
func TestPrologueFollowsParameters(t *testing.T) {
	m, in := linearModule(5, 30, 20)
	run, err := inductorAt(t, 8).Compile(&tracer.Request{Module: m, Example: in})
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, in []torch.Value) {
		t.Helper()
		if err := sameValues(run(in), m.Run(in), 1e-5); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	check("first call", in)
	check("second call", in)
	w := in[1].(*torch.Tensor)
	putElement(w.Storage().Bytes(), ops.Float32, 3, 100)
	w.Storage().Bump()
	check("after a change in place", in)
	putElement(w.Storage().Bytes(), ops.Float32, 3, -7)
	if err := sameValues(run(in), m.Run(in), 1e-5); err == nil {
		t.Error("packed again although the version stands still: the prologue runs on every call")
	}
	check("with another parameter", []torch.Value{in[0], filled(ops.Float32, 9, 20, 30)})
}

// TestTrainedWeightsArePackedWhereUsed: the weight of a product or a convolution whose gradient is
// wanted is read in every call, forward and backward; nothing packed is kept of it, not even for a
// version that stands still.
func TestTrainedWeightsArePackedWhereUsed(t *testing.T) {
	leaf := func(seed int, shape ...int) *torch.Tensor {
		return filled(ops.Float32, seed, shape...).RequiresGrad_(true)
	}
	t.Run("product", func(t *testing.T) {
		g := newTestGraph("product")
		x, w := g.input(leaf(1, 5, 30)), g.param(leaf(2, 30, 20))
		followsWeight(t, g.outputs(g.Emit(ops.Relu, g.Emit(ops.Matmul, x, w))), g.in)
	})
	t.Run("convolution of 1x1", func(t *testing.T) { // panels of filters, each asked for while the one before is used
		g := newTestGraph("convolution")
		x, w, one := g.input(leaf(1, 2, 40, 7, 7)), g.param(leaf(2, 150, 40, 1, 1)), ints(1, 1)
		y := g.Emit(ops.Convolution, x, w, nil, one, ints(0, 0), one, false, ints(0, 0), sym.C(1))
		followsWeight(t, g.outputs(g.Emit(ops.Relu, y)), g.in)
	})
	for _, size := range []int{7, 14} { // by pixels and by Winograd's form
		t.Run(fmt.Sprintf("convolution of %dx%d", size, size), func(t *testing.T) {
			g := newTestGraph("convolution")
			x, w, one := g.input(leaf(1, 2, 32, size, size)), g.param(leaf(2, 32, 32, 3, 3)), ints(1, 1)
			y := g.Emit(ops.Convolution, x, w, nil, one, one, one, false, ints(0, 0), sym.C(1))
			followsWeight(t, g.outputs(g.Emit(ops.Relu, y)), g.in)
		})
	}
}

// followsWeight holds results and the input's gradient beside eager's while an element of the weight changes
// in memory, of which its version tells nothing.
func followsWeight(t *testing.T, m *graph.Module, in []torch.Value) {
	t.Helper()
	run, err := inductorAt(t, 8).Compile(&tracer.Request{Module: m, Example: in})
	if err != nil {
		t.Fatal(err)
	}
	gradient := func(run tracer.Runnable) []torch.Value {
		a := in[0].(*torch.Tensor)
		a.SetGrad(nil)
		out := run(in)[0].(*torch.Tensor)
		out.Sum().Backward()
		return []torch.Value{out.Detach(), a.Grad()}
	}
	for _, value := range []float64{3, -7} {
		putElement(in[1].(*torch.Tensor).Storage().Bytes(), ops.Float32, 3, value)

		if err := sameValues(gradient(run), gradient(m.Run), 1e-4); err != nil {
			t.Errorf("with an element of %v: %v", value, err)
		}
	}
}

// TestConcurrentCalls runs one compiled graph from many goroutines with inputs
// and parameters of their own.
func TestConcurrentCalls(t *testing.T) {
	m, in := linearModule(40, 64, 96)
	run, err := inductorAt(t, 8).Compile(&tracer.Request{Module: m, Example: in})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			in := []torch.Value{filled(ops.Float32, i, 40, 64), filled(ops.Float32, i%3, 96, 64)}
			want := m.Run(in)
			for range 30 {
				if err := sameValues(run(in), want, 1e-5); err != nil {
					t.Errorf("caller %d: %v", i, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// TestLargeGraph compiles and runs a thousand operators, in several units.
func TestLargeGraph(t *testing.T) {
	g := newTestGraph("large")
	x, w := g.input(filled(ops.Float32, 1, 16, 16)), g.param(filled(ops.Float32, 2, 16, 16))
	var v ops.Value = x
	for i := range 1000 {
		switch i % 10 {
		case 9:
			v = g.Emit(ops.Mm, v, w)
		case 4:
			v = g.Emit(ops.Softmax, v, sym.C(-1))
		case 2:
			v = g.Emit(ops.Add, v, x)
		default:
			v = g.Emit(ops.Tanh, v)
		}
	}
	m := g.outputs(v)
	run, err := inductorAt(t, 8).Compile(&tracer.Request{Module: m, Example: g.in})
	if err != nil {
		t.Fatal(err)
	}
	if err := sameValues(run(g.in), m.Run(g.in), 1e-3); err != nil {
		t.Fatal(err)
	}
}
