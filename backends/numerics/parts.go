package numerics

import (
	"fmt"
	"slices"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/torch"
)

// This file makes parts of graphs.

// isCall reports whether a node is neither input nor output.
func isCall(n *graph.Node) bool { return n.Kind != graph.Placeholder && n.Kind != graph.Output }

// cutsOf are the nodes after which a graph can be cut: what later nodes need of the part before
// are single values. The last is the last call.
func cutsOf(g *graph.Graph) (out []*graph.Node) {
	last := map[*graph.Node]*graph.Node{} // the last user of each node with several results
	nodes := g.Nodes()
	for _, n := range nodes {
		for _, in := range n.Inputs() {
			if _, several := in.Meta.([]ops.Result); several {
				last[in] = n
			}
		}
	}
	open := 0
	closes := map[*graph.Node]int{}
	for _, n := range nodes {
		if !isCall(n) {
			continue
		}
		if end := last[n]; end != nil && isCall(end) {
			open++
			closes[end]++
		}
		open -= closes[n]
		if open == 0 {
			out = append(out, n)
		}
	}
	return out
}

// prefix is the graph up to a node of cutsOf; its outputs are what follows needs.
func (s *subject) prefix(last *graph.Node) *subject {
	before := map[*graph.Node]bool{}
	var cut []*graph.Node
	for n := s.g.First(); n != nil; n = n.Next() {
		before[n] = true
		if n == last {
			break
		}
	}
	for n := s.g.First(); n != nil && before[n]; n = n.Next() {
		if isCall(n) && n.IsTensor() && (n == last || slices.ContainsFunc(n.Users(), func(u *graph.Node) bool { return !before[u] })) {
			cut = append(cut, n)
		}
	}
	h, to := s.g.Clone(s.g.Name)
	if out := h.OutputNode(); out != nil {
		h.Erase(out)
	}
	for n := h.Last(); n != nil && n != to[last]; n = h.Last() {
		h.Erase(n)
	}
	args := make([]ops.Arg, len(cut))
	for i, n := range cut {
		args[i] = to[n]
	}
	h.SetOutput(args)
	h.EliminateDead()
	t := *s
	t.g = h
	return &t
}

// alone is the graph of one call, on the inputs that it has in s.
func (s *subject) alone(n *graph.Node) (*subject, error) {
	row := n.OpRow()
	if row == nil || row.Tags.Has(ops.TagInPlace) || row.Tags.Has(ops.TagRandom) || len(n.Statistics()) > 0 {
		return nil, fmt.Errorf("it writes its input, draws random numbers, or is no operator")
	}
	values, err := s.inputsOf(n)
	if err != nil {
		return nil, err
	}
	h := graph.New(s.g.Name+"_"+n.Name, nil)
	h.Aten = s.g.Aten
	t := &subject{g: h, train: false, rewind: s.rewind}
	to := map[*graph.Node]*graph.Node{}
	for i, in := range n.Inputs() {
		if to[in] != nil {
			continue
		}
		x := tensor(values[i])
		if x == nil {
			return nil, fmt.Errorf("%s is no tensor", in.Name)
		}
		if s.train && x.DType().IsFloat() {
			x.RequiresGrad_()
		}
		meta := *x.TensorMeta()
		to[in] = h.Input(in.Name, in.Name, "", &meta)
		t.in = append(t.in, x)
		t.train = t.train || s.train && x.RequiresGrad()
	}
	t.in = copyInputs(t.in, false)
	t.made = make([]bool, len(t.in))
	c := n.CopyInto(h, func(x *graph.Node) *graph.Node { return to[x] })
	c.SetArgs(graph.Sized(c.Args, sizes(s.g, s.in)))
	if err := c.Repropagate(); err != nil {
		return nil, err
	}
	args := []ops.Arg{c}
	if several, ok := c.Meta.([]ops.Result); ok {
		args = nil
		b := &graph.Builder{G: h}
		for i, m := range several {
			if _, tensor := m.(*ops.TensorMeta); tensor {
				args = append(args, b.Item(c, i))
			}
		}
	}
	h.SetOutput(args)
	return t, nil
}

// inputsOf are copies of what a call is given.
func (s *subject) inputsOf(n *graph.Node) (values []torch.Value, err error) {
	_, err = s.execute(func(in []torch.Value) []torch.Value {
		return s.g.RunWatched(in, func(at *graph.Node, _ any, inputs []any) {
			if at != n || values != nil {
				return
			}
			values = copyInputs(append([]torch.Value(nil), inputs...), false)
		})
	}, false)
	if err == nil && len(values) != len(n.Inputs()) {
		err = fmt.Errorf("it did not run")
	}
	return values, err
}
