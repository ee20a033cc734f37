package aot

import (
	"fmt"

	"tcdbg/graph"
	"tcdbg/graph/decompose"
	"tcdbg/ops"
)

// This file takes control flow through functionalization: the bodies become graphs without
// mutation of their own.

// flow copies a node of control flow with pure bodies.
func (f *functionalizer) flow(n *graph.Node) error {
	val := n.CopyInto(f.g, f.value)
	for i, b := range n.Flow.Bodies {
		pure, err := pureBody(b, f.train)
		if err != nil {
			return fmt.Errorf("aot: %s: %w", n.Name, err)
		}
		val.Flow.Bodies[i] = pure
	}
	decompose.RefreshFlow(val)
	f.define(n, val)
	return nil
}

// pureBody is a body without mutation; train: gradients may flow through all that it takes.
func pureBody(body *graph.Graph, train bool) (*graph.Graph, error) {
	b, _ := body.Clone(body.Name)
	for _, p := range b.Placeholders() {
		if m, ok := p.Meta.(*ops.TensorMeta); ok && train && m.DType.IsFloat() {
			wants := *m
			wants.RequiresGrad = true
			p.Meta = &wants
		}
	}
	f, err := functionalize(b, nil, train)
	if err != nil {
		return nil, err
	}
	if len(f.mutations) > 0 {
		return nil, fmt.Errorf("%s writes to what it was given", body.Name)
	}
	g := f.graph
	out := g.OutputNode()
	vals, args := out.Args, []ops.Arg{}
	g.Erase(out)
	for _, o := range f.outputs {
		var v *graph.Node
		switch {
		case o.index >= 0:
			v = vals[o.index].(*graph.Node)
		case o.input >= 0:
			v = g.Placeholders()[o.input]
		default:
			return nil, fmt.Errorf("%s gives %v, which is no tensor", body.Name, o.value)
		}
		for _, s := range o.chain {
			v = take(&graph.Builder{G: g}, s, v)
		}
		args = append(args, v)
	}
	g.SetOutput(args)
	g.EliminateDead()
	for i, p := range g.Placeholders() {
		g.Rename(p, fmt.Sprintf("arg%d_1", i))
		p.Target = p.Name
	}
	return g, nil
}
