package aot

import (
	"fmt"
	"slices"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
)

// This file gives inputs that show the same memory, of which one is written, a
// base: one flat argument, the memory itself, of which those inputs are views.
// How they lie in it is a condition of the compiled graph, which its caller
// guards.

// argument is what the pure graph takes: an input, or the memory under some.
type argument struct {
	input int // -1 for a base
	base  *base
}

// base is the memory under several inputs.
type base struct {
	members []int
	at      int // storage index of element 0, against the offset of members[0]
	span    int // elements
	// tape: the base is taken, and written, on the tape: gradients may flow
	// through the members.
	tape bool
}

// wantsGrad reports whether gradients reach the argument.
func (a argument) wantsGrad(example []torch.Value) bool {
	if a.base != nil {
		return a.base.tape && example[a.base.members[0]].(*torch.Tensor).ViewRoot().RequiresGrad()
	}
	t, ok := example[a.input].(*torch.Tensor)
	return ok && t.RequiresGrad()
}

// inputs makes the arguments of the pure graph.
func (f *functionalizer) inputs(example []torch.Value) error {
	groups, err := f.findBases(example)
	if err != nil {
		return err
	}
	taken := map[*base]*root{}
	for i, p := range placeholders(f.old) {
		f.res.metas = append(f.res.metas, p.Meta)
		b := groups[i]
		if b == nil {
			f.input(p, i)
			continue
		}
		if taken[b] == nil {
			taken[b] = f.baseInput(b, p, example)
		}
		f.member(p, i, taken[b], example[i].(*torch.Tensor))
	}
	return nil
}

// placeholders are the inputs of g, wherever they are.
func placeholders(g *graph.Graph) []*graph.Node {
	return slices.DeleteFunc(g.Nodes(), func(n *graph.Node) bool { return n.Kind != graph.Placeholder })
}

// input makes an input an argument.
func (f *functionalizer) input(p *graph.Node, i int) {
	val := p.CopyInto(f.g, f.value)
	f.made[p] = made{val, 0}
	var r *root
	if p.IsTensor() {
		r = newRoot(p.TensorMeta(), val, len(f.res.inputs))
		r.fixed = !f.written[p]
		f.alias[p] = alias{root: r, input: i}
	}
	f.roots = append(f.roots, r)
	f.res.inputs = append(f.res.inputs, argument{input: i})
}

// baseInput makes a base an argument; p is the first of its members.
func (f *functionalizer) baseInput(b *base, p *graph.Node, example []torch.Value) *root {
	m := p.TensorMeta()
	_, _, off := example[b.members[0]].(*torch.Tensor).Layout()
	meta := &ops.TensorMeta{
		DType: m.DType, Device: m.Device, RequiresGrad: b.tape && example[b.members[0]].(*torch.Tensor).ViewRoot().RequiresGrad(),
		Shape: []sym.Int{sym.C(b.span)}, Stride: []sym.Int{sym.C(1)}, Offset: sym.C(off + b.at),
	}
	val := f.g.Input(p.Name+"_base", p.Target+"_base", "", meta)
	r := newRoot(meta, val, len(f.res.inputs))
	f.roots = append(f.roots, r)
	f.res.inputs = append(f.res.inputs, argument{input: -1, base: b})
	return r
}

// member makes an input a view of its base.
func (f *functionalizer) member(p *graph.Node, i int, r *root, t *torch.Tensor) {
	shape, stride, off := t.Layout()
	step := viewStep{
		op: ops.AsStrided, origin: r.meta.Offset,
		args: []ops.Arg{nil, sym.Consts(shape), sym.Consts(stride), sym.C(off)},
	}
	f.alias[p] = alias{root: r, chain: []viewStep{step}, store: []viewStep{step}, twice: layoutOf(step).overlaps(), input: i}
	f.made[p] = made{nil, -1} // taken when it is read
}

// findBases returns the base of each input, nil for those that are arguments
// themselves.
func (f *functionalizer) findBases(example []torch.Value) ([]*base, error) {
	written, strided := f.scan()
	f.written = written
	phs := placeholders(f.old)
	groups := make([]*base, len(phs))
	f.writes = len(written) > 0
	f.res.writes = f.writes && (len(written) > 1 || !written[nil])
	byStorage := map[*torch.Storage][]int{}
	for i := range min(len(phs), len(example)) {
		if t, ok := example[i].(*torch.Tensor); ok && t.Storage() != nil {
			byStorage[t.Storage()] = append(byStorage[t.Storage()], i)
		}
	}
	for _, members := range byStorage {
		any, gaps := false, false
		for _, i := range members {
			any = any || written[phs[i]]
			_, dense := memoryOrder(phs[i].TensorMeta())
			gaps = gaps || strided[phs[i]] && !dense
		}
		if !any || len(members) == 1 && !gaps {
			continue
		}
		b, err := f.newBase(members, phs, example)
		if err != nil {
			return nil, err
		}
		for _, i := range members {
			groups[i] = b
		}
	}
	return groups, nil
}

// scan finds the tensors that operators in place write, and the inputs of which
// views are taken that go by storage index. A write to a value of the graph
// counts under a nil key.
func (f *functionalizer) scan() (written, strided map[*graph.Node]bool) {
	written, strided = map[*graph.Node]bool{}, map[*graph.Node]bool{}
	owner := map[*graph.Node]*graph.Node{} // the input whose memory a node shows
	for n := f.old.First(); n != nil; n = n.Next() {
		row := n.OpRow()
		switch {
		case n.Kind == graph.Placeholder:
			owner[n] = n
		case n.Kind == graph.Output:
		case n.Apply != nil || n.IsResultOfApply() || n.Flow != nil: // values of their own
		case row == nil: // getitem
			from, _ := n.Item()
			owner[n] = owner[from]
		case row.Tags.Has(ops.TagInPlace):
			owner[n] = owner[rewritten(n)]
			written[owner[n]] = true
		case row.Tags.Has(ops.TagView):
			src, _ := viewed(n)
			owner[n] = owner[src]
			_, several := n.Meta.([]ops.Result)
			strided[owner[n]] = strided[owner[n]] || !several && (!plainView[n.Op] || n.Op == ops.Expand)
		}
	}
	return written, strided
}

// newBase lays out the memory under members.
func (f *functionalizer) newBase(members []int, phs []*graph.Node, example []torch.Value) (*base, error) {
	first := example[members[0]].(*torch.Tensor)
	_, _, start := first.Layout()
	lo, hi := start, start
	b := &base{members: members, tape: f.train}
	for _, i := range members {
		t, m := example[i].(*torch.Tensor), phs[i].TensorMeta()
		if t.DType() != first.DType() {
			return nil, fmt.Errorf(
				"aot: inputs %s and %s share memory as %s and %s", phs[members[0]].Name, phs[i].Name, first.DType(),
				t.DType(),
			)
		}
		if !settled(m.Shape) || !settled(m.Stride) {
			return nil, fmt.Errorf("aot: input %s shares memory with another input and has dynamic sizes", phs[i].Name)
		}
		shape, stride, off := t.Layout()
		lo, hi = min(lo, off), max(hi, end(shape, stride, off))
	}
	b.at, b.span = lo-start, hi-lo
	if !b.tape {
		return b, nil
	}
	same := func(i int) bool { return example[i].(*torch.Tensor).ViewRoot() == first.ViewRoot() }
	if slices.ContainsFunc(members, func(i int) bool { return !same(i) }) {
		return nil, fmt.Errorf("aot: inputs that share memory with %s have autograd history of their own", phs[members[0]].Name)
	}
	return b, nil
}

// settled reports whether sizes are constants, or symbols that became some.
func settled(xs []sym.Int) bool {
	for _, x := range xs {
		for _, s := range x.Symbols() {
			if _, ok := s.Fixed(); !ok {
				return false
			}
		}
	}
	return true
}

// end is one more than the largest storage index of a layout.
func end(shape, stride []int, off int) int {
	for i, n := range shape {
		if n == 0 {
			return off
		}
		off += (n - 1) * stride[i]
	}
	return off + 1
}

// tensor is the memory in one call.
func (b *base) tensor(in []torch.Value) *torch.Tensor {
	first := in[b.members[0]].(*torch.Tensor)
	_, _, off := first.Layout()
	if b.tape {
		args := []ops.Arg{first.ViewRoot(), sym.Consts([]int{b.span}), sym.Consts([]int{1}), sym.C(off + b.at)}
		return torch.Call(ops.AsStrided, args)[0].(*torch.Tensor)
	}
	return torch.FromStorage(first.Storage(), first.DType(), []int{b.span}, []int{1}, off+b.at)
}
