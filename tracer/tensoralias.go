package tracer

import (
	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer/breaks"
)

// This file knows which tensors a graph writes and which of its inputs show the
// same memory: how those lie to each other is a condition of the graph.

// mutate notes that an operator is about to write t.
func (tr *trace) mutate(t *torch.Tensor, row *ops.Op) {
	t = tr.baseOf(t)
	tr.onlyOwn(t, row)
	tr.unsealed(t, row)
	tr.mutated[t] = true
	if tr.inputOf[t] == nil {
		return
	}
	for _, in := range tr.inputs {
		if in.tensor != t && in.tensor.Storage() == t.Storage() && !oneMemory(in.tensor, t) {
			tr.breakAt(breaks.UnsupportedOperator, "%s writes %s, which shares memory with %s %s", row.Name, tr.inputOf[t].src.argument(), in.src.argument(), apart)
		}
	}
}

// mutateStatistics notes what a normalisation writes while it trains.
func (tr *trace) mutateStatistics(n *graph.Node, row *ops.Op) {
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

// notMutated breaks in front of the first use of a tensor whose memory the
// graph has written through another one, where it cannot follow that.
func (tr *trace) notMutated(s *source, t *torch.Tensor) {
	for m := range tr.mutated {
		if in := tr.inputOf[m]; in != nil && m != t && m.Storage() == t.Storage() && !oneMemory(m, t) {
			tr.breakAt(breaks.UnsupportedOperator, "%s shares memory with %s, which the graph writes, %s", s.argument(), in.src.argument(), apart)
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
func (tr *trace) fixSharedSizes() {
	for _, a := range tr.inputs {
		for _, b := range tr.inputs {
			if a == b || !tr.mutated[a.tensor] || a.tensor.Storage() != b.tensor.Storage() {
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

// maxTensorAliasGuards bounds the pairs that are guarded one by one.
const maxTensorAliasGuards = 32

// tensorAliasGuards tells a mutated input from the others, or demands that they
// share memory as they did.
func (tr *trace) tensorAliasGuards() {
	var apart [][2]*input
	for i, a := range tr.inputs {
		if !tr.mutated[a.tensor] {
			continue
		}
		for j, b := range tr.inputs {
			switch {
			case i == j || tr.mutated[b.tensor] && j < i:
			case a.tensor.Storage() == b.tensor.Storage():
				tr.guardTensorAlias(a, b)
			default:
				apart = append(apart, [2]*input{a, b})
			}
		}
	}
	if len(apart) > maxTensorAliasGuards {
		tr.guardApart()
		return
	}
	for _, p := range apart {
		tr.guardTensorAlias(p[0], p[1])
	}
}

// guardApart is one guard in place of very many: no mutated input shares memory
// with an input with which it shared none.
func (tr *trace) guardApart() {
	group := map[*torch.Storage]int{} // of the inputs that shared memory
	var srcs []*source
	var groups []int
	written := map[int]bool{}
	for _, in := range tr.inputs {
		st := in.tensor.Storage()
		if _, ok := group[st]; !ok {
			group[st] = len(group)
		}
		srcs, groups = append(srcs, in.src), append(groups, group[st])
		written[group[st]] = written[group[st]] || tr.mutated[in.tensor]
	}
	text := "tensors that the function writes share no memory with others"
	tr.guard("NO_TENSOR_ALIASING", nil, text, text, func(ad *addresses) bool {
		seen := make(map[*torch.Storage]int, len(srcs))
		for i, s := range srcs {
			p := ad.at(s)
			if p == nil || *(**torch.Tensor)(p) == nil {
				return false
			}
			st := (*(**torch.Tensor)(p)).Storage()
			if g, ok := seen[st]; ok && g != groups[i] && (written[g] || written[groups[i]]) {
				return false
			}
			seen[st] = groups[i]
		}
		return true
	}, func(*addresses) failure { return plain("some share memory") })
}

func (tr *trace) guardTensorAlias(a, b *input) {
	p, q := a.src, b.src
	want := aliasOf(a.tensor, b.tensor)
	text := p.name + " shares no memory with " + q.name
	if want.shared {
		text = p.name + " shares memory with " + q.name
	}
	tr.guard("NO_TENSOR_ALIASING", p, text, text,
		func(ad *addresses) bool {
			x, y := ad.at(p), ad.at(q)
			return x != nil && y != nil && aliasOf(*(**torch.Tensor)(x), *(**torch.Tensor)(y)) == want
		},
		func(ad *addresses) failure {
			x, y := ad.at(p), ad.at(q)
			if x == nil || y == nil {
				return plain("no tensor")
			}
			return plain(aliasOf(*(**torch.Tensor)(x), *(**torch.Tensor)(y)).text())
		})
}

// tensorAlias is how two tensors lie to each other.
type tensorAlias struct {
	shared bool
	delta  int  // elements between them, where they share memory
	one    bool // views of one tensor
}

func aliasOf(x, y *torch.Tensor) tensorAlias {
	if x == nil || y == nil || x.Storage() != y.Storage() {
		return tensorAlias{}
	}
	_, _, i := x.Layout()
	_, _, j := y.Layout()
	return tensorAlias{true, j - i, x.ViewRoot() == y.ViewRoot()}
}

func (a tensorAlias) text() string {
	if a.shared {
		return "they share memory in another way"
	}
	return "they share no memory"
}
