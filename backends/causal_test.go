package backends

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"tcdbg/graph"
	"tcdbg/internal/test"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer"
)

// causalCase is an attention of queries that are the last ones of so many keys.
type causalCase struct {
	queries, keys, past int
	half                ops.DType // of all of it; float32 where it is 0
}

// masking is how scores are masked: mask makes what is softened of scores.
type masking struct {
	name string
	mask func(g *testGraph, c causalCase, scores ops.Value) ops.Value
	late bool // rows without keys are zero, and sums divide the result, as in scaled_dot_product_attention
	want bool // panels are left out
}

// upTo is whether a column is at most a row's number and so many.
func upTo(g *testGraph, c causalCase, by int) ops.Value {
	rows := g.Emit(ops.Arange, sym.C(by), sym.C(by+c.queries))
	return g.Emit(ops.Le, g.Emit(ops.Unsqueeze, g.Emit(ops.Arange, sym.C(c.keys)), sym.C(0)), g.Emit(ops.Unsqueeze, rows, sym.C(1)))
}

func scoresType(c causalCase) ops.DType {
	if c.half != 0 {
		return c.half
	}
	return ops.Float32
}

func lowestOf(c causalCase) float64 {
	switch c.half {
	case ops.Float16:
		return -65504
	case ops.BFloat16:
		return -0x1.fep127
	}
	return -math.MaxFloat32
}

// maskings are the forms of models and of PyTorch's functions, and others that look like them.
func maskings() []masking {
	type maskOf = func(g *testGraph, c causalCase) ops.Value
	type masks = func(g *testGraph, c causalCase, scores ops.Value) ops.Value
	where := func(mask maskOf, low func(causalCase) float64) masks {
		return func(g *testGraph, c causalCase, s ops.Value) ops.Value {
			return g.Emit(ops.Where, mask(g, c), s, g.Emit(ops.Full, ints(), low(c), scoresType(c)))
		}
	}
	added := func(mask maskOf) masks {
		return func(g *testGraph, c causalCase, s ops.Value) ops.Value { return g.Emit(ops.Add, s, mask(g, c)) }
	}
	infinite := func(causalCase) float64 { return math.Inf(-1) }
	causal := func(g *testGraph, c causalCase) ops.Value { return upTo(g, c, c.past) }
	both := func(other maskOf) maskOf {
		return func(g *testGraph, c causalCase) ops.Value { return g.Emit(ops.LogicalAnd, causal(g, c), other(g, c)) }
	}
	padding := func(g *testGraph, c causalCase) ops.Value {
		return g.Emit(ops.Gt, g.input(filled(ops.Float32, 91, 2, 1, 1, c.keys)), g.input(filled(ops.Float32, 0, 1).Sub(2)))
	}
	window := func(g *testGraph, c causalCase) ops.Value { return g.Emit(ops.LogicalNot, upTo(g, c, c.past-20)) }
	ones := func(g *testGraph, c causalCase) ops.Value {
		return g.Emit(ops.Full, ints(c.queries, c.keys), 1.0, ops.Float32)
	}
	return []masking{
		{name: "models", mask: where(causal, lowestOf), want: true},
		{name: "minus infinity", mask: where(causal, infinite), want: true},
		{name: "tril", want: true, mask: where(func(g *testGraph, c causalCase) ops.Value {
			return g.Emit(ops.Ne, g.Emit(ops.Tril, ones(g, c), sym.C(c.past)), 0.0)
		}, infinite)},
		{name: "triu", want: true, late: true, mask: added(func(g *testGraph, c causalCase) ops.Value {
			return g.Emit(ops.Triu, g.Emit(ops.Full, ints(c.queries, c.keys), math.Inf(-1), scoresType(c)), sym.C(c.past+1))
		})},
		{name: "zero and minus infinity", want: true, late: true, mask: added(func(g *testGraph, c causalCase) ops.Value {
			number := func(x float64) ops.Value { return g.Emit(ops.Full, ints(), x, scoresType(c)) }
			return g.Emit(ops.Where, causal(g, c), number(0), number(math.Inf(-1)))
		})},
		{name: "a great number", want: true, mask: added(func(g *testGraph, c causalCase) ops.Value {
			return g.Emit(ops.Mul, g.Emit(ops.Sub, 1.0, g.Emit(ops.To, causal(g, c), scoresType(c))), -3e4)
		})},
		{name: "window", mask: where(both(window), lowestOf), want: true},
		{name: "padding, too", mask: where(both(padding), infinite), want: true},
		{name: "padding and a finite number", mask: where(both(padding), lowestOf)}, // a row may see nothing: it then sees all
		{name: "data", mask: where(func(g *testGraph, c causalCase) ops.Value {
			mask := torch.Arange(c.keys).Unsqueeze(0).Le(torch.Arange(c.past, c.past+c.queries).Unsqueeze(1))
			return g.input(mask)
		}, lowestOf)},
		{name: "keys after the row's own", mask: where(func(g *testGraph, c causalCase) ops.Value {
			return g.Emit(ops.LogicalNot, causal(g, c))
		}, infinite)},
		{name: "a small number", mask: where(causal, func(causalCase) float64 { return -20 })},
	}
}

func (m masking) build(c causalCase) (*testGraph, []ops.Value) {
	g := newTestGraph("causal")
	in := func(rows int) ops.Value {
		x := filled(ops.Float32, len(g.in)+1, 2, 2, rows, 64).Mul(1.0 / 4)
		return g.Emit(ops.Neg, g.input(x.To(scoresType(c))))
	}
	q, k, v := in(c.queries), in(c.keys), in(c.keys)
	scores := m.mask(g, c, g.Emit(ops.Mul, g.Emit(ops.Matmul, q, g.Emit(ops.Transpose, k, sym.C(2), sym.C(3))), 0.125))
	if !m.late {
		return g, []ops.Value{g.Emit(ops.Matmul, g.Emit(ops.Softmax, scores, sym.C(-1)), v)}
	}
	top := g.Emit(ops.Amax, scores, ints(-1), true)
	zero, one := g.Emit(ops.Full, ints(), 0.0, scoresType(c)), g.Emit(ops.Full, ints(), 1.0, scoresType(c))
	top = g.Emit(ops.Where, g.Emit(ops.Eq, top, math.Inf(-1)), zero, top)
	e := g.Emit(ops.Exp, g.Emit(ops.Sub, scores, top))
	sum := g.Emit(ops.Sum, e, ints(-1), true, nil)
	sum = g.Emit(ops.Where, g.Emit(ops.Eq, sum, 0.0), one, sum)
	return g, []ops.Value{g.Emit(ops.Div, g.Emit(ops.Matmul, e, v), sum)}
}

// panelsLeftOut is how many panels a call leaves out.
func panelsLeftOut(t *testing.T, b tracer.Backend, run func()) int {
	t.Helper()
	e := b.(*inductorBackend).set.engine()
	if e.rt == nil {
		t.Skip("the interpreter computes all")
	}
	before := ccall(e.rt.leftOut)
	run()
	return int(ccall(e.rt.leftOut) - before)
}

// TestCausalAttention: what the graph's own mask says that no row sees is not computed, whichever way the mask is written, and where
// that is not proven all is.
func TestCausalAttention(t *testing.T) {
	eachExecutor(t, func(t *testing.T, b tracer.Backend) {
		for _, m := range maskings() {
			for _, c := range []causalCase{{queries: 150, keys: 150}, {queries: 70, keys: 203, past: 133}} {
				g, out := m.build(c)
				module := g.outputs(out...)
				run, err := b.Compile(&tracer.Request{Module: module, Example: g.in})
				if err != nil {
					t.Fatal(err)
				}
				if err := sameValues(run(g.in), module.Run(g.in), 1e-4); err != nil {
					t.Errorf("%s, %+v: %v", m.name, c, err)
				}
				t.Run(fmt.Sprintf("%s of %d", m.name, c.keys), func(t *testing.T) {
					if n := panelsLeftOut(t, b, func() { run(g.in) }); (n > 0) != m.want {
						t.Errorf("%d panels left out", n)
					}
				})
			}
		}
	})
}

// TestCausalBits: what is left out changes no bit. The same mask as data, of which nothing is proven, has all computed. In float32
// that is by other exponentials, whose last bits differ.
func TestCausalBits(t *testing.T) {
	halfSets(t, func(t *testing.T, b tracer.Backend) {
		if b.(*inductorBackend).set.engine().rt == nil {
			t.Skip("the interpreter computes all")
		}
		all := maskings()
		proven, data := all[0], all[slices.IndexFunc(all, func(m masking) bool { return m.name == "data" })]
		for _, d := range test.Some(t, 2, []ops.DType{ops.BFloat16, ops.Float16, 0}) {
			for _, c := range []causalCase{
				{queries: 197, keys: 197, half: d},
				{queries: 70, keys: 333, past: 263, half: d},
				{queries: 1, keys: 97, past: 96, half: d},
				{queries: 90, keys: 64, half: d},
				{queries: 64, keys: 1100, past: 7, half: d},
			} {
				var got [2][]torch.Value
				for i, m := range []masking{proven, data} {
					g, out := m.build(c)
					run, err := b.Compile(&tracer.Request{Module: g.outputs(out...), Example: g.in})
					if err != nil {
						t.Fatal(err)
					}
					want := i == 0 && c.past < c.keys-32 // all in the last panel is computed, for rows that share a tile, 32 at the most
					if n := panelsLeftOut(t, b, func() { got[i] = run(g.in) }); (n > 0) != want {
						t.Errorf("%s, %+v: %d panels left out", m.name, c, n)
					}
				}
				tol := 0.0
				if d == 0 {
					tol = 1e-5
				}
				if err := sameValues(got[0], got[1], tol); err != nil {
					t.Errorf("%+v: %v", c, err)
				}
			}
		}
	})
}

// TestCausalNumbersThatSpread: a value that is no number, behind the mask, is in all rows all the same, and so is what comes of scores
// that a mask of a finite number does not hide.
func TestCausalNumbersThatSpread(t *testing.T) {
	eachExecutor(t, func(t *testing.T, b tracer.Backend) {
		m := maskings()[0]
		for of, number := range map[int]float64{2: math.Inf(1), 1: math.NaN(), 0: -1e25} {
			g, out := m.build(causalCase{queries: 150, keys: 150})
			x := g.in[of].(*torch.Tensor).Clone()
			x.Select(2, 149).Fill_(number)
			g.in[of] = x
			module := g.outputs(out...)
			run, err := b.Compile(&tracer.Request{Module: module, Example: g.in})
			if err != nil {
				t.Fatal(err)
			}
			if err := sameValues(run(g.in), module.Run(g.in), 1e-4); err != nil {
				t.Errorf("%v in input %d: %v", number, of, err)
			}
		}
	})
}

// TestCausalOfUnknownSizes: so it is where sizes vary, and with them how many keys came before.
func TestCausalOfUnknownSizes(t *testing.T) {
	for _, w := range widthsOf(t) {
		t.Run(fmt.Sprintf("lanes%d", w), func(t *testing.T) {
			g := newDynamicGraph(70, 150)
			past := sym.Sub(g.s1, g.s0)
			q := g.input(false, sym.C(2), g.s0, sym.C(64))
			k, v := g.input(false, sym.C(2), g.s1, sym.C(64)), g.input(false, sym.C(2), g.s1, sym.C(24))
			rows, columns := g.Emit(ops.Arange, past, g.s1), g.Emit(ops.Arange, sym.C(0), g.s1)
			mask := g.Emit(ops.Le, g.Emit(ops.Unsqueeze, columns, sym.C(0)), g.Emit(ops.Unsqueeze, rows, sym.C(1)))
			scores := g.Emit(ops.Mul, g.Emit(ops.Matmul, q, g.Emit(ops.Transpose, k, sym.C(1), sym.C(2))), 1.0/64)
			scores = g.Emit(ops.Where, mask, scores, g.Emit(ops.Full, ints(), -math.MaxFloat32))
			g.G.SetOutput([]ops.Arg{g.Emit(ops.Matmul, g.Emit(ops.Softmax, scores, sym.C(-1)), v)})
			m := graph.NewModule(g.G)
			inputs := func(rows, keys int) []torch.Value {
				return []torch.Value{
					filled(ops.Float32, 1, 2, rows, 64), filled(ops.Float32, 2, 2, keys, 64), filled(ops.Float32, 3, 2, keys, 24),
				}
			}
			b := inductorAt(t, w)
			run, err := b.Compile(&tracer.Request{Module: m, Example: inputs(70, 150)})
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range [][2]int{{70, 150}, {197, 197}, {1, 301}, {40, 1100}, {150, 70}, {6, 7}} {
				in := inputs(s[0], s[1])
				if err := sameValues(run(in), m.Run(in), 1e-4); err != nil {
					t.Errorf("%d rows of %d: %v", s[0], s[1], err)
				}
			}
			if n := panelsLeftOut(t, b, func() { run(inputs(197, 197)) }); n == 0 {
				t.Error("nothing is left out")
			}
			if n := panelsLeftOut(t, b, func() { run(inputs(150, 70)) }); n != 0 { // the first rows see nothing
				t.Errorf("%d panels left out where rows see no key", n)
			}
		})
	}
}

// TestGroupedHeads: heads that share keys and values read those where they lie: there is no kernel that repeats them.
func TestGroupedHeads(t *testing.T) {
	needCompiler(t)
	repeat := func(g *testGraph, x ops.Value, heads, n int, s ...int) ops.Value {
		wide := g.Emit(ops.Expand, g.Emit(ops.Unsqueeze, x, sym.C(2)), ints(2, heads, n, s[0], s[1]))
		return g.Emit(ops.View, g.Emit(ops.Clone, wide, "contiguous_format"), ints(2, heads*n, s[0], s[1]))
	}
	for _, d := range []ops.DType{ops.Float32, ops.BFloat16} {
		g := newTestGraph("grouped")
		in := func(heads, rows int) ops.Value { // as projections leave it: heads side by side
			x := filled(ops.Float32, len(g.in)+1, 2, rows, heads, 64).Mul(1.0 / 8).To(d)
			return g.Emit(ops.Transpose, g.Emit(ops.Neg, g.input(x)), sym.C(1), sym.C(2))
		}
		q, k, v := in(6, 130), in(2, 130), in(2, 130)
		k, v = repeat(g, k, 2, 3, 130, 64), repeat(g, v, 2, 3, 130, 64)
		scores := g.Emit(ops.Mul, g.Emit(ops.Matmul, q, g.Emit(ops.Transpose, k, sym.C(2), sym.C(3))), 0.125)
		m := g.outputs(g.Emit(ops.Matmul, g.Emit(ops.Softmax, scores, sym.C(-1)), v))
		if !together(t, m) {
			t.Errorf("%s: the kernels run one after the other", d.Short())
		}
		if n, _ := calls(programOf(t, m)); n != 6 {
			t.Errorf("%s: %d kernels, not one for each operand and three", d.Short(), n)
		}
		if d == ops.Float32 {
			everywhere(t, m, g.in, 1e-4)
			continue
		}
		eachExecutor(t, func(t *testing.T, b tracer.Backend) {
			run, err := b.Compile(&tracer.Request{Module: m, Example: g.in})
			if err != nil {
				t.Fatal(err)
			}
			if err := sameValues(inFloat(run(g.in)), inFloat(m.Run(g.in)), halfTolerance(d)); err != nil {
				t.Error(err)
			}
		})
	}
}
