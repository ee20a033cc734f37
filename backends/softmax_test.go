package backends

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer"
)

// This file tests attention that the runtime takes through softmax by itself.

// softmaxGraph is an attention whose numbers of rows and keys vary. Behind a causal mask rows are the last ones of the keys.
func softmaxGraph(scale float64, wide, values int, causal bool) *graph.Module {
	g := newDynamicGraph(7, 20)
	q := g.input(false, sym.C(2), g.s0, sym.C(wide))
	k, v := g.input(false, sym.C(2), g.s1, sym.C(wide)), g.input(false, sym.C(2), g.s1, sym.C(values))
	scores := g.Emit(ops.Mul, g.Emit(ops.Matmul, q, g.Emit(ops.Transpose, k, sym.C(1), sym.C(2))), scale)
	if causal {
		rows, columns := g.Emit(ops.Arange, sym.Sub(g.s1, g.s0), g.s1), g.Emit(ops.Arange, sym.C(0), g.s1)
		mask := g.Emit(ops.Le, g.Emit(ops.Unsqueeze, columns, sym.C(0)), g.Emit(ops.Unsqueeze, rows, sym.C(1)))
		scores = g.Emit(ops.Where, mask, scores, g.Emit(ops.Full, ints(), -math.MaxFloat32))
	}
	g.G.SetOutput([]ops.Arg{g.Emit(ops.Matmul, g.Emit(ops.Softmax, scores, sym.C(-1)), v)})
	return graph.NewModule(g.G)
}

// softmaxInputs are of numbers between -1 and 1.
func softmaxInputs(rows, keys, wide, values int) []torch.Value {
	small := func(n int, shape ...int) torch.Value { return filled(ops.Float32, n, shape...).Mul(1.0 / 32) }
	return []torch.Value{small(1, 2, rows, wide), small(2, 2, keys, wide), small(3, 2, keys, values)}
}

// bySoftmax reports whether the runtime is told that all that an attention does is softmax, of scores of a scale.
func bySoftmax(t *testing.T, m *graph.Module, scale float64) bool {
	return strings.Contains(strings.Join(programOf(t, m).Shards, ""), fmt.Sprintf(", 1, -1, %.9ef}; R->attend(&a)", scale))
}

// TestSoftmaxOfUnevenSizes: rows that fill no tile, columns that fill no vector, and one more or less than those that do, give
// eager's numbers, however wide heads are.
func TestSoftmaxOfUnevenSizes(t *testing.T) {
	for _, c := range []struct {
		wide, values int
		causal       bool
	}{{64, 64, false}, {33, 20, false}, {1, 47, false}, {80, 7, false}, {64, 40, true}} {
		m := softmaxGraph(-0.3, c.wide, c.values, c.causal)
		if !bySoftmax(t, m, -0.3) {
			t.Fatal("the runtime is not told of softmax")
		}
		for _, w := range widthsOf(t) {
			t.Run(fmt.Sprintf("%+v, lanes%d", c, w), func(t *testing.T) {
				run, err := inductorAt(t, w).Compile(&tracer.Request{Module: m, Example: softmaxInputs(7, 20, c.wide, c.values)})
				if err != nil {
					t.Fatal(err)
				}
				check := func(rows, keys int) {
					if c.causal {
						keys += rows
					}
					in := softmaxInputs(rows, keys, c.wide, c.values)
					if err := sameValues(run(in), m.Run(in), 1e-5); err != nil {
						t.Errorf("%d rows of %d: %v", rows, keys, err)
					}
				}
				for n := 1; n <= 40; n++ {
					check(n, n*7%40+1)
				}
				for n := 120; w > 0 && n <= 260; n += 7 {
					check(n, 380-n)
				}
			})
		}
	}
}

// TestSoftmaxBehindMasks: so it is behind a mask that hides columns after a row's own alone, whichever way it is written, and
// behind no other.
func TestSoftmaxBehindMasks(t *testing.T) {
	plain := []string{"models", "minus infinity", "tril", "a great number"}
	for _, m := range maskings() {
		g, out := m.build(causalCase{queries: 50, keys: 60, past: 10})
		want := m.want && slices.Contains(plain, m.name)
		if got := bySoftmax(t, g.outputs(out...), 0.125); got != want {
			t.Errorf("%s: %t", m.name, got)
		}
	}
}

// TestSoftmaxOfExtremes: scores far apart, infinite ones and ones that are no number make what they make in eager.
func TestSoftmaxOfExtremes(t *testing.T) {
	const rows, keys, wide = 30, 50, 16
	m := softmaxGraph(1, wide, wide, false)
	for _, w := range widthsOf(t) {
		run, err := inductorAt(t, w).Compile(&tracer.Request{Module: m, Example: softmaxInputs(rows, keys, wide, wide)})
		if err != nil {
			t.Fatal(err)
		}
		for name, x := range map[string]float64{
			"far apart": 2000, "overflowing": 1e38, "infinite": math.Inf(1), "no number": math.NaN(), "tiny": 1e-41,
		} {
			for operand := range 3 {
				in := softmaxInputs(rows, keys, wide, wide)
				if name == "overflowing" && operand == 2 { // weights times these do not, but sums that are divided later would
					in[2].(*torch.Tensor).Fill_(3e38)
				}
				in[operand].(*torch.Tensor).Select(0, 0).Select(0, 17).Mul_(x)
				in[operand].(*torch.Tensor).Select(0, 1).Select(0, 3).Select(0, 5).Mul_(x)
				if err := sameValues(run(in), m.Run(in), 1e-5); err != nil {
					t.Errorf("%s numbers of operand %d, %d lanes: %v", name, operand, w, err)
				}
			}
		}
	}
}
