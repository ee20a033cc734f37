package backends

import (
	"fmt"
	"testing"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer"
)

// dynamicGraph has sizes that are known at run time only: s0 rows of s1 columns.
type dynamicGraph struct {
	*graph.Builder
	env    *sym.Env
	s0, s1 sym.Int
	inputs int
}

func newDynamicGraph(rows, cols int) *dynamicGraph {
	env := &sym.Env{}
	g := &dynamicGraph{env: env, Builder: &graph.Builder{G: graph.New("dynamic", env)}}
	g.s0 = env.NewSymbol("s0", "L.x.size()[0]", int64(rows))
	g.s1 = env.NewSymbol("s1", "L.x.size()[1]", int64(cols))
	return g
}

func (g *dynamicGraph) input(param bool, shape ...sym.Int) *graph.Node {
	m := &ops.TensorMeta{DType: ops.Float32, Device: ops.CPU, Shape: shape, Stride: ops.ContiguousStrides(shape)}
	n := g.G.Input(fmt.Sprintf("l_x%d_", g.inputs), fmt.Sprintf("L_x%d_", g.inputs), "L.x", m)
	if param {
		n.Source = "L.net.weight"
	}
	g.inputs++
	return n
}

// TestDynamicShapes compiles once and runs with other sizes.
func TestDynamicShapes(t *testing.T) {
	for name, build := range map[string]func(g *dynamicGraph) []ops.Arg{
		"pointwise": func(g *dynamicGraph) []ops.Arg {
			x, y := g.input(false, g.s0, g.s1), g.input(false, g.s1)
			return []ops.Arg{g.Emit(ops.Add, g.Emit(ops.Silu, x), y), sym.Mul(g.s0, sym.Const(2))}
		},
		"rows": func(g *dynamicGraph) []ops.Arg {
			x, y := g.input(false, g.s0, g.s1), g.input(false, g.s1)
			s := g.Emit(ops.Softmax, g.Emit(ops.Mul, x, y), sym.C(-1))
			return []ops.Arg{s, g.Emit(ops.Mean, s, sym.Consts([]int{0})), g.Emit(ops.Sum, x)}
		},
		"product": func(g *dynamicGraph) []ops.Arg {
			x, w, b := g.input(false, g.s0, g.s1), g.input(true, sym.C(40), g.s1), g.input(true, sym.C(40))
			h := g.Emit(ops.Relu, g.Emit(ops.Linear, x, w, b))
			a := g.Emit(ops.Mm, h, g.Emit(ops.Transpose, h, sym.C(0), sym.C(1)))
			return []ops.Arg{g.Emit(ops.Mul, a, 0.5), g.Emit(ops.Sum, h, sym.Consts([]int{1}))}
		},
		"batch norm": func(g *dynamicGraph) []ops.Arg {
			x, mean, v := g.input(false, g.s0, sym.C(6)), g.input(false, sym.C(6)), g.input(false, sym.C(6))
			return []ops.Arg{g.Emit(ops.BatchNorm, g.Emit(ops.Mul, x, 2.0), mean, v, nil, nil, true)}
		},
		"minimum": func(g *dynamicGraph) []ops.Arg {
			x, n := g.input(false, g.s0, g.s1), sym.Min(g.s0, sym.C(9))
			y := g.Emit(ops.Narrow, g.Emit(ops.Sin, x), sym.C(0), sym.Sub(g.s0, n), n)
			z := g.Emit(ops.Softmax, g.Emit(ops.Narrow, x, sym.C(1), sym.C(0), sym.Min(g.s1, sym.C(30))), sym.C(1))
			return []ops.Arg{g.Emit(ops.Mul, y, 2.0), g.Emit(ops.Sum, y, sym.Consts([]int{0})), z, sym.Max(g.s0, g.s1)}
		},
		"arena": func(g *dynamicGraph) []ops.Arg {
			x := g.input(false, g.s0, g.s1)
			var v ops.Value = x
			for range 4 {
				v = g.Emit(ops.Mm, g.Emit(ops.Mm, v, g.Emit(ops.Transpose, v, sym.C(0), sym.C(1))), v)
				v = g.Emit(ops.Tanh, g.Emit(ops.Mul, v, 0.01))
			}
			return []ops.Arg{v, g.Emit(ops.Cat, []ops.Value{v, x}, sym.C(1))}
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, w := range widthsOf(t) {
				t.Run(fmt.Sprintf("lanes%d", w), func(t *testing.T) { dynamicCase(t, w, build) })
			}
		})
	}
}

func dynamicCase(t *testing.T, lanes int, build func(g *dynamicGraph) []ops.Arg) {
	g := newDynamicGraph(7, 20)
	g.G.SetOutput(build(g))
	m := graph.NewModule(g.G)
	inputs := func(rows, cols int) []torch.Value {
		var in []torch.Value
		for i, ph := range g.G.Placeholders() {
			var shape []int
			for _, s := range ph.TensorMeta().Shape {
				shape = append(shape, int(s.Eval(func(x *sym.Symbol) int64 {
					if x.Name == "s0" {
						return int64(rows)
					}
					return int64(cols)
				})))
			}
			in = append(in, filled(ops.Float32, i+rows, shape...))
		}
		return in
	}
	run, err := inductorAt(t, lanes).Compile(&tracer.Request{Module: m, Example: inputs(7, 20)})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range [][2]int{{7, 20}, {3, 5}, {33, 64}, {2, 200}, {100, 16}} {
		in, same := inputs(s[0], s[1]), inputs(s[0], s[1])
		if err := sameValues(run(in), m.Run(same), 1e-4); err != nil {
			t.Errorf("%d rows of %d: %v", s[0], s[1], err)
		}
		if err := sameValues(in, same, 1e-4); err != nil { // what the graph wrote to its inputs
			t.Errorf("%d rows of %d: afterwards, input of %v", s[0], s[1], err)
		}
	}
}
