package numerics

import (
	"math"
	"slices"
	"testing"

	"tcdbg/explain/numerics"
	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
)

// A fill value that is infinite is where an Inf comes from; nothing bore it. A NaN comes from where no
// input has one, though they have an Inf, as a row of a softmax that is masked as a whole.
func TestBornOfANumber(t *testing.T) {
	masked := func(b *graph.Builder, x, mask ops.Value) ops.Value {
		return b.Emit(ops.MaskedFill, x, mask, math.Inf(-1))
	}
	for _, c := range []struct {
		name string
		f    func(b *graph.Builder, x, mask ops.Value) ops.Value
		want []string
	}{
		{"a mask filled with -Inf", func(b *graph.Builder, x, mask ops.Value) ops.Value {
			return b.Emit(ops.Exp, masked(b, x, mask))
		}, nil},
		{"the logarithm of zero", func(b *graph.Builder, x, mask ops.Value) ops.Value {
			return b.Emit(ops.Log, b.Emit(ops.MaskedFill, x, mask, 0.0))
		}, []string{"log gives 2 Inf in call 1; none of its input tensors has any"}},
		{"all is masked", func(b *graph.Builder, x, mask ops.Value) ops.Value {
			y := masked(b, x, mask)
			return b.Emit(ops.Exp, b.Emit(ops.Sub, y, y, int64(1)))
		}, []string{"sub gives 2 NaN in call 1; its input tensors have Inf and no NaN"}},
		{"a zero times the logarithm of zero", func(b *graph.Builder, x, mask ops.Value) ops.Value {
			zero := b.Emit(ops.MaskedFill, x, mask, 0.0)
			return b.Emit(ops.Exp, b.Emit(ops.Mul, zero, b.Emit(ops.Log, zero)))
		}, []string{
			"log gives 2 Inf in call 1; none of its input tensors has any",
			"mul gives 2 NaN in call 1; its input tensors have Inf and no NaN",
		}},
		{"a NaN that fills", func(b *graph.Builder, x, mask ops.Value) ops.Value {
			return b.Emit(ops.Exp, b.Emit(ops.MaskedFill, x, mask, math.NaN()))
		}, nil},
	} {
		x, mask := torch.Ones(4), torch.NewTensor([]bool{true, false, false, true})
		g := graph.New("g", &sym.Env{})
		out := c.f(&graph.Builder{G: g}, g.Input("x", "x", "", x.TensorMeta()), g.Input("mask", "mask", "", mask.TensorMeta()))
		g.SetOutput([]ops.Arg{out.(*graph.Node)})
		s, why := newSubject(g, []torch.Value{x, mask})
		if why != "" {
			t.Fatal(why)
		}
		w := &watched{}
		w.born(s, 1)
		var got []string
		for _, b := range w.record.Sources() {
			got = append(got, numerics.BornText(b))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// An Inf of an input is none of the graph's; the NaN that it makes there is.
func TestBornOfAnInput(t *testing.T) {
	x := torch.NewTensor([]float64{1, math.Inf(1)})
	g := graph.New("g", &sym.Env{})
	in := g.Input("x", "x", "", x.TensorMeta())
	b := &graph.Builder{G: g}
	g.SetOutput([]ops.Arg{b.Emit(ops.Sub, in, in, int64(1)).(*graph.Node)})
	s, why := newSubject(g, []torch.Value{x})
	if why != "" {
		t.Fatal(why)
	}
	w := &watched{}
	w.born(s, 2)
	list := w.record.Sources()
	if len(list) != 2 || numerics.BornText(list[0]) != "input x has 1 Inf already in call 2" ||
		numerics.BornText(list[1]) != "sub gives 1 NaN in call 2; its input tensors have Inf and no NaN" {
		t.Errorf("%+v", list)
	}
}
