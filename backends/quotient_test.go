package backends

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"tcdbg/ops"
	"tcdbg/torch"
	"tcdbg/tracer"
)

// This file tests division by a number that a loop does not change, which vectors make of its reciprocal.

// divisors are ordinary numbers and those at the edge: without a reciprocal, with one that is denormal,
// zeros, and what is not finite.
var divisors = []float64{
	3, -7, 0.1, 1.5e-5, 1e30, -1e38, 3e38, 1.2e-38, 1e-38, -1e-39, 1e-45, 0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(),
}

// dividends are numbers of all sizes, with the special ones.
func dividends(n int) []float64 {
	rng := rand.New(rand.NewPCG(1, 2))
	out := specialOf(ops.Float32, true)
	for len(out) < n {
		x := math.Float32frombits(rng.Uint32())
		out = append(out, float64(x))
	}
	return out
}

// TestQuotientsOfOneDivisor: they are those of a division to the bit, signed zeros too; those of very small numbers, whose
// remainder is no number of the type, to a unit in the last place.
func TestQuotientsOfOneDivisor(t *testing.T) {
	xs := dividends(20_000)
	g := newTestGraph("quotients")
	x, by := g.input(exactly(xs, ops.Float32)), g.input(torch.Full([]int{}, 3.0))
	m := g.outputs(g.Emit(ops.Div, x, by))
	for _, lanes := range widthsOf(t) {
		t.Run(fmt.Sprintf("lanes%d", lanes), func(t *testing.T) {
			run, err := inductorAt(t, lanes).Compile(&tracer.Request{Module: m, Example: g.in})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range divisors {
				got := run([]torch.Value{g.in[0], torch.Full([]int{}, c)})[0].(*torch.Tensor)
				quotients(t, xs, float32(c), got.Float64s())
			}
		})
	}
}

// TestQuotientsOfNumbers: a number of the text divides as a division does, to the bit, too.
func TestQuotientsOfNumbers(t *testing.T) {
	xs := dividends(20_000)
	g := newTestGraph("numbers")
	x := g.input(exactly(xs, ops.Float32))
	by := []float64{3, -6, 49, 0.75, 1 << 20, 3136, 0.1, 1e30, math.Inf(1), 0}
	var outs []ops.Value
	for _, c := range by {
		outs = append(outs, g.Emit(ops.Div, x, c))
	}
	m := g.outputs(outs...)
	for _, lanes := range widths {
		run, err := inductorAt(t, lanes).Compile(&tracer.Request{Module: m, Example: g.in})
		if err != nil {
			t.Fatal(err)
		}
		for i, y := range run(g.in) {
			quotients(t, xs, float32(by[i]), y.(*torch.Tensor).Float64s())
		}
	}
}

func quotients(t *testing.T, xs []float64, c float32, got []float64) {
	t.Helper()
	for i := range xs {
		want, have := float32(xs[i])/c, float32(got[i])
		if math.Float32bits(want) == math.Float32bits(have) || want != want && have != have {
			continue
		}
		apart := math.Abs(float64(int64(math.Float32bits(want)) - int64(math.Float32bits(have))))
		if apart > 1 || math.Abs(xs[i]) > 0x1p-100 {
			t.Fatalf("%g / %g is %g, want %g", xs[i], c, have, want)
		}
	}
}
