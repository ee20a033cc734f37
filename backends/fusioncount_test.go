package backends

import (
	"strings"
	"testing"

	"tcdbg/inductor"
	"tcdbg/inductor/codegen/cpp"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file pins how many kernels usual parts of models become.

// params makes parameters before the graph has operators, where placeholders
// stand; calls of the result yield one after the other.
func (g *testGraph) params(shapes ...[]int) func() ops.Value {
	var list []ops.Value
	for i, s := range shapes {
		list = append(list, g.param(filled(ops.Float32, i, s...).Abs().Add(1)))
	}
	return func() ops.Value {
		v := list[0]
		list = list[1:]
		return v
	}
}

// bertLayer is an encoder layer as people write it: attention, its projection, a
// network of two layers, each with a residual and a normalization.
func bertLayer(g *testGraph) []ops.Value {
	const b, t, d, h = 2, 16, 64, 4
	var x ops.Value = g.input(filled(ops.Float32, 1, b, t, d))
	square, vec := []int{d, d}, []int{d}
	next := g.params(square, vec, square, vec, square, vec, square, vec, vec, vec, []int{4 * d, d}, []int{4 * d}, []int{d, 4 * d},
		vec, vec, vec)
	dense := func(v ops.Value) ops.Value { return g.Emit(ops.Linear, v, next(), next()) }
	norm := func(v ops.Value) ops.Value {
		return g.EmitN(ops.LayerNorm, v, sym.Consts([]int{d}), next(), next())[0]
	}
	heads := func(v ops.Value) ops.Value {
		return g.Emit(ops.Transpose, g.Emit(ops.View, v, sym.Consts([]int{b, t, h, d / h})), sym.C(1), sym.C(2))
	}
	q, k, v := heads(dense(x)), heads(dense(x)), heads(dense(x))
	s := g.Emit(ops.Div, g.Emit(ops.Matmul, q, g.Emit(ops.Transpose, k, sym.C(-1), sym.C(-2))), 4.0)
	y := g.Emit(ops.Matmul, g.Emit(ops.Softmax, s, sym.C(-1)), v)
	y = g.Emit(ops.Reshape, g.Emit(ops.Transpose, y, sym.C(1), sym.C(2)), sym.Consts([]int{b, t, d}))
	n := norm(g.Emit(ops.Add, dense(y), x))
	return []ops.Value{norm(g.Emit(ops.Add, dense(g.Emit(ops.Gelu, dense(n))), n))}
}

// residualBlock is a block of a ResNet in evaluation.
func residualBlock(g *testGraph) []ops.Value {
	const c = 16
	one := sym.Consts([]int{1, 1})
	var x ops.Value = g.input(filled(ops.Float32, 1, 2, c, 14, 14))
	filter, vec := []int{c, c, 3, 3}, []int{c}
	next := g.params(filter, vec, vec, vec, vec, filter, vec, vec, vec, vec)
	unit := func(v ops.Value) ops.Value {
		y := g.Emit(ops.Conv2d, v, next(), nil, one, one)
		return g.Emit(ops.BatchNorm, y, next(), next(), next(), next())
	}
	return []ops.Value{g.Emit(ops.Relu, g.Emit(ops.Add, unit(g.Emit(ops.Relu, unit(x))), x))}
}

// normalizedChain has two normalizations with arithmetic around them.
func normalizedChain(g *testGraph) []ops.Value {
	var x ops.Value = g.input(filled(ops.Float32, 1, 32, 64))
	next := g.params([]int{64}, []int{64})
	x = g.Emit(ops.Add, g.Emit(ops.Mul, g.Emit(ops.Relu, x), 2.0), 1.0)
	x = g.EmitN(ops.LayerNorm, x, sym.Consts([]int{64}), next(), next())[0]
	return []ops.Value{g.Emit(ops.Mul, g.Emit(ops.Softmax, x, sym.C(-1)), 3.0)}
}

// statistics are folds of one matrix along both dimensions.
func statistics(g *testGraph) []ops.Value {
	x := g.input(filled(ops.Float32, 1, 40, 64))
	dim := sym.Consts([]int{0})
	y := g.Emit(ops.Div, g.Emit(ops.Sub, x, g.Emit(ops.Mean, x, dim)), g.Emit(ops.Add, g.Emit(ops.Std, x, dim), 1e-5))
	return []ops.Value{y, g.Emit(ops.Sum, g.Emit(ops.Abs, x), sym.Consts([]int{1})), g.Emit(ops.Amax, x)}
}

// llamaLayer is a decoder layer: normalization by the root of the mean square,
// rotated queries and keys, two heads that share a key, a gated network.
func llamaLayer(g *testGraph) []ops.Value {
	const t, d, h = 16, 64, 16
	var x ops.Value = g.input(filled(ops.Float32, 1, 1, t, d))
	cos, sin := g.input(filled(ops.Float32, 2, t, h)), g.input(filled(ops.Float32, 3, t, h))
	vec, square, half := []int{d}, []int{d, d}, []int{d / 2, d}
	next := g.params(vec, square, half, half, square, vec, []int{2 * d, d}, []int{2 * d, d}, []int{d, 2 * d})
	norm := func(v ops.Value) ops.Value {
		scale := g.Emit(ops.Rsqrt, g.Emit(ops.Add, g.Emit(ops.Mean, g.Emit(ops.Pow, v, 2.0), sym.Consts([]int{-1}), true), 1e-6))
		return g.Emit(ops.Mul, next(), g.Emit(ops.Mul, v, scale))
	}
	heads := func(v ops.Value, n int) ops.Value {
		return g.Emit(ops.Transpose, g.Emit(ops.View, v, sym.Consts([]int{1, t, n, h})), sym.C(1), sym.C(2))
	}
	rotate := func(v ops.Value) ops.Value {
		part := func(from, to int) ops.Value { return g.Emit(ops.Slice, v, sym.C(-1), sym.C(from), sym.C(to), sym.C(1)) }
		turned := g.Emit(ops.Cat, []ops.Value{g.Emit(ops.Neg, part(h/2, h)), part(0, h/2)}, sym.C(-1))
		return g.Emit(ops.Add, g.Emit(ops.Mul, v, cos), g.Emit(ops.Mul, turned, sin))
	}
	shared := func(v ops.Value) ops.Value {
		wide := g.Emit(ops.Expand, g.Emit(ops.Unsqueeze, v, sym.C(2)), sym.Consts([]int{1, 2, 2, t, h}))
		return g.Emit(ops.Reshape, wide, sym.Consts([]int{1, 4, t, h}))
	}
	y := norm(x)
	q, k, v := heads(g.Emit(ops.Linear, y, next()), 4), heads(g.Emit(ops.Linear, y, next()), 2), heads(g.Emit(ops.Linear, y, next()), 2)
	a := g.Emit(ops.Sdpa, rotate(q), shared(rotate(k)), shared(v), nil, 0.0, true)
	x = g.Emit(ops.Add, x, g.Emit(ops.Linear, g.Emit(ops.Reshape, g.Emit(ops.Transpose, a, sym.C(1), sym.C(2)),
		sym.Consts([]int{1, t, d})), next()))
	y = norm(x)
	gate := g.Emit(ops.Silu, g.Emit(ops.Linear, y, next()))
	return []ops.Value{g.Emit(ops.Add, x, g.Emit(ops.Linear, g.Emit(ops.Mul, gate, g.Emit(ops.Linear, y, next())), next()))}
}

// lstmCell is one step of an LSTM.
func lstmCell(g *testGraph) []ops.Value {
	x, h, c := g.input(filled(ops.Float32, 1, 4, 32)), g.input(filled(ops.Float32, 2, 4, 32)), g.input(filled(ops.Float32, 3, 4, 32))
	next := g.params([]int{128, 32}, []int{128}, []int{128, 32}, []int{128})
	gates := g.EmitN(ops.Chunk, g.Emit(ops.Add, g.Emit(ops.Linear, x, next(), next()), g.Emit(ops.Linear, h, next(), next())),
		sym.C(4), sym.C(1))
	on := func(i int) ops.Value { return g.Emit(ops.Sigmoid, gates[i]) }
	now := g.Emit(ops.Add, g.Emit(ops.Mul, on(1), c), g.Emit(ops.Mul, on(0), g.Emit(ops.Tanh, gates[2])))
	return []ops.Value{g.Emit(ops.Mul, on(3), g.Emit(ops.Tanh, now)), now}
}

// paddings are an image padded in each mode.
func paddings(g *testGraph) []ops.Value {
	x := g.input(filled(ops.Float32, 1, 2, 3, 9, 11))
	var outs []ops.Value
	for _, mode := range []string{"constant", "reflect", "replicate", "circular"} {
		outs = append(outs, g.Emit(ops.Pad, x, sym.Consts([]int{1, 2, 3, 0}), mode))
	}
	return outs
}

// TestKernelCounts: torch.compile 2.15 counts 17, 5, 12 and 5 kernels for the first four on
// a CPU.
func TestKernelCounts(t *testing.T) {
	for _, c := range []struct {
		name                 string
		make                 func(g *testGraph) []ops.Value
		kernels, once, calls int
	}{
		{"BERT layer", bertLayer, 11, 0, 0},
		{"residual block", residualBlock, 2, 4, 0},
		{"normalization and softmax", normalizedChain, 1, 0, 0},
		{"statistics", statistics, 3, 0, 0},
		{"LLaMA layer", llamaLayer, 16, 1, 0},
		{"LSTM cell", lstmCell, 3, 0, 0},
		{"paddings", paddings, 4, 0, 0},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			g := newTestGraph("count")
			g.outputs(c.make(g)...)
			p, err := inductor.Compile(g.G, inductor.Options{
				Machine: cpp.Machine{Lanes: 8, Cache: 8 << 20}, Cores: 1,
				Params: paramInputs(g.G, nil, nil),
			})
			if err != nil {
				t.Fatal(err)
			}
			kernels, once, calls := 0, 0, 0
			for _, k := range p.Provenance.Kernels {
				switch {
				case k.Extern:
					calls++
				case k.Hoisted:
					once++
				default:
					kernels++
				}
			}
			if kernels != c.kernels || once != c.once || calls != c.calls {
				t.Errorf("%d kernels, %d that run once, %d calls; want %d, %d, %d", kernels, once, calls, c.kernels, c.once, c.calls)
				for _, k := range p.Provenance.Kernels {
					t.Log(k.Name)
				}
				for _, f := range p.Fusions {
					if !f.Fused {
						t.Logf("%s with %s: %s (%s)", f.A, f.B, f.Reason, f.Why)
					}
				}
			}
		})
	}
}
