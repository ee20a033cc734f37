package aot

import (
	"fmt"
	"runtime"
	"slices"

	"tcdbg/graph"
	"tcdbg/graph/decompose"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
)

// This file splits a joint graph in two (the partitioner) and runs the parts: the forward graph
// gives the outputs and what the backward graph needs besides the tangents.

// parts is a joint graph split in two.
type parts struct {
	forward, backward *graph.Graph
	outs              int        // forward outputs before the saved values
	saved             int        // number of saved values
	choice            *choice    // of what is saved and what is computed again
	wants             []int      // outputs whose tangents the backward graph takes
	grads             []int      // input of each gradient
	needs             []int      // inputs that the outputs depend on, gradient or not
	written           []mutation // arguments that change after the forward graph
	missing           string     // an operator without derivative
	depends           [][]bool   // of each gradient, by tangent
	gates             []gate
	// shows are forward outputs that lie in an argument's memory, which sizes evaluates
	// the sizes of; there are none where an argument is a base, so that those are the
	// captured graph's inputs.
	shows map[int]shown
	sizes func(in []torch.Value) func(sym.Int) sym.Int
}

// partition splits the joint graph: what depends on a tangent is backward, and of the forward
// values that it reads some are saved and others computed again. The budget is the part of the
// memory for saved values that the fastest choice takes, 0 to 1.
func (j *joint) partition(budget float64) *parts {
	late := j.lateNodes()
	p := &parts{outs: len(j.outs), wants: j.wants, needs: j.needed, missing: j.pass.Missing, gates: j.gates}
	need := j.reachable()
	p.choice = j.choose(late, need, j.read(late, need), budget)
	saved, again := p.choice.saved, p.choice.again
	backward := func(n *graph.Node) bool { return late[n] && need[n] || again[n] }
	sizes := j.hiddenSizes(backward, saved)
	p.forward = j.forwardGraph(late, saved, sizes)
	p.backward = j.backwardGraph(backward, again, saved, sizes, p)
	p.saved = len(saved) + len(sizes)
	return p
}

// lateNodes are those that depend on a tangent, and what derivatives make of nothing.
func (j *joint) lateNodes() map[*graph.Node]bool {
	late := map[*graph.Node]bool{}
	for _, t := range j.tangents {
		late[t] = true
	}
	for _, t := range j.gates {
		late[t.node] = true
	}
	derivative := false
	for n := j.g.First(); n != nil; n = n.Next() {
		late[n] = late[n] || derivative && len(n.Inputs()) == 0 // zeros are made, not saved
		for _, in := range n.Inputs() {
			if late[in] {
				late[n] = true
			}
		}
		derivative = derivative || n == j.last
	}
	return late
}

// read lists the forward values that derivatives read or that are gradients themselves.
func (j *joint) read(late, need map[*graph.Node]bool) []*graph.Node {
	var list []*graph.Node
	seen := map[*graph.Node]bool{}
	add := func(n *graph.Node) {
		if !late[n] && !seen[n] {
			seen[n] = true
			list = append(list, n)
		}
	}
	for n := j.g.First(); n != nil; n = n.Next() {
		if late[n] && need[n] {
			for _, in := range n.Inputs() {
				add(in)
			}
		}
	}
	for _, d := range j.grads {
		if n, ok := d.(*graph.Node); ok {
			add(n)
		}
	}
	return list
}

// follow gives the backward graph the layouts in which the forward graph, whose
// operators were expanded since, leaves what it saves.
func (p *parts) follow() {
	moved := map[*graph.Node]bool{}
	saved := p.forward.OutputNode().Args[p.outs:]
	for i, in := range p.backward.Placeholders()[:len(saved)] {
		if n, ok := saved[i].(*graph.Node); ok && !decompose.SameLayout(in.Meta, n.Meta) {
			in.Meta, moved[in] = n.Meta, true
		}
	}
	decompose.Repropagate(p.backward, moved)
}

// reachable marks what the gradients need.
func (j *joint) reachable() map[*graph.Node]bool {
	need := map[*graph.Node]bool{}
	for _, d := range j.grads {
		if n, ok := d.(*graph.Node); ok {
			need[n] = true
		}
	}
	for n := j.g.Last(); n != nil; n = n.Prev() {
		if need[n] {
			for _, in := range n.Inputs() {
				need[in] = true
			}
		}
	}
	return need
}

func (j *joint) forwardGraph(late map[*graph.Node]bool, saved []*graph.Node, sizes []*sym.Symbol) *graph.Graph {
	g := graph.New(j.g.Name+"_forward", j.g.Env)
	g.Aten = true
	m := map[*graph.Node]*graph.Node{}
	for n := j.g.First(); n != nil; n = n.Next() {
		if !late[n] {
			m[n] = n.CopyInto(g, func(x *graph.Node) *graph.Node { return m[x] })
		}
	}
	var outs []ops.Arg
	for _, a := range j.outs {
		if n, ok := a.(*graph.Node); ok {
			a = m[n]
		}
		outs = append(outs, a)
	}
	for _, n := range saved {
		outs = append(outs, m[n])
	}
	for _, s := range sizes {
		outs = append(outs, s.Int())
	}
	g.SetOutput(outs)
	g.EliminateDead()
	return g
}

// backwardGraph copies the nodes that in names. What is computed again goes right before the first
// that reads it: until then it would lie in memory for nothing.
func (j *joint) backwardGraph(in func(*graph.Node) bool, again map[*graph.Node]bool, saved []*graph.Node, sizes []*sym.Symbol,
	p *parts,
) *graph.Graph {
	g := graph.New(j.g.Name+"_backward", j.g.Env)
	g.Aten = true
	m := map[*graph.Node]*graph.Node{}
	for _, n := range saved {
		m[n] = g.Input(n.Name, n.Name, "", n.Meta)
	}
	for _, s := range sizes {
		g.Input(s.Name, s.Name, "", s.Int())
	}
	for _, t := range j.tangents {
		m[t] = g.Input(t.Name, t.Target, "", t.Meta)
	}
	for _, t := range j.gates {
		m[t.node] = g.Input(t.node.Name, t.node.Target, "", t.node.Meta)
	}
	var put func(n *graph.Node)
	put = func(n *graph.Node) {
		for _, x := range n.Inputs() {
			if m[x] == nil {
				put(x)
			}
		}
		m[n] = n.CopyInto(g, func(x *graph.Node) *graph.Node { return m[x] })
	}
	for n := j.g.First(); n != nil; n = n.Next() {
		if in(n) && !again[n] && m[n] == nil {
			put(n)
		}
	}
	for _, d := range j.grads {
		if n, ok := d.(*graph.Node); ok && m[n] == nil {
			put(n)
		}
	}
	var outs []ops.Arg
	on := j.dependence()
	for i, d := range j.grads {
		if n, ok := d.(*graph.Node); ok {
			outs = append(outs, m[n])
			p.grads, p.depends = append(p.grads, i), append(p.depends, on[n])
		}
	}
	g.SetOutput(outs)
	g.EliminateDead()
	return g
}

// runnable runs the forward graph and hangs the backward graph on its outputs. The
// pure graph that both were split from is kept for second derivatives.
func (p *parts) runnable(pure *graph.Graph, fw, bw Runnable) Runnable {
	return func(in []torch.Value) []torch.Value {
		vals := fw(in)
		outs, saved := vals[:p.outs:p.outs], vals[p.outs:]
		p.protect(in, saved)
		var ins, res []*torch.Tensor
		for _, i := range p.needs {
			ins = append(ins, in[i].(*torch.Tensor))
		}
		for _, i := range p.wants { // a result of its own, whatever the graph returned
			t := outs[i].(*torch.Tensor).Detach()
			if s, ok := p.shows[i]; ok {
				t = s.of(in, p.sizes(in))
			}
			outs[i] = t
			res = append(res, t)
		}
		versions := versionsOf(saved)
		own := madeForBackward(saved, in, outs)
		var kept map[*torch.Storage]bool
		torch.WithCompiledBackward("CompiledFunctionBackward", ins, res, func(ds []*torch.Tensor) []*torch.Tensor {
			p.check(saved, versions)
			grads := p.gradients(bw, saved, res, ds)
			kept = apart(grads, saved, ds)
			return grads
		}, p.rerun(pure, in, ins), func() { release(own, kept) })
		return outs
	}
}

// madeForBackward are the saved values that nobody else has: neither arguments of the call, whatever
// made them, nor its results.
func madeForBackward(saved, in, outs []torch.Value) []*torch.Tensor {
	others := map[*torch.Storage]bool{}
	for _, list := range [][]torch.Value{in, outs} {
		for _, v := range list {
			if t, ok := v.(*torch.Tensor); ok {
				others[t.Storage()] = true
			}
		}
	}
	var out []*torch.Tensor
	for _, v := range saved {
		if t, ok := v.(*torch.Tensor); ok && !others[t.Storage()] {
			out = append(out, t)
		}
	}
	return out
}

// release gives back what the forward graph made for the backward graph alone, but for what became
// a gradient: waiting for the collector, it would lie in memory beside the next step's.
func release(own []*torch.Tensor, kept map[*torch.Storage]bool) {
	for _, t := range own {
		if !kept[t.Storage()] {
			torch.Release(t)
		}
	}
}

// apart makes gradients that are saved values or tangents tensors of their own over the same
// memory, which no leaf may keep and no one give back, and returns these memories.
func apart(grads []*torch.Tensor, saved []torch.Value, ds []*torch.Tensor) map[*torch.Storage]bool {
	given, shared := map[*torch.Storage]bool{}, map[*torch.Storage]bool{}
	for _, v := range saved {
		if t, ok := v.(*torch.Tensor); ok {
			given[t.Storage()] = true
		}
	}
	for _, d := range ds {
		if d != nil {
			given[d.Storage()] = true
		}
	}
	for i, g := range grads {
		if g != nil && given[g.Storage()] {
			shared[g.Storage()] = true
			grads[i] = g.Detach()
		}
	}
	return shared
}

// protect copies saved arguments that change after the forward graph.
func (p *parts) protect(in, saved []torch.Value) {
	for _, m := range p.written {
		st := in[m.arg].(*torch.Tensor).Storage()
		for i, v := range saved {
			if t, ok := v.(*torch.Tensor); ok && t.Storage() == st {
				saved[i] = sameLayoutCopy(t)
			}
		}
	}
}

// sameLayoutCopy copies the memory that t shows, gaps, repeats and all: the
// backward graph was compiled for these strides.
func sameLayoutCopy(t *torch.Tensor) *torch.Tensor {
	shape, stride, off := t.Layout()
	size := t.DType().Size()
	first, last := off*size, end(shape, stride, off)*size
	torch.CountCopied(last - first)
	s := torch.NewStorage(last - first)
	copy(s.Bytes(), t.Storage().Bytes()[first:last])
	runtime.KeepAlive(t)
	return torch.FromStorage(s, t.DType(), shape, stride, 0)
}

func versionsOf(saved []torch.Value) []uint64 {
	out := make([]uint64, len(saved))
	for i, v := range saved {
		if t, ok := v.(*torch.Tensor); ok && t.Storage() != nil {
			out[i] = t.Storage().Version()
		}
	}
	return out
}

// check refuses a backward pass whose saved values the program has changed in
// the meantime, and one through an operator without derivative.
func (p *parts) check(saved []torch.Value, versions []uint64) {
	if p.missing != "" {
		panic(&torch.Error{Op: "backward", Kind: "RuntimeError", Msg: fmt.Sprintf("derivative for aten::%s is not implemented", p.missing)})
	}
	for i, now := range versionsOf(saved) {
		if now != versions[i] {
			panic(torch.Overwritten(saved[i].(*torch.Tensor), now, versions[i]))
		}
	}
}

// gradients runs the backward graph; an output that got no gradient counts as
// zero, and what only such outputs depend on gets none. The results are those of
// the inputs in needs.
func (p *parts) gradients(bw Runnable, saved []torch.Value, res, ds []*torch.Tensor) []*torch.Tensor {
	args := append([]torch.Value(nil), saved...)
	given := make([]bool, len(ds))
	for i, d := range ds {
		if d == nil {
			d = torch.ZerosLike(res[i])
		} else {
			given[i] = true
		}
		if !d.IsContiguous() {
			countCopy(d)
		}
		args = append(args, d.Contiguous())
	}
	for _, g := range p.gates {
		args = append(args, g.value(given))
	}
	vals := bw(args)
	out, k := make([]*torch.Tensor, len(p.needs)), 0
	for i, in := range p.needs {
		if k < len(p.grads) && p.grads[k] == in {
			if p.reachedBy(k, given) {
				out[i] = vals[k].(*torch.Tensor)
			}
			k++
		}
	}
	return out
}

// dependence tells of each node of the joint graph which tangents it depends on.
func (j *joint) dependence() map[*graph.Node][]bool {
	on := map[*graph.Node][]bool{}
	for i, t := range j.tangents {
		on[t] = make([]bool, len(j.tangents))
		on[t][i] = true
	}
	add := func(n, in *graph.Node) {
		if on[in] == nil {
			return
		}
		if on[n] == nil {
			on[n] = make([]bool, len(j.tangents))
		}
		for i, b := range on[in] {
			on[n][i] = on[n][i] || b
		}
	}
	for n := j.g.First(); n != nil; n = n.Next() {
		for _, in := range n.Inputs() {
			add(n, in)
		}
		for _, v := range j.made[n] {
			if in, ok := v.(*graph.Node); ok {
				add(n, in)
			}
		}
	}
	return on
}

// reachedBy reports whether the k-th gradient depends on one of the outputs that
// got a gradient themselves.
func (p *parts) reachedBy(k int, given []bool) bool {
	for i, g := range given {
		if g && p.depends[k] != nil && p.depends[k][i] {
			return true
		}
	}
	return !slices.Contains(given, false)
}
