package backends

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/torch"
	"tcdbg/tracer"
)

// This file tests the weighed squares of a moving average, which vectors compute without denormal products.

// squared is a graph of c*x*x for each c, as addcmul has it.
func squared(x *torch.Tensor, weights []float64) (*testGraph, *graph.Module) {
	g := newTestGraph("squares")
	in := g.input(x)
	var outs []ops.Value
	for _, c := range weights {
		outs = append(outs, g.Emit(ops.Mul, g.Emit(ops.Mul, in, c), in))
	}
	return g, g.outputs(outs...)
}

// TestSquaresOfSmallNumbers: they are those of two multiplications to the bit, denormal ones and zeros with their signs too.
func TestSquaresOfSmallNumbers(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	xs := dividends(10_000)
	for range 20_000 { // squares around the smallest normal and the smallest denormal number
		xs = append(xs, float64(float32(math.Copysign(math.Exp2(-50-30*rng.Float64()), rng.Float64()-0.5))))
	}
	weights := []float64{0.001, -0.5, 3, 1 << 20, 1e-10, 1e-30}
	g, m := squared(exactly(xs, ops.Float32), weights)
	for _, lanes := range widths {
		t.Run(fmt.Sprintf("lanes%d", lanes), func(t *testing.T) {
			run, err := inductorAt(t, lanes).Compile(&tracer.Request{Module: m, Example: g.in})
			if err != nil {
				t.Fatal(err)
			}
			for i, y := range run(g.in) {
				for k, got := range y.(*torch.Tensor).Float64s() {
					x := float32(xs[k])
					want := float32(x*float32(weights[i])) * x
					if math.Float32bits(float32(got)) != math.Float32bits(want) && (want == want || got == got) {
						t.Fatalf("%g * %g * %[2]g is %g, want %g", weights[i], x, got, want)
					}
				}
			}
		})
	}
}

// TestSquaresWithoutDenormals: which products are written as such squares.
func TestSquaresWithoutDenormals(t *testing.T) {
	for _, c := range []struct {
		weight float64
		want   bool
	}{{0.001, true}, {1e-30, false}} {
		_, m := squared(torch.Randn(1000), []float64{c.weight})
		if has := strings.Contains(strings.Join(programOf(t, m).Shards, ""), "square_f"); has != c.want {
			t.Errorf("%g*x*x: a square of its own: %v, want %v", c.weight, has, c.want)
		}
	}
	g := newTestGraph("product")
	x, y := g.input(torch.Randn(1000)), g.input(torch.Randn(1000))
	m := g.outputs(g.Emit(ops.Mul, g.Emit(ops.Mul, x, 0.001), y))
	if strings.Contains(strings.Join(programOf(t, m).Shards, ""), "square_f") {
		t.Error("0.001*x*y is written as a square")
	}
}
