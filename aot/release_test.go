package aot

import (
	"testing"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/torch"
)

// fresh is a tensor as a compiled graph gives it back: the only one of its memory.
func fresh(like *torch.Tensor) *torch.Tensor {
	c := like.Contiguous()
	st := torch.NewStorage(4 * c.Numel())
	copy(st.Bytes(), c.Storage().Bytes())
	shape, stride, _ := c.Layout()
	return torch.FromFresh(st, torch.Float32, shape, stride, 0)
}

// After the pass that frees the graph the memory that the forward graph made for the backward graph
// alone has gone back; what the program has, made by compiled code or not, is as it was.
func TestReleaseAfterBackward(t *testing.T) {
	w := torch.Randn(90, 90)
	w.RequiresGrad_()
	x := fresh(torch.Randn(90, 90)) // a result of another compiled function
	old := x.Clone()
	in := []*torch.Tensor{x, w}
	g := capture(t, in, func(b *graph.Builder, in []ops.Value) []ops.Value {
		y := b.Emit(ops.Tanh, b.Emit(ops.Mul, in[0], in[1]))
		return []ops.Value{b.Emit(ops.Mul, y, y), b.Emit(ops.Sin, y)}
	})
	var given []*torch.Tensor // to the backward graph, but for the tangents
	compiled, err := Compile(&Request{
		Graph: g, Example: values(in), Check: true,
		Compile: func(part Part) (Runnable, error) {
			h, stage := part.Graph, part.Stage
			return func(in []torch.Value) []torch.Value {
				out := h.RunUntaped(in)
				for i, v := range out {
					if v, ok := v.(*torch.Tensor); ok && v != in[0] && stage != "backward" {
						out[i] = fresh(v)
					}
				}
				if stage == "backward" {
					given = nil
					for _, v := range in[:len(in)-2] {
						given = append(given, v.(*torch.Tensor))
					}
				}
				return out
			}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	outs := compiled.Run(values(in))
	kept := clones([]*torch.Tensor{outs[0].(*torch.Tensor), outs[1].(*torch.Tensor)})
	total(outs).Backward()
	same(t, "the input", x, old)
	for i, k := range kept {
		same(t, "a result", outs[i].(*torch.Tensor), k)
	}
	released, alive := 0, 0
	for _, s := range given {
		if len(s.Storage().Bytes()) == 0 {
			released++
		} else {
			alive++
		}
	}
	if released == 0 || alive == 0 {
		t.Errorf("of %d saved tensors %d were released; want the intermediate one, and not the input", len(given), released)
	}
}
