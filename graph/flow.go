package graph

import (
	"slices"

	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file is control flow in a graph: nodes that hold graphs, of which the data decides
// which run, and how often.

// The higher-order operators of control flow.
const (
	CondTarget   = "cond"
	WhileTarget  = "while_loop"
	SwitchTarget = "switch"
	MapTarget    = "map_impl"
	ScanTarget   = "scan"
	AssocTarget  = "associative_scan"
)

// Flow is what a node of control flow calls. Its arguments are, of cond and switch, the
// tensor that chooses and the list of what all branches take; of while_loop the lists of what
// is carried from round to round and of what both bodies read besides. map_impl has the
// lists of what is taken apart along its first dimension and of what each call reads besides,
// associative_scan too; scan has in front of them the list of what is carried from call to
// call. Its value is a list.
type Flow struct {
	Op string
	// Bodies are, of cond, the branches for true and false, of switch those for 0 and up; of
	// while_loop its condition and what a round does; else one.
	Bodies []*Graph
}

// flowForm is what is particular to a higher-order operator of control flow.
type flowForm struct {
	chooses bool // its first argument is the tensor that chooses a body
	many    bool // it takes a list of bodies
	lists   int  // of operands
	carried int  // which list is replaced by each call, -1 for none
	sliced  int  // which list is taken apart along the first dimension, -1 for none
}

var flowForms = map[string]*flowForm{
	CondTarget:   {chooses: true, lists: 1, carried: -1, sliced: -1},
	SwitchTarget: {chooses: true, many: true, lists: 1, carried: -1, sliced: -1},
	WhileTarget:  {lists: 2, carried: 0, sliced: -1},
	MapTarget:    {lists: 2, carried: -1, sliced: 0},
	ScanTarget:   {lists: 3, carried: 0, sliced: 1},
	AssocTarget:  {lists: 2, carried: -1, sliced: 0},
}

// IsFlow reports whether op is a higher-order operator of control flow.
func IsFlow(op string) bool { return flowForms[op] != nil }

// flowParts are the predicate of a choice, nil for a loop, and the lists of operands.
func (n *Node) flowParts() (predicate *Node, lists []ops.Arg) {
	if flowForms[n.Flow.Op].chooses {
		return n.Args[0].(*Node), n.Args[1:]
	}
	return nil, n.Args
}

// Predicate is what a choice goes by, nil for a loop.
func (n *Node) Predicate() *Node {
	p, _ := n.flowParts()
	return p
}

// Operands are what a node of control flow hands to its bodies, in their order.
func (n *Node) Operands() []*Node {
	_, lists := n.flowParts()
	return nodesOf(lists)
}

// inList is how many operands are in a list, and how many before it.
func (n *Node) inList(which int) (before, count int) {
	_, lists := n.flowParts()
	for i, list := range lists {
		k := len(list.([]ops.Value))
		if i == which {
			return before, k
		}
		before += k
	}
	return 0, 0
}

// Carried is how many operands each call of a body replaces: the first ones.
func (n *Node) Carried() int {
	_, k := n.inList(flowForms[n.Flow.Op].carried)
	return k
}

// Sliced is how many operands are taken apart along their first dimension, a slice for each
// call of the body; those that are carried come before them.
func (n *Node) Sliced() int {
	_, k := n.inList(flowForms[n.Flow.Op].sliced)
	return k
}

// Length is how many slices there are.
func (n *Node) Length() sym.Int { return n.Operands()[n.Carried()].TensorMeta().Shape[0] }

// taken are the values that the bodies take: the operands, slices of those that are taken
// apart. A scan that puts any two together takes in front of them what it has come to.
func (n *Node) taken() []any {
	var out []any
	from, k := n.Carried(), n.Sliced()
	if n.Flow.Op == AssocTarget {
		for _, x := range n.Operands()[:k] {
			out = append(out, n.Flow.Slice(x.TensorMeta()))
		}
	}
	for i, x := range n.Operands() {
		if i >= from && i < from+k {
			out = append(out, n.Flow.Slice(x.TensorMeta()))
		} else {
			out = append(out, x.Meta)
		}
	}
	return out
}

// Slice is what a body takes of a tensor that is taken apart: a view of a slice, which for a
// scan is made contiguous.
func (f *Flow) Slice(m *ops.TensorMeta) *ops.TensorMeta {
	s := SliceMeta(m)
	if f.Op != MapTarget {
		s.Stride = ops.ContiguousStrides(s.Shape)
	}
	return s
}

// SliceMeta is a slice of a tensor along its first dimension.
func SliceMeta(m *ops.TensorMeta) *ops.TensorMeta {
	s := *m
	s.Shape, s.Stride, s.Offset = m.Shape[1:], m.Stride[1:], sym.C(0)
	return &s
}

// stacked are many results of a body in one tensor.
func stacked(length sym.Int, m *ops.TensorMeta) *ops.TensorMeta {
	s := *m
	s.Shape = append([]sym.Int{length}, m.Shape...)
	s.Stride, s.Offset, s.RequiresGrad = ops.ContiguousStrides(s.Shape), sym.C(0), false
	return &s
}

// SetFlow gives n the bodies and sets its value by them.
func (n *Node) SetFlow(f *Flow) {
	n.Kind, n.Target, n.Flow = CallFunction, f.Op, f
	n.Meta = n.flowMeta()
}

// flowMeta is the value that the bodies give: that of the first branch, which the others' are
// laid out like; what is carried, and what the calls of a body give one after the other.
func (n *Node) flowMeta() []ops.Result {
	f, k := n.Flow, n.Carried()
	if flowForms[f.Op].chooses {
		return Metas(nodesOf(f.Bodies[0].Outputs()))
	}
	body := f.Bodies[len(f.Bodies)-1]
	var out []ops.Result
	for _, p := range body.Placeholders()[:k] {
		m := *p.TensorMeta()
		m.Offset, m.RequiresGrad = sym.C(0), false
		out = append(out, &m)
	}
	switch {
	case f.Op == AssocTarget:
		for _, x := range n.Operands()[:n.Sliced()] {
			m := *x.TensorMeta()
			m.Stride, m.Offset, m.RequiresGrad = ops.LikeStrides(&m), sym.C(0), false
			out = append(out, &m)
		}
	case n.Sliced() > 0:
		for _, y := range nodesOf(body.Outputs())[k:] {
			out = append(out, stacked(n.Length(), y.TensorMeta()))
		}
	}
	return out
}

// RefreshFlow brings bodies and value up to date with operands that are laid out otherwise
// than the bodies take them; repropagate does so for what follows some nodes of a graph.
func (n *Node) RefreshFlow(repropagate func(g *Graph, moved map[*Node]bool)) {
	taken := n.taken()
	for _, b := range n.Flow.Bodies {
		moved := map[*Node]bool{}
		for i, p := range b.Placeholders() {
			if !sameMeta(p.Meta, taken[i]) {
				p.Meta, moved[p] = taken[i], true
			}
		}
		repropagate(b, moved)
	}
	n.Meta = n.flowMeta()
}

// AddResults has the body of a scan give more results, of which each call's are stacked.
func (n *Node) AddResults(results []*Node) {
	body := n.Flow.Bodies[0]
	args := slices.Clone(body.Outputs())
	for _, r := range results {
		args = append(args, r)
	}
	body.OutputNode().SetArgs(args)
	n.Meta = n.flowMeta()
}

// clone copies the bodies, so that a pass that changes them in one graph leaves other
// graphs alone.
func (f *Flow) clone() *Flow {
	if f == nil {
		return nil
	}
	c := &Flow{Op: f.Op}
	for _, b := range f.Bodies {
		g, _ := b.Clone(b.Name)
		c.Bodies = append(c.Bodies, g)
	}
	return c
}

// FlowBodies are the bodies of all control flow in g, without those that are in bodies.
func (g *Graph) FlowBodies() []*Graph {
	var out []*Graph
	for n := g.first; n != nil; n = n.next {
		if n.Flow != nil {
			out = append(out, n.Flow.Bodies...)
		}
	}
	return out
}

// IsResultOfFlow reports whether n is one value of a node of control flow.
func (n *Node) IsResultOfFlow() bool {
	if n.Kind != CallFunction || n.Op != ops.None || n.Target != "getitem" {
		return false
	}
	from, _ := n.Item()
	return from.Flow != nil
}
