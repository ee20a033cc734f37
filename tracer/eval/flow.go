package eval

import (
	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/torch"
	"tcdbg/tracer/breaks"
)

// This file finds through which values of the graph so far gradients flow, and which of
// them are written after they were read: what a captured backward pass has to know of
// the graph that it differentiates.

// flow is what there is to know of a graph that writes. A node that is written stands
// for what it holds after that.
type flow struct {
	// needs are the values through which gradients flow, as they are in the end, and
	// before those of which that was so before a call in place wrote them, by that call.
	needs, before map[*graph.Node]bool
	at            map[*graph.Node]int         // places in the graph
	roots         map[*graph.Node]*graph.Node // whose memory a value shows
	written       map[*graph.Node]int         // where memory is written for the last time, by root
	viewed        map[*graph.Node]bool        // memory that has views, by root
	// tangled says why gradients cannot be followed through the writes; empty where
	// they can.
	tangled string
}

// flowOf reads the trace's graph.
func (hs *history) flowOf() *flow {
	f := &flow{
		needs: map[*graph.Node]bool{}, before: map[*graph.Node]bool{}, at: map[*graph.Node]int{},
		roots: map[*graph.Node]*graph.Node{}, written: map[*graph.Node]int{}, viewed: map[*graph.Node]bool{},
	}
	first := map[*torch.Storage]*graph.Node{}
	for _, in := range hs.capture.inputs {
		if st := in.tensor.Storage(); first[st] == nil {
			first[st] = in.node
		} else {
			f.roots[in.node] = first[st]
		}
		f.needs[in.node] = in.tensor.RequiresGrad()
	}
	i := 0
	for n := hs.capture.Graph.First(); n != nil; n = n.Next() {
		f.at[n] = i
		f.read(n)
		i++
	}
	return f
}

func (f *flow) read(n *graph.Node) {
	row := n.OpRow()
	switch {
	case n.Kind == graph.Placeholder || n.Kind == graph.Output:
		return
	case row != nil && row.Tags.Has(ops.TagInPlace):
		f.write(n, row)
		return
	}
	if from := viewedBy(n, row); from != nil {
		f.roots[n] = f.root(from)
		f.viewed[f.root(from)] = true
	}
	for _, s := range n.Statistics() {
		f.written[f.root(s)] = f.at[n]
	}
	f.needs[n] = f.flows(n, row)
}

// viewedBy is the value whose memory n shows, or may show.
func viewedBy(n *graph.Node, row *ops.Op) *graph.Node {
	if row == nil && n.Apply == nil && n.Flow == nil && len(n.Args) > 0 { // a piece
		from, _ := n.Args[0].(*graph.Node)
		if from == nil || from.OpRow() == nil || !from.OpRow().Tags.Has(ops.TagView) {
			return nil
		}
		return from
	}
	if row == nil || !row.Tags.Has(ops.TagView) && !row.Tags.Has(ops.TagMaybeView) {
		return nil
	}
	from, _ := n.Args[0].(*graph.Node)
	return from
}

// flows reports whether a gradient of what n computes reaches an argument.
func (f *flow) flows(n *graph.Node, row *ops.Op) bool {
	if n.NoGrad || n.Op == ops.Detach || row != nil && row.Tags.Has(ops.TagNoGrad) {
		return false
	}
	if m, ok := n.Meta.(*ops.TensorMeta); ok && !m.DType.IsFloat() && !m.DType.IsComplex() {
		return false
	}
	for _, in := range n.GradInputs() {
		if f.needs[in] {
			return true
		}
	}
	return false
}

// write follows a call in place.
func (f *flow) write(n *graph.Node, row *ops.Op) {
	self := n.Args[0].(*graph.Node)
	root := f.root(self)
	f.roots[n] = root
	f.written[root] = f.at[n]
	if ops.KeepsTape(row) || !f.flows(n, row) {
		return
	}
	f.before[n] = f.needs[self]
	switch {
	case root.Kind == graph.Placeholder:
		f.tangle(row, root.Source+", which existed before the call")
	case self != root:
		f.tangle(row, "a view")
	case f.viewed[root]:
		f.tangle(row, "a tensor of which there is a view")
	}
	f.needs[self] = true
}

func (f *flow) tangle(row *ops.Op, what string) {
	if f.tangled == "" {
		f.tangled = row.Name + breaks.ChangesInPlace + what
	}
}

func (f *flow) root(n *graph.Node) *graph.Node {
	if r := f.roots[n]; r != nil {
		return r
	}
	return n
}
