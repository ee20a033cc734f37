package backends

import (
	"testing"

	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer"
)

// convNorm is relu(batch_norm(conv(x))) with everything but x a parameter; the
// running variance is input 3.
func convNorm() (*testGraph, ops.Value) {
	g := newTestGraph("convnorm")
	x, w := g.input(filled(ops.Float32, 1, 2, 3, 9, 7)), g.param(filled(ops.Float32, 2, 5, 3, 3, 3))
	mean, variance := g.param(filled(ops.Float32, 3, 5)), g.param(filled(ops.Float32, 4, 5).Abs().Add(1))
	gamma, beta := g.param(filled(ops.Float32, 5, 5)), g.param(filled(ops.Float32, 6, 5))
	one := sym.Consts([]int{1, 1})
	y := g.Emit(ops.Conv2d, x, w, nil, one, one)
	return g, g.Emit(ops.Relu, g.Emit(ops.BatchNorm, y, mean, variance, gamma, beta))
}

// TestParameterArithmeticRunsOnce: what depends on parameters alone is computed
// again when one of them changed, and only then.
func TestParameterArithmeticRunsOnce(t *testing.T) {
	eachExecutor(t, func(t *testing.T, b tracer.Backend) {
		g, y := convNorm()
		m := g.outputs(y)
		run, err := b.Compile(&tracer.Request{Module: m, Example: g.in})
		if err != nil {
			t.Fatal(err)
		}
		check := func(what string) {
			t.Helper()
			if err := sameValues(run(g.in), m.Run(g.in), 1e-5); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		check("first call")
		variance := g.in[3].(*torch.Tensor)
		putElement(variance.Storage().Bytes(), ops.Float32, 2, 50)
		variance.Storage().Bump()
		check("after a change in place")
		putElement(variance.Storage().Bytes(), ops.Float32, 2, 3)
		if err := sameValues(run(g.in), m.Run(g.in), 1e-5); err == nil {
			t.Error("computed again although the version stands still: it runs on every call")
		}
		g.in[3] = filled(ops.Float32, 9, 5).Abs().Add(2)
		check("with another parameter")
	})
}

// TestParameterArithmeticThatLeaves: what the caller gets is made in every call,
// and so is what depends on an input.
func TestParameterArithmeticThatLeaves(t *testing.T) {
	eachExecutor(t, func(t *testing.T, b tracer.Backend) {
		g := newTestGraph("leaves")
		x, w := g.input(filled(ops.Float32, 1, 6)), g.param(filled(ops.Float32, 2, 6))
		s := g.Emit(ops.Sin, w)
		c := g.Emit(ops.Cat, []ops.Value{g.Emit(ops.Exp, w), g.Emit(ops.Exp, x)})
		m := g.outputs(s, g.Emit(ops.Sum, c), g.Emit(ops.Mul, s, x))
		run, err := b.Compile(&tracer.Request{Module: m, Example: g.in})
		if err != nil {
			t.Fatal(err)
		}
		first := run(g.in)
		first[0].(*torch.Tensor).Mul_(0) // the result is the caller's own
		g.in[0] = filled(ops.Float32, 7, 6)
		if err := sameValues(run(g.in), m.Run(g.in), 1e-5); err != nil {
			t.Error(err)
		}
	})
}
