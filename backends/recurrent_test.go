package backends

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"tcdbg/graph"
	"tcdbg/inductor"
	"tcdbg/inductor/codegen/cpp"
	"tcdbg/inductor/plan"
	"tcdbg/internal/test"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
)

// recurrent is an LSTM, or a GRU, of 128 inputs and 256 hidden numbers over steps of a batch.
func recurrent(kind string, batch, steps int) (*graph.Module, []torch.Value) {
	const in, hidden = 128, 256
	gates := map[string]int{"LSTM": 4, "GRU": 3}[kind]
	g := newTestGraph("recurrent")
	x := g.input(filled(ops.Float32, 1, steps*batch, in))
	param := func(seed int, size ...int) ops.Value { return g.param(filled(ops.Float32, seed, size...).Mul(0.02)) }
	wi, bi, wh, bh := param(2, gates*hidden, in), param(3, gates*hidden), param(4, gates*hidden, hidden), param(5, gates*hidden)
	ins := g.EmitN(ops.Split, g.Emit(ops.Linear, x, wi, bi), sym.C(batch), sym.C(0))
	var h, c ops.Value = g.Emit(ops.Full, ints(batch, hidden), 0.0), g.Emit(ops.Full, ints(batch, hidden), 0.0)
	var outs []ops.Value
	sigmoid := func(v ops.Value) ops.Value { return g.Emit(ops.Sigmoid, v) }
	tanh := func(v ops.Value) ops.Value { return g.Emit(ops.Tanh, v) }
	add := func(a, b ops.Value) ops.Value { return g.Emit(ops.Add, a, b) }
	mul := func(a, b ops.Value) ops.Value { return g.Emit(ops.Mul, a, b) }
	for _, now := range ins {
		hid := g.Emit(ops.Linear, h, wh, bh)
		if kind == "LSTM" {
			p := g.EmitN(ops.Chunk, add(now, hid), sym.C(4), sym.C(1))
			c = add(mul(sigmoid(p[1]), c), mul(sigmoid(p[0]), tanh(p[2])))
			h = mul(sigmoid(p[3]), tanh(c))
		} else {
			p, q := g.EmitN(ops.Chunk, now, sym.C(3), sym.C(1)), g.EmitN(ops.Chunk, hid, sym.C(3), sym.C(1))
			fresh := tanh(add(p[2], mul(sigmoid(add(p[0], q[0])), q[2])))
			h = add(mul(g.Emit(ops.Sub, h, fresh), sigmoid(add(p[1], q[1]))), fresh)
		}
		outs = append(outs, h)
	}
	return g.outputs(g.Emit(ops.Cat, outs, sym.C(0))), g.in
}

// BenchmarkRecurrent is a call of a recurrent net over 64 steps, whose products have as many rows as the batch.
func BenchmarkRecurrent(b *testing.B) {
	for _, kind := range []string{"LSTM", "GRU"} {
		for _, batch := range []int{1, 8, 64} {
			b.Run(fmt.Sprint(kind, batch), func(b *testing.B) {
				m, in := recurrent(kind, batch, 64)
				benchmarkModel(b, m, in)
			})
		}
	}
}

// TestSharedPack: products that read a weight alike share one packed copy, a copy for each step would have to come from
// memory; and what training changes is packed where four of them or more read it.
func TestSharedPack(t *testing.T) {
	count := func(steps int, training bool) int {
		m, _ := recurrent("LSTM", 8, steps)
		if training {
			for _, n := range m.G.Placeholders() {
				n.Meta.(*ops.TensorMeta).RequiresGrad = true
			}
		}
		p, err := inductor.Compile(m.G, inductor.Options{
			Machine: cpp.Machine{Lanes: 16, Cache: 8 << 20}, Cores: 1, Params: paramInputs(m.G, nil, nil), Training: training,
		})
		if err != nil {
			t.Fatal(err)
		}
		packed := 0
		for _, b := range p.Buffers {
			if b.Role == plan.RolePacked && strings.HasPrefix(b.Name, "packed_") {
				packed++
			}
		}
		return packed
	}
	for _, c := range []struct {
		steps    int
		training bool
		want     int
	}{{6, false, 2}, {6, true, 1}, {3, true, 0}} {
		if got := count(c.steps, c.training); got != c.want {
			t.Errorf("%d steps, training %v: %d weights packed, want %d", c.steps, c.training, got, c.want)
		}
	}
}

// TestRecurrent: steps that share what is packed compute what eager steps do, of batches of all kinds of products of few rows.
func TestRecurrent(t *testing.T) {
	for _, kind := range []string{"LSTM", "GRU"} {
		for _, batch := range test.Some(t, 4, []int{8, 1, 17, 3, 5, 14, 64}) {
			t.Run(fmt.Sprint(kind, batch), func(t *testing.T) {
				m, in := recurrent(kind, batch, 6)
				everywhere(t, m, in, 1e-5)
			})
		}
	}
}

// TestMissingRows: rows that are missing in a panel stand for nothing, also where the last one is not finite.
func TestMissingRows(t *testing.T) {
	for _, rows := range []int{5, 7, 13, 16, 29} {
		t.Run(fmt.Sprint(rows), func(t *testing.T) {
			g := newTestGraph("rows")
			x := filled(ops.Float32, 1, rows, 70)
			x.Select(0, rows-1).Fill_(math.Inf(1))
			y := g.Emit(ops.Linear, g.input(x), g.param(filled(ops.Float32, 2, 96, 70)))
			everywhere(t, g.outputs(g.Emit(ops.Narrow, y, sym.C(0), sym.C(0), sym.C(rows-1))), g.in, 1e-4)
		})
	}
}

// TestPartsOfAWeight: products that read two halves of one weight do not share a copy.
func TestPartsOfAWeight(t *testing.T) {
	g := newTestGraph("parts")
	x, w := g.input(filled(ops.Float32, 1, 6, 64)), g.param(filled(ops.Float32, 2, 128, 64))
	halves := g.EmitN(ops.Chunk, w, sym.C(2), sym.C(0))
	y := g.Emit(ops.Linear, g.Emit(ops.Tanh, g.Emit(ops.Linear, x, halves[0])), halves[1])
	z := g.Emit(ops.Linear, g.Emit(ops.Tanh, y), g.Emit(ops.Transpose, halves[1], sym.C(0), sym.C(1)))
	everywhere(t, g.outputs(y, z), g.in, 1e-4)
}
