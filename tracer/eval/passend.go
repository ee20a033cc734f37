package eval

import (
	"math"
	"unsafe"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer/breaks"
)

// This file is the end of a captured backward pass: what reaches a leaf becomes its
// gradient, or is added to the one that it has, and nothing that leaves the graph may
// still have the history that eager mode has freed.

// reachesLeaf takes the gradient d of n where n is an input that has a gradient already:
// d is added to that in place, each in the order in which eager mode adds it.
func (p *capturedPass) reachesLeaf(n *graph.Node, d ops.Value) bool {
	in := p.inputs[n]
	if in == nil {
		return false
	}
	old, known := p.sums[n]
	if !known {
		p.refuseNoLeaf(in)
		p.leaves = append(p.leaves, in)
		old = p.gradientOf(in)
		p.sums[n] = old
	}
	if old == nil {
		return false
	}
	p.Builder(n).Emit(ops.InPlace(ops.Add), p.tr.Nodes[old], d)
	return true
}

// refuseNoLeaf breaks where a gradient would leave the graph, or the program looks on.
func (p *capturedPass) refuseNoLeaf(in *input) {
	t := in.tensor
	p.tr.Guards.Leaf(in.src, t)
	if !t.IsLeaf() {
		refusePass("%s"+breaks.GradientLeaves, in.src.Argument())
	}
	p.tr.Guards.Hooks(in.src, torch.Hooked(t))
	if torch.Hooked(t) {
		refusePass("a hook is registered on %s", in.src.Argument())
	}
}

// gradientOf is the gradient that a leaf has here in the trace, nil for none.
func (p *capturedPass) gradientOf(in *input) *torch.Tensor {
	tr := p.tr
	place, loc := unsafe.Pointer(in.tensor.GradPlace()), tr.src.Grad(in.src)
	var g *torch.Tensor
	tr.In.Copy(loc.Type, unsafe.Pointer(&g), place)
	n := tr.loadEntry(loc.Type, place, unsafe.Pointer(&g), loc)
	if g == nil {
		if n != nil && n.Src != nil {
			tr.Guards.Nil(n.Src, true)
		}
		return nil
	}
	node := tr.nodeOf(g, n)
	if p.flow.needs[node] || g.RequiresGrad() {
		refusePass("the gradient of %s requires gradients itself", in.src.Argument())
	}
	for _, other := range tr.inputs {
		if other.node != node && tr.inputOf[g] != nil && other.tensor.Storage() == g.Storage() {
			p.flow.roots[node] = p.flow.root(other.node)
		}
	}
	p.flow.written[p.flow.root(node)] = math.MaxInt
	return g
}

// store makes what the pass has computed the gradients of the leaves.
func (p *capturedPass) store() {
	tr := p.tr
	taken := map[*graph.Node]bool{}
	for _, in := range p.leaves {
		if old := p.sums[in.node]; old != nil {
			row := ops.Get(ops.InPlace(ops.Add))
			tr.mutate(old, row)
			w := tr.writes[tr.baseOf(old)]
			w.times++
			tr.writes[tr.baseOf(old)] = w
			continue
		}
		d := p.own(in, p.Grads[in.node].(*graph.Node), taken)
		taken[d] = true
		t := tr.fake(d)
		loc := tr.src.Grad(in.src)
		tr.storeEntry(loc.Type, unsafe.Pointer(in.tensor.GradPlace()), unsafe.Pointer(&t), loc, nil)
	}
}

// own is the gradient d of a leaf as a tensor of its own, laid out as eager mode lays
// gradients out.
func (p *capturedPass) own(in *input, d *graph.Node, taken map[*graph.Node]bool) *graph.Node {
	want, have := in.node.TensorMeta(), d.TensorMeta()
	stride := ops.LikeStrides(want)
	if have.DType != want.DType || !sym.AllSame(have.Shape, want.Shape) {
		refusePass("the gradient of %s is of another shape or type", in.src.Argument())
	}
	if o := ownerOf(d); p.made[o] && !taken[o] && o.TensorMeta().DType == want.DType && sym.AllSame(o.TensorMeta().Shape, want.Shape) &&
		sym.AllSame(o.TensorMeta().Stride, stride) && sym.AllSame(have.Stride, stride) {
		return o
	}
	p.unchanged(d, -1)
	format := "preserve_format"
	if sym.AllSame(stride, ops.ContiguousStrides(want.Shape)) {
		format = "contiguous_format"
	} else if !sym.AllSame(ops.LikeStrides(have), stride) {
		refusePass("the gradient of %s is laid out otherwise than the tensor", in.src.Argument())
	}
	c := p.Builder(d).Emit(ops.Clone, d, format).(*graph.Node)
	p.made[c] = true
	return c
}

// ownerOf is the value whose memory d shows.
func ownerOf(d *graph.Node) *graph.Node {
	for {
		from := viewedBy(d, d.OpRow())
		if from == nil {
			return d
		}
		d = from
	}
}

// settle returns the outputs whose history a captured pass has freed, and takes all
// calls off the tape. Where an output has a history that none has freed the trace is to
// be made again with a break before the first pass.
func settle(tr *Trace, outs []*torch.Tensor) (spent []int) {
	if len(tr.passes.calls) == 0 {
		return nil
	}
	f := tr.flowOf()
	again := func(why string) { tr.retry, tr.retryWhy = tr.passes.calls[0], why }
	if f.tangled != "" {
		again(f.tangled)
	}
	for i, t := range outs {
		n := tr.outward(t, tr.Nodes[t])
		if !f.needs[n] {
			continue
		}
		switch {
		case f.root(n).Kind == graph.Placeholder:
			again(n.Name + ", a view of an input that requires gradients, is used after the graph")
		case !f.freed(n, tr.passes.spent):
			again(breaks.HistoryLeaves + n.Name)
		}
		spent = append(spent, i)
	}
	for n := tr.Graph.First(); n != nil; n = n.Next() {
		n.NoGrad = n.Kind != graph.Placeholder && n.Kind != graph.Output
	}
	tr.Graph.Untaped = true
	return spent
}

// freed reports whether a pass has freed what lies between n and every leaf.
func (f *flow) freed(n *graph.Node, spent map[*graph.Node]bool) bool {
	if !f.needs[n] {
		return true
	}
	if n.Kind == graph.Placeholder {
		return false
	}
	for _, u := range n.Users() {
		if _, writes := f.before[u]; writes && u.Args[0] == any(n) && !spent[u] {
			for _, in := range u.GradInputs() {
				if in != n && !f.freed(in, spent) {
					return false
				}
			}
		}
	}
	if spent[n] {
		return true
	}
	for _, in := range n.GradInputs() {
		if !f.freed(in, spent) {
			return false
		}
	}
	return true
}
