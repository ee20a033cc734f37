package backends

import (
	"testing"

	"tcdbg/ops"
	"tcdbg/ops/sym"
)

func TestPointwise(t *testing.T) {
	for _, shape := range [][]int{{}, {1}, {10}, {64}, {1000}, {3, 5, 7}, {70000}} {
		g := newTestGraph("pw")
		a, b := g.input(filled(ops.Float32, 1, shape...)), g.input(filled(ops.Float32, 2, shape...))
		x := g.Emit(ops.Add, g.Emit(ops.Mul, g.Emit(ops.Silu, a), a), b)
		y := g.Emit(ops.Div, a, g.Emit(ops.Add, g.Emit(ops.Abs, b), sym.C(1)))
		everywhere(t, g.outputs(x, y), g.in, 1e-6)
	}
}

func TestUnaryFunctions(t *testing.T) {
	for _, id := range []ops.ID{ops.Abs, ops.Neg, ops.Exp, ops.Sin, ops.Cos, ops.Tanh, ops.Sigmoid, ops.Relu, ops.Gelu, ops.Silu} {
		for _, d := range []ops.DType{ops.Float32, ops.Float64} {
			g := newTestGraph(ops.Get(id).Name)
			a := g.input(filled(d, 3, 37))
			everywhere(t, g.outputs(g.Emit(id, a)), g.in, 1e-6)
		}
	}
	for _, id := range []ops.ID{ops.Log, ops.Sqrt, ops.Rsqrt} {
		g := newTestGraph(ops.Get(id).Name)
		a := g.input(filled(ops.Float32, 3, 37))
		everywhere(t, g.outputs(g.Emit(id, g.Emit(ops.Abs, a))), g.in, 1e-6)
	}
}

func TestBroadcastAndTypes(t *testing.T) {
	g := newTestGraph("types")
	a := g.input(filled(ops.Float32, 1, 6, 1, 33))
	b := g.input(filled(ops.Int64, 2, 5, 1))
	c := g.input(filled(ops.Bool, 3, 33))
	d := g.input(filled(ops.Float64, 4, 6, 5, 33))
	s := g.Emit(ops.Add, a, b)
	w := g.Emit(ops.Where, c, s, sym.C(2))
	lt := g.Emit(ops.Lt, w, d)
	m := g.Emit(ops.Mul, d, lt)
	i := g.Emit(ops.Add, b, c)
	everywhere(t, g.outputs(w, lt, m, i), g.in, 1e-6)
}

func TestReductions(t *testing.T) {
	for _, shape := range [][]int{{7, 33}, {4, 64}, {3, 5, 6}, {1, 200000}} {
		for _, dims := range [][]sym.Int{nil, ints(0), ints(-1), ints(0, 1)} {
			g := newTestGraph("red")
			a := g.input(filled(ops.Float32, 1, shape...))
			var dim ops.Arg
			if dims != nil {
				dim = dims
			}
			s := g.Emit(ops.Sum, g.Emit(ops.Mul, a, a), dim)
			m := g.Emit(ops.Mean, a, dim, true)
			x := g.Emit(ops.Amax, a, dimsOr(dims))
			everywhere(t, g.outputs(s, m, x), g.in, 1e-5)
		}
	}
}

func dimsOr(d []sym.Int) []sym.Int {
	if d == nil {
		return []sym.Int{}
	}
	return d
}

func TestSoftmaxAndLayerNorm(t *testing.T) {
	for _, shape := range [][]int{{9, 64}, {5, 33}, {2, 3, 40}} {
		for _, dim := range []int{-1, 0} {
			g := newTestGraph("norm")
			a := g.input(filled(ops.Float32, 1, shape...))
			n := shape[len(shape)-1]
			w, b := g.input(filled(ops.Float32, 2, n)), g.input(filled(ops.Float32, 3, n))
			sm := g.Emit(ops.Softmax, g.Emit(ops.Mul, a, 2.0), sym.C(dim))
			ln := g.EmitN(ops.LayerNorm, a, ints(n), w, b)[0]
			everywhere(t, g.outputs(sm, g.Emit(ops.Relu, ln)), g.in, 1e-5)
		}
	}
}

func TestMatmul(t *testing.T) {
	for _, s := range [][3]int{{1, 1, 1}, {3, 5, 7}, {64, 32, 48}, {100, 70, 600}, {1, 300, 129}, {14, 32, 800}} {
		m, n, k := s[0], s[1], s[2]
		g := newTestGraph("mm")
		a, b := g.input(filled(ops.Float32, 1, m, k)), g.input(filled(ops.Float32, 2, k, n))
		w, bias := g.param(filled(ops.Float32, 3, n, k)), g.param(filled(ops.Float32, 4, n))
		x := g.Emit(ops.Mm, a, b)
		y := g.Emit(ops.Mul, g.Emit(ops.Relu, g.Emit(ops.Linear, a, w, bias)), 0.5)
		everywhere(t, g.outputs(x, y), g.in, 1e-4)
	}
}

func TestBatchedMatmul(t *testing.T) {
	g := newTestGraph("bmm")
	a, b := g.input(filled(ops.Float32, 1, 3, 4, 10, 20)), g.input(filled(ops.Float32, 2, 4, 20, 11))
	v := g.input(filled(ops.Float32, 3, 20))
	w := g.param(filled(ops.Float32, 4, 9, 20))
	x := g.Emit(ops.Matmul, a, b)
	y := g.Emit(ops.Matmul, a, v)
	z := g.Emit(ops.Linear, a, w)
	p := g.Emit(ops.Matmul, v, b)
	everywhere(t, g.outputs(x, y, z, p), g.in, 1e-5)
}

func TestViews(t *testing.T) {
	g := newTestGraph("views")
	a := g.input(filled(ops.Float32, 1, 6, 8))
	tr := g.Emit(ops.Transpose, g.Emit(ops.Mul, a, 2.0), sym.C(0), sym.C(1))
	r := g.Emit(ops.Reshape, tr, ints(4, 12))
	e := g.Emit(ops.Expand, g.Emit(ops.Unsqueeze, a, sym.C(0)), ints(3, 6, 8))
	s := g.Emit(ops.Sum, g.Emit(ops.Exp, e), ints(1))
	c := g.Emit(ops.Contiguous, tr)
	everywhere(t, g.outputs(r, g.Emit(ops.Relu, r), s, c, tr, a), g.in, 1e-6)
}

func TestFactories(t *testing.T) {
	g := newTestGraph("fact")
	a := g.input(filled(ops.Float32, 1, 10))
	ar := g.Emit(ops.Arange, sym.C(0), sym.C(10))
	z := g.Emit(ops.Zeros, ints(10))
	o := g.Emit(ops.Full, ints(2, 10), 1.5)
	everywhere(t, g.outputs(g.Emit(ops.Add, g.Emit(ops.Add, a, ar), z), g.Emit(ops.Mul, o, a), ar, o), g.in, 1e-6)
}

func TestExternStep(t *testing.T) {
	g := newTestGraph("extern")
	a := g.input(filled(ops.Float64, 1, 6, 8))
	b := g.input(filled(ops.Float64, 2, 8, 5))
	x := g.Emit(ops.Mm, g.Emit(ops.Exp, a), b) // no float64 template
	everywhere(t, g.outputs(g.Emit(ops.Relu, x)), g.in, 1e-9)
}

// TestReadsAtTwoAddresses: a value that is read both where it was computed and
// elsewhere must be in memory before, whichever read comes first.
func TestReadsAtTwoAddresses(t *testing.T) {
	g := newTestGraph("two")
	x := g.Emit(ops.Sin, g.input(filled(ops.Float32, 1, 48)))
	y := g.Emit(ops.Cos, g.input(filled(ops.Float32, 2, 6, 6)))
	yt := g.Emit(ops.Transpose, y, sym.C(0), sym.C(1))
	everywhere(t, g.outputs(
		g.Emit(ops.Mul, x, g.Emit(ops.Flip, x, ints(0))),
		g.Emit(ops.Sub, y, yt), g.Emit(ops.Add, yt, y),
		g.Emit(ops.Sum, g.Emit(ops.Mul, yt, y), ints(1)),
	), g.in, 1e-6)
}

// TestPartOfTheInnerLoops: what walks some of a reduction's loops only runs
// before it, not inside.
func TestPartOfTheInnerLoops(t *testing.T) {
	g := newTestGraph("part")
	m := g.input(filled(ops.Bool, 1, 1, 2, 8))
	x := g.input(filled(ops.Float32, 2, 64, 2, 8))
	w := g.Emit(ops.Where, g.Emit(ops.LogicalOr, m, m), x, 0.5)
	everywhere(t, g.outputs(g.Emit(ops.Sum, w), g.Emit(ops.Amax, w, ints(0, 1))), g.in, 1e-5)
}
