package derive

import (
	"fmt"

	"tcdbg/graph"
	"tcdbg/graph/decompose"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file differentiates control flow: the gradient of a choice between graphs is a
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
	derive := map[string]func(n *graph.Node, tangents []*graph.Node){
		graph.CondTarget: p.choice, graph.SwitchTarget: p.choice,
		graph.MapTarget: p.mapped, graph.ScanTarget: p.scanned, graph.AssocTarget: p.associated,
	}[n.Flow.Op]
	if derive == nil {
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
	derive(n, tangents)
	return given, true
}

// choice differentiates a choice.
func (p *Pass) choice(n *graph.Node, tangents []*graph.Node) {
	var wanted []int // operands that want a gradient
	for i, x := range n.Operands() {
		if p.wants(x) {
			wanted = append(wanted, i)
		}
	}
	operands := append(values(n.Operands()), values(tangents)...)
	f := &graph.Flow{Op: n.Flow.Op}
	for _, body := range n.Flow.Bodies {
		g, _ := p.gradientBody(body, wanted, tangentsOf(tangents))
		f.Bodies = append(f.Bodies, g)
	}
	ds := p.append(n, f, n.Predicate(), operands)
	for k, i := range wanted {
		p.Add(n.Operands()[i], ds(k))
	}
}

// wants reports whether a gradient of x is asked for.
func (p *Pass) wants(x *graph.Node) bool {
	return p.Needs[x] && x.IsTensor() && x.TensorMeta().DType.IsFloat()
}

// append appends the call that differentiates n, and returns what gives its values.
func (p *Pass) append(n *graph.Node, f *graph.Flow, args ...ops.Arg) func(k int) *graph.Node {
	b := p.Builder(n)
	d := &graph.Node{Name: f.Op, Stack: b.Stack, NoGrad: p.NoGrad, Args: args}
	d.SetFlow(f)
	p.G.Append(d)
	decompose.RefreshFlow(d)
	items := &graph.Builder{G: p.G, Stack: b.Stack, NoGrad: p.NoGrad}
	return func(k int) *graph.Node { return items.Item(d, k) }
}

// tangentsOf are what gradients look like that are handed to a body whole.
func tangentsOf(ns []*graph.Node) []*ops.TensorMeta {
	out := make([]*ops.TensorMeta, len(ns))
	for i, n := range ns {
		out[i] = n.TensorMeta()
	}
	return out
}

func values(ns []*graph.Node) []ops.Value {
	out := make([]ops.Value, len(ns))
	for i, n := range ns {
		out[i] = n
	}
	return out
}

// gradientBody computes what a body computes and, with the gradients of its results as
// further inputs, the gradients of the wanted inputs; of reached is which of them there are,
// the others being zeros.
func (p *Pass) gradientBody(body *graph.Graph, wanted []int, tangents []*ops.TensorMeta) (g *graph.Graph, reached []bool) {
	g, _ = body.Clone(body.Name + "_grad")
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
		m := *tangents[k]
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
		reached = append(reached, d != nil)
		if d == nil {
			m := phs[i].TensorMeta()
			d = b.Emit(ops.Full, m.Shape, 0.0, m.DType, m.Device)
		}
		grads = append(grads, d.(*graph.Node))
	}
	g.SetOutput(grads)
	g.EliminateDead()
	return g, reached
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
