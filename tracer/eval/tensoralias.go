package eval

import (
	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer/breaks"
	"tcdbg/tracer/guard"
	"tcdbg/tracer/value"
)

// This file knows which tensors a graph writes and which of its inputs show the
// same memory: how those lie to each other is a condition of the graph.

// mutate records that an operator is about to write t.
func (tr *Trace) mutate(t *torch.Tensor, row *ops.Op) {
	t = tr.baseOf(t)
	tr.onlyOwn(t, row)
	tr.unsealed(t, row)
	tr.mutated[t] = true
	if tr.inputOf[t] == nil {
		return
	}
	for _, in := range tr.inputs {
		if in.tensor != t && in.tensor.Storage() == t.Storage() && !oneMemory(in.tensor, t) {
			breakAt(
				breaks.UnsupportedOperator, "%s writes %s, which shares memory with %s %s", row.Name,
				tr.inputOf[t].src.Argument(), in.src.Argument(), apart,
			)
		}
	}
}

// mutateStatistics records what a normalisation writes while it trains.
func (tr *Trace) mutateStatistics(n *graph.Node, row *ops.Op) {
	for _, s := range n.Statistics() {
		for _, in := range tr.inputs {
			if in.node == s {
				tr.mutate(in.tensor, row)
				w := tr.writes[in.tensor]
				w.times++
				tr.writes[in.tensor] = w
			}
		}
	}
}

// notMutated breaks before the first use of a tensor whose memory the
// graph has written through another one, where it cannot follow that.
func (hs *history) notMutated(s *value.Source, t *torch.Tensor) {
	for m := range hs.mutated {
		if in := hs.capture.inputOf[m]; in != nil && m != t && m.Storage() == t.Storage() && !oneMemory(m, t) {
			breakAt(
				breaks.UnsupportedOperator, "%s shares memory with %s, which the graph writes, %s", s.Argument(),
				in.src.Argument(), apart,
			)
		}
	}
}

const apart = "but not its element type or its gradients"

// oneMemory reports whether a graph can treat two tensors as views of one: of
// one element type and, where gradients are recorded, one history.
func oneMemory(a, b *torch.Tensor) bool {
	return a.DType() == b.DType() && (!torch.GradEnabled() || a.ViewRoot() == b.ViewRoot())
}

// fixSharedSizes makes the sizes of inputs constants whose memory the graph
// writes through another input: how they lie in it follows from them.
func (hs *history) fixSharedSizes() {
	for _, a := range hs.capture.inputs {
		if !hs.mutated[a.tensor] {
			continue
		}
		for _, b := range hs.capture.inputs {
			if a == b || a.tensor.Storage() != b.tensor.Storage() {
				continue
			}
			for _, in := range []*input{a, b} {
				m := in.node.TensorMeta()
				for i := range m.Shape {
					sym.Force(m.Shape[i])
					sym.Force(m.Stride[i])
				}
			}
		}
	}
}

// tensorInputs lists the graph's inputs for their alias guards.
func (hs *history) tensorInputs() []guard.Input {
	out := make([]guard.Input, len(hs.capture.inputs))
	for i, in := range hs.capture.inputs {
		out[i] = guard.Input{Src: in.src, Tensor: in.tensor, Written: hs.mutated[in.tensor]}
	}
	return out
}
