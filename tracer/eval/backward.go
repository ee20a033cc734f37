package eval

import (
	"slices"

	"tcdbg/graph"
	"tcdbg/graph/decompose"
	"tcdbg/graph/derive"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer/breaks"
	"tcdbg/tracer/value"

	"golang.org/x/tools/go/ssa"
)

// This file captures loss.Backward(), where torch.Compile was asked for that: the
// derivatives of the operators that computed the loss are appended to the graph, under
// torch.NoGrad as eager mode computes them, and what reaches a leaf becomes a store to
// its gradient. What follows, clipping or the step of an optimizer, sees gradients that
// the graph computes.

// passes are the backward passes that a trace has captured.
type passes struct {
	calls  []ssa.Instruction
	leaves [][]*value.Source // that each has given a gradient
	// spent are the calls of operators that a pass has differentiated: their history is
	// gone, as it is freed in eager mode.
	spent map[*graph.Node]bool
}

// capturedPass is one such pass.
type capturedPass struct {
	*derive.Pass
	tr     *Trace
	flow   *flow
	now    *graph.Node                   // what is being differentiated
	made   map[*graph.Node]bool          // what the pass has written
	inputs map[*graph.Node]*input        // leaves, by node
	leaves []*input                      // that a gradient has reached, in order
	sums   map[*graph.Node]*torch.Tensor // gradients that were there before and are added to
	done   bool
}

// backward evaluates loss.Backward().
func backward(tr *Trace, in *ssa.Call) {
	if !tr.Backward {
		natives{tr}.refuseNative(in, tensorMethod+"Backward")
	}
	loss := tr.tensorNode(in.Call.Args[0])
	if rest := in.Call.Args[1]; (*(*[]torch.Option)(tr.addr(rest))) != nil {
		refusePass("options are given")
	}
	capturePass(tr, in, loss)
	tr.skip()
	tr.set(in, nil)
}

func refusePass(format string, args ...any) {
	breakAt(breaks.TensorBackward, breaks.NotCaptured+format, args...)
}

// capturePass captures the backward pass of a call that starts at loss.
func capturePass(tr *Trace, in *ssa.Call, loss *graph.Node) {
	tr.inBackward("calls Tensor.Backward")
	tr.inFlow("calls Tensor.Backward")
	if why, ok := tr.Avoid[in]; ok {
		refusePass("%s", why)
	}
	tr.Guards.GradMode()
	switch f := tr.flowOf(); {
	case f.tangled != "":
		refusePass("%s", f.tangled)
	case !f.needs[loss] || !torch.GradEnabled():
		refusePass("the tensor does not require gradients")
	}
	if v, ok := sym.Product(loss.TensorMeta().Shape).IsConst(); !ok || v != 1 {
		refusePass("the tensor has several elements")
	}
	loss = expandForPass(tr, loss)
	p := &capturedPass{
		tr: tr, flow: tr.flowOf(), made: map[*graph.Node]bool{}, inputs: map[*graph.Node]*input{}, sums: map[*graph.Node]*torch.Tensor{},
	}
	p.Pass = &derive.Pass{G: tr.Graph, Needs: p.flow.needs, Grads: map[*graph.Node]ops.Value{}, NoGrad: true, Stack: tr.stack()}
	p.Taken = p.reachesLeaf
	for _, in := range tr.inputs {
		p.inputs[in.node] = in
	}
	defer p.undo(tr.Graph.Last())
	p.run(loss)
	p.store()
	p.done = true
	tr.passes.calls = append(tr.passes.calls, in)
	var leaves []*value.Source
	for _, l := range p.leaves {
		leaves = append(leaves, l.src)
	}
	tr.passes.leaves = append(tr.passes.leaves, leaves)
}

// undo takes back what the pass has written after last, where it was refused.
func (p *capturedPass) undo(last *graph.Node) {
	for !p.done && p.G.Last() != last {
		p.G.Erase(p.G.Last())
	}
}

// expandForPass expands what eager mode would have differentiated in parts, and returns
// what loss is after that.
func expandForPass(tr *Trace, loss *graph.Node) *graph.Node {
	tensors := map[*graph.Node]*torch.Tensor{}
	for t, n := range tr.Nodes {
		tensors[n] = t
	}
	told := func(old, now *graph.Node) {
		if t := tensors[old]; t != nil {
			tr.Nodes[t] = now
			tensors[now] = t
			if v, ok := tr.views[t]; ok {
				tr.views[t] = viewMeta{now, v.writes}
			}
		}
		if old == loss {
			loss = now
		}
	}
	for {
		f := tr.flowOf()
		wanted := func(n *graph.Node) bool {
			row := n.OpRow()
			return f.needs[n] && row != nil && !row.Tags.Has(ops.TagInPlace|ops.TagNoGrad) &&
				(row.Backward == nil || row.Tags.Has(ops.TagMaybeView) || len(n.Statistics()) > 0)
		}
		if decompose.ExpandTold(tr.Graph, wanted, told) == 0 {
			return loss
		}
	}
}

// run differentiates the graph, last operator first.
func (p *capturedPass) run(loss *graph.Node) {
	last := p.G.Last()
	p.now = last
	seed := p.Builder(loss).Emit(ops.OnesLike, loss).(*graph.Node)
	p.Add(loss, seed)
	p.check(last)
	for n := last; n != nil && n.Kind != graph.Placeholder; n = n.Prev() {
		p.now = n
		before := p.G.Last()
		switch row := n.OpRow(); {
		case n.Apply != nil:
			p.refuseApply(n)
		case n.Flow != nil && p.Needs[n]:
			refusePass("gradients flow through " + callOf[n.Flow.Op])
		case row == nil: // a piece, which its call takes the gradient of
		case row.Tags.Has(ops.TagInPlace):
			p.inPlace(n, row)
		case p.Needs[n]:
			p.operator(n, row)
		}
		p.check(before)
	}
}

func (p *capturedPass) operator(n *graph.Node, row *ops.Op) {
	grads, ok := p.Operator(n)
	if !ok {
		if slices.ContainsFunc(grads, func(g ops.Value) bool { return g != nil }) {
			refusePass("%s has no derivative", row.Name)
		}
		return
	}
	p.spend(n, row)
}

// inPlace goes back over a call in place: what it wrote has its gradient from the call,
// and what was there before gets one.
func (p *capturedPass) inPlace(n *graph.Node, row *ops.Op) {
	needed, flows := p.flow.before[n]
	if !flows {
		return
	}
	self := n.Args[0].(*graph.Node)
	g := p.Grads[self]
	delete(p.Grads, self)
	p.Needs[self] = needed
	if g == nil {
		return
	}
	f := ops.Get(ops.Functional(row.ID))
	if f.Backward == nil {
		refusePass("%s has no derivative", row.Name)
	}
	call := &ops.Call{Op: f, Args: ops.PureArgs(row, n.Args)}
	p.Call(n, &ops.BackwardCall{Call: call, Outs: []ops.Value{n}, Grads: []ops.Value{g}})
	p.spend(n, row)
}

// spend notes that eager mode would free what n has saved.
func (p *capturedPass) spend(n *graph.Node, row *ops.Op) {
	if p.Missing != "" {
		refusePass("%s has no derivative", p.Missing)
	}
	if p.tr.passes.spent[n] {
		p.tr.retry, p.tr.retryWhy = p.tr.passes.calls[0], "a later one goes through what this one has freed"
		refusePass("%s was differentiated by an earlier one", row.Name)
	}
	if p.tr.passes.spent == nil {
		p.tr.passes.spent = map[*graph.Node]bool{}
	}
	p.tr.passes.spent[n] = true
}

func (p *capturedPass) refuseApply(n *graph.Node) {
	for _, u := range n.Users() {
		if p.Grads[u] != nil {
			refusePass("the loss depends on an autograd function")
		}
	}
}

// check refuses a derivative that reads what the graph has changed since the operator
// ran, as eager mode does; it looks at what was written after before.
func (p *capturedPass) check(before *graph.Node) {
	for m := before.Next(); m != nil; m = m.Next() {
		p.made[m] = true
		ins := m.Inputs()
		if row := m.OpRow(); row != nil && row.Tags.Has(ops.TagInPlace) { // a sum of gradients, which is never read
			ins = ins[1:]
		}
		for _, in := range ins {
			p.unchanged(in, p.flow.at[p.now])
		}
	}
}

// unchanged refuses to read what the graph has written after place at.
func (p *capturedPass) unchanged(in *graph.Node, at int) {
	if p.made[in] {
		return
	}
	w, written := p.flow.written[p.flow.root(in)]
	row := p.now.OpRow()
	own := row != nil && row.Tags.Has(ops.TagInPlace) && in == p.now.Args[0]
	if written && (w > at || own) {
		refusePass("the derivative of %s reads %s, which is changed in place after it", p.now.Name, in.Name)
	}
}
