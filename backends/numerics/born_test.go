package numerics

import (
	"math"
	"testing"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
)

// A fill value that is infinite is where an Inf comes from; nothing bore it.
func TestBornOfANumber(t *testing.T) {
	for _, c := range []struct {
		name string
		f    func(b *graph.Builder, x, mask ops.Value) ops.Value
		want string
	}{
		{"a mask filled with -Inf", func(b *graph.Builder, x, mask ops.Value) ops.Value {
			return b.Emit(ops.Exp, b.Emit(ops.MaskedFill, x, mask, math.Inf(-1)))
		}, ""},
		{"the logarithm of zero", func(b *graph.Builder, x, mask ops.Value) ops.Value {
			return b.Emit(ops.Log, b.Emit(ops.MaskedFill, x, mask, 0.0))
		}, "log"},
	} {
		x, mask := torch.Ones(4), torch.NewTensor([]bool{true, false, false, true})
		g := graph.New("g", &sym.Env{})
		out := c.f(&graph.Builder{G: g}, g.Input("x", "x", "", x.TensorMeta()), g.Input("mask", "mask", "", mask.TensorMeta()))
		g.SetOutput([]ops.Arg{out.(*graph.Node)})
		got := ""
		s, why := newSubject(g, []torch.Value{x, mask})
		if why != "" {
			t.Fatal(why)
		}
		if b := s.born(); b != nil {
			got = b.Op
		}
		if got != c.want {
			t.Errorf("%s: born in %q, want %q", c.name, got, c.want)
		}
	}
}
