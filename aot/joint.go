package aot

import (
	"fmt"

	"tcdbg/graph"
	"tcdbg/graph/derive"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
)

// This file traces the joint graph: the forward operators, then, with the
// gradients of the outputs as further inputs (tangents), the gradients of the
// inputs by the operators' derivative rules.

// joint is a forward graph with its gradients.
type joint struct {
	g        *graph.Graph
	inputs   []*graph.Node // placeholders of the forward graph
	outs     []ops.Arg     // forward outputs
	tangents []*graph.Node // one for each differentiable output
	wants    []int         // the outputs that tangents belong to
	grads    []ops.Arg     // one for each input, nil where none
	needed   []int         // inputs that outputs with a tangent may depend on
	last     *graph.Node   // last forward node
	// made holds what derivative rules make of nothing, such as the zeros for an
	// overwritten tensor: the gradient that each rule was given.
	made  map[*graph.Node][]ops.Value
	gates []gate // of functions with a derivative of their own
	// one tells that both parts stay one graph, whose arguments nobody changes in between.
	one bool
	// pass is what differentiates. What it is missing only the backward pass refuses,
	// as in eager mode.
	pass *derive.Pass
}

// training compiles forward and backward of a functional graph.
func (c *compilation) training() (Runnable, error) {
	f, p := c.pure, c.parts
	p.written, p.shows, p.sizes = f.mutations, f.shows, f.sizes
	forward := Part{Graph: p.forward, Stage: "forward", Written: f.written()}
	if len(p.wants) == 0 {
		forward.Replaces = f.replaced(true)
	}
	fw, _, err := c.compilePure(forward, f.fresh())
	if err != nil {
		return nil, err
	}
	if len(p.wants) == 0 {
		return f.wrap(func(in []torch.Value) []torch.Value { return fw(in)[:p.outs] }), nil
	}
	p.follow()
	bw, _, err := c.compilePure(Part{Graph: p.backward, Stage: "backward", Written: f.written()}, nil)
	if err != nil {
		return nil, err
	}
	return f.wrap(p.runnable(f.graph, fw, bw)), nil
}

// code is the text of the joint graph.
func (j *joint) code() string { return j.whole().Code() }

// whole is a copy of the joint graph that returns the outputs and the gradients.
func (j *joint) whole() *graph.Graph {
	g, to := j.g.Clone(j.g.Name)
	var outs []ops.Arg
	for _, list := range [][]ops.Arg{j.outs, j.grads} {
		for _, a := range list {
			if n, ok := a.(*graph.Node); ok {
				a = to[n]
			}
			outs = append(outs, a)
		}
	}
	g.SetOutput(outs)
	return g
}

// trace builds the joint graph of f for the given example inputs.
func trace(f *functional, example []torch.Value) (*joint, error) {
	h, _ := f.graph.Clone(f.graph.Name + "_joint")
	j := &joint{g: h, inputs: h.Placeholders(), made: map[*graph.Node][]ops.Value{}}
	out := h.OutputNode()
	j.outs = append([]ops.Arg(nil), out.Args...)
	h.Erase(out)
	j.last = h.Last()
	needs := map[*graph.Node]bool{}
	j.pass = &derive.Pass{G: h, Needs: needs, Grads: map[*graph.Node]ops.Value{}}
	for i, p := range j.inputs {
		if f.inputs[i].wantsGrad(example) {
			needs[p] = true
		}
	}
	j.pass.Propagate(h.First())
	silent := f.silentOutputs()
	for i, a := range j.outs {
		n, ok := a.(*graph.Node)
		if !ok || !needs[n] || silent[i] {
			continue
		}
		meta := *n.TensorMeta()
		meta.RequiresGrad = false
		meta.Stride, meta.Offset = ops.ContiguousStrides(meta.Shape), sym.C(0)
		name := fmt.Sprintf("tangents_%d", len(j.tangents)+1)
		t := h.Input(name, name, "", &meta)
		j.tangents = append(j.tangents, t)
		j.wants = append(j.wants, i)
		j.pass.Add(n, t)
	}
	return j, j.backward()
}

// silentOutputs are those that replace an argument's content without that a
// gradient flows through the change.
func (f *functional) silentOutputs() map[int]bool {
	silent := map[int]bool{}
	for _, m := range f.mutations {
		silent[m.index] = !m.grad
	}
	for _, o := range f.outputs {
		delete(silent, o.index)
		delete(silent, o.tape)
	}
	return silent
}

// backward appends the derivatives of all forward nodes, last first.
func (j *joint) backward() error {
	needs, grads := j.pass.Needs, j.pass.Grads
	for n := j.last; n != nil; n = n.Prev() {
		if n.Kind == graph.Placeholder {
			break
		}
		derive := j.derive
		switch {
		case !needs[n]:
			continue
		case n.Apply != nil:
			derive = j.deriveApply
		case n.Flow != nil:
			derive = j.deriveFlow
		case n.Op == ops.None:
			continue
		}
		if err := derive(n); err != nil {
			return err
		}
	}
	for i, p := range j.inputs {
		if needs[p] {
			j.needed = append(j.needed, i)
		}
		var d ops.Arg
		if needs[p] && grads[p] != nil {
			d = grads[p].(*graph.Node)
		}
		j.grads = append(j.grads, d)
	}
	j.dissolve()
	return nil
}

// derive differentiates a call of an operator.
func (j *joint) derive(n *graph.Node) error {
	before := j.g.Last()
	grads, ok := j.pass.Operator(n)
	if !ok {
		return nil
	}
	j.noteMade(before, grads)
	return nil
}

// deriveFlow differentiates control flow.
func (j *joint) deriveFlow(n *graph.Node) error {
	before := j.g.Last()
	if grads, ok := j.pass.Flow(n); ok {
		j.noteMade(before, grads)
	}
	return nil
}

// noteMade notes what a derivative has made of nothing after before.
func (j *joint) noteMade(before *graph.Node, grads []ops.Value) {
	for m := before.Next(); m != nil; m = m.Next() {
		if len(m.Inputs()) == 0 {
			j.made[m] = grads
		}
	}
}
