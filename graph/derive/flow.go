package derive

import (
	"fmt"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file differentiates control flow: the gradient of a choice between two graphs is a
// choice by the same predicate between their gradients, each of which computes its graph
// again, as PyTorch does it.

// Propagate marks the nodes from first on through which gradients flow, where those of the
// inputs are marked.
func (p *Pass) Propagate(first *graph.Node) {
	for n := first; n != nil; n = n.Next() {
		row := n.OpRow()
		if n.NoGrad || n.Op == ops.Detach || row != nil && row.Tags.Has(ops.TagNoGrad) {
			continue
		}
		if m, ok := n.Meta.(*ops.TensorMeta); ok && !m.DType.IsFloat() && !m.DType.IsComplex() {
			continue
		}
		for _, in := range n.GradInputs() {
			if p.Needs[in] {
				p.Needs[n] = true
			}
		}
		if p.Needs[n] && row != nil && row.Backward == nil {
			p.Lacks(row)
		}
	}
}

// Flow differentiates a node of control flow by the gradients of its values. It returns
// the gradients, with zeros where there was none, false where there is none at all.
func (p *Pass) Flow(n *graph.Node) (given []ops.Value, ok bool) {
	outs, given, ok := p.Results(n)
	if !ok {
		return given, false
	}
	if n.Flow.Op != graph.CondTarget {
		p.lacks(n.Flow.Op)
		return given, false
	}
	b := p.Builder(n)
	var tangents []*graph.Node
	for i, y := range outs {
		m := y.(*graph.Node).TensorMeta()
		if !m.DType.IsFloat() {
			continue
		}
		if given[i] == nil {
			given[i] = b.Emit(ops.Full, m.Shape, 0.0, m.DType, m.Device)
		}
		tangents = append(tangents, given[i].(*graph.Node))
	}
	var wanted []int // operands that want a gradient
	for i, x := range n.Operands() {
		if p.Needs[x] && x.IsTensor() && x.TensorMeta().DType.IsFloat() {
			wanted = append(wanted, i)
		}
	}
	d := &graph.Node{Name: n.Flow.Op, Stack: b.Stack, NoGrad: p.NoGrad}
	operands := append(values(n.Operands()), values(tangents)...)
	d.Args = []ops.Arg{n.Predicate(), operands}
	f := &graph.Flow{Op: n.Flow.Op}
	for _, body := range n.Flow.Bodies {
		f.Bodies = append(f.Bodies, p.gradientBody(body, wanted, tangents))
	}
	d.SetFlow(f)
	p.G.Append(d)
	items := &graph.Builder{G: p.G, Stack: b.Stack, NoGrad: p.NoGrad}
	for k, i := range wanted {
		p.Add(n.Operands()[i], items.Item(d, k))
	}
	return given, true
}

func values(ns []*graph.Node) []ops.Value {
	out := make([]ops.Value, len(ns))
	for i, n := range ns {
		out[i] = n
	}
	return out
}

// gradientBody computes what a body computes and, with the gradients of its results as
// further inputs, the gradients of the wanted inputs.
func (p *Pass) gradientBody(body *graph.Graph, wanted []int, tangents []*graph.Node) *graph.Graph {
	g, _ := body.Clone(body.Name + "_grad")
	phs, out := g.Placeholders(), g.OutputNode()
	outs := out.Args
	g.Erase(out)
	last := g.Last()
	q := &Pass{G: g, Needs: map[*graph.Node]bool{}, Grads: map[*graph.Node]ops.Value{}, NoGrad: p.NoGrad, Stack: p.Stack}
	for _, i := range wanted {
		q.Needs[phs[i]] = true
	}
	if first := g.First(); first != nil {
		q.Propagate(first)
	}
	k := 0
	for _, a := range outs {
		y := a.(*graph.Node)
		if !y.TensorMeta().DType.IsFloat() {
			continue
		}
		name := fmt.Sprintf("tangents_%d", k+1)
		m := *tangents[k].TensorMeta()
		m.RequiresGrad, m.Offset = false, sym.C(0)
		t := g.Input(name, name, "", &m)
		if q.Needs[y] {
			q.Add(y, t)
		}
		k++
	}
	q.Back(last)
	if q.Missing != "" {
		p.lacks(q.Missing)
	}
	b := &graph.Builder{G: g, NoGrad: p.NoGrad, Stack: p.Stack}
	var grads []ops.Arg
	for _, i := range wanted {
		d := q.Grads[phs[i]]
		if d == nil {
			m := phs[i].TensorMeta()
			d = b.Emit(ops.Full, m.Shape, 0.0, m.DType, m.Device)
		}
		grads = append(grads, d.(*graph.Node))
	}
	g.SetOutput(grads)
	g.EliminateDead()
	return g
}

// Back appends the derivatives of all nodes up to last, last first.
func (p *Pass) Back(last *graph.Node) {
	for n := last; n != nil && n.Kind != graph.Placeholder; n = n.Prev() {
		switch {
		case !p.Needs[n]:
		case n.Flow != nil:
			p.Flow(n)
		case n.Op != ops.None:
			p.Operator(n)
		}
	}
}

func (p *Pass) lacks(name string) {
	if p.Missing == "" {
		p.Missing = name
	}
}
