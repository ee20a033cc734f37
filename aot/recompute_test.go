package aot

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tcdbg/graph"
	"tcdbg/logs"
	"tcdbg/ops"
	"tcdbg/torch"
)

// saving compiles f with a budget and returns what the trace says of saved values, and the graphs.
func saving(t *testing.T, in []*torch.Tensor, budget float64, f func(b *graph.Builder, x []ops.Value) []ops.Value) (
	said logs.SavedValues, forward, backward *graph.Graph,
) {
	t.Helper()
	for _, x := range in {
		x.RequiresGrad_()
	}
	told := 0
	_, err := Compile(&Request{
		Graph: capture(t, in, f), Example: values(in), Check: true, MemoryBudget: &budget,
		Log: sinkFunc(func(o logs.Out) {
			if strings.Contains(fmt.Sprint(o.Meta), "tcdbg_saved_values") {
				told++
				if err := json.Unmarshal(o.Payload, &struct{ Data *logs.SavedValues }{&said}); err != nil {
					t.Error(err)
				}
			}
		}),
		Compile: func(p Part) (Runnable, error) {
			if p.Stage == "backward" {
				backward = p.Graph
			} else {
				forward = p.Graph
			}
			return p.Graph.RunUntaped, nil
		},
	})
	if err != nil || told != 1 {
		t.Fatalf("%v, %d records", err, told)
	}
	return said, forward, backward
}

type sinkFunc func(logs.Out)

func (f sinkFunc) Emit(o logs.Out)        { f(o) }
func (f sinkFunc) Stack([]logs.Frame) any { return nil }

func has(g *graph.Graph, ids ...ops.ID) bool {
	return slices.ContainsFunc(g.Nodes(), func(n *graph.Node) bool { return slices.Contains(ids, n.Op) })
}

// TestCheapValuesAreNotSaved wants the statistics and the input of a normalisation saved, and not
// what is computed of them element by element.
func TestCheapValuesAreNotSaved(t *testing.T) {
	in := []*torch.Tensor{torch.Randn(8, 64), torch.Randn(64, 64)}
	said, _, backward := saving(t, in, 1, func(b *graph.Builder, x []ops.Value) []ops.Value {
		y := b.Emit(ops.Mm, x[0], x[1])
		d := b.Emit(ops.Sub, y, b.Emit(ops.Mean, y, []int{0}, true))
		e := b.Emit(ops.Mul, d, 0.5)
		return []ops.Value{b.Emit(ops.Mul, d, e), b.Emit(ops.Mul, e, e)}
	})
	if said.Again == 0 || said.Bytes >= said.Read || said.Values == 0 || said.Budget != 1 || said.Limit != 0 {
		t.Errorf("%+v", said)
	}
	if !has(backward, ops.Sub) {
		t.Errorf("nothing is computed again:\n%s", backward.Code())
	}
}

func layered(b *graph.Builder, x []ops.Value) []ops.Value {
	y := x[0]
	for range 6 {
		y = b.Emit(ops.Tanh, b.Emit(ops.Mm, y, x[1]))
	}
	return []ops.Value{b.Emit(ops.Sum, y)}
}

// TestBudget wants less saved with less memory, at 0 nothing, and products computed again only then.
func TestBudget(t *testing.T) {
	in := func() []*torch.Tensor { return []*torch.Tensor{torch.Randn(16, 16), torch.Randn(16, 16)} }
	products := func(g *graph.Graph) (n int) {
		for _, m := range g.Nodes() {
			if m.Op == ops.Mm {
				n++
			}
		}
		return n
	}
	all, _, backward := saving(t, in(), 1, layered)
	if products(backward) != 12 || all.Bytes != 6*16*16*4 {
		t.Errorf("without a limit: %d products, %+v", products(backward), all)
	}
	before := all.Bytes
	for _, budget := range []float64{0.9, 0.5, 0.2, 0} {
		s, _, backward := saving(t, in(), budget, layered)
		if s.Bytes > s.Limit || s.Over || s.Bytes >= before || s.Limit != int64(budget*float64(all.Bytes)) || products(backward) <= 12 {
			t.Errorf("budget %v: %d products, %+v", budget, products(backward), s)
		}
		before = s.Bytes
	}
}

// TestRandomNumbersAreDrawnOnce wants a mask saved whatever the budget, and told.
func TestRandomNumbersAreDrawnOnce(t *testing.T) {
	for _, budget := range []float64{1, 0.3, 0} {
		s, forward, backward := saving(t, []*torch.Tensor{torch.Randn(64, 64)}, budget, func(b *graph.Builder, x []ops.Value) []ops.Value {
			return []ops.Value{b.Emit(ops.Tanh, b.Emit(ops.Dropout, b.Emit(ops.Sin, x[0]), 0.5, true))}
		})
		if !draws(forward) || draws(backward) || s.Bytes == 0 || s.Over != (s.Bytes > s.Limit && budget < 1) {
			t.Errorf("budget %v: %+v\n%s\n%s", budget, s, forward.Code(), backward.Code())
		}
	}
}

// TestWhatTheProgramHasIsSavedAsBefore: an argument that no derivative reads may change before the
// backward pass, which then has to go on as in eager mode.
func TestWhatTheProgramHasIsSavedAsBefore(t *testing.T) {
	for _, budget := range []float64{1, 0} {
		x := torch.Randn(4, 4)
		x.RequiresGrad_()
		y := x.Mul(1)
		g := capture(t, []*torch.Tensor{y}, func(b *graph.Builder, x []ops.Value) []ops.Value {
			return []ops.Value{b.Emit(ops.Sin, b.Emit(ops.Mul, x[0], 3.0))}
		})
		c, err := Compile(&Request{
			Graph: g, Example: values([]*torch.Tensor{y}), Check: true, Compile: interpret(t), MemoryBudget: &budget,
		})
		if err != nil {
			t.Fatal(err)
		}
		want := x.Detach().Mul(3).Cos().Mul(3)
		out := c.Run([]torch.Value{y})[0].(*torch.Tensor)
		torch.NoGrad(func() { y.Mul_(0) })
		out.Sum().Backward()
		if !near(x.Grad(), want) {
			t.Errorf("budget %v: %v, want %v", budget, x.Grad(), want)
		}
	}
}
