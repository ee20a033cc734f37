package plan

import (
	"slices"

	"tcdbg/inductor/ir"
	"tcdbg/inductor/sched"
	"tcdbg/ops/sym"
)

// This file finds the outputs that replace the content of an input and can be
// written where it lies (Inductor's reinplacing): a step of an optimizer writes
// the parameters themselves and not a copy that is copied back.

// inPlace are the buffers that can lie where an input lies, with its position.
func (p *Plan) inPlace() map[*ir.Buffer]int {
	out := map[*ir.Buffer]int{}
	if len(p.replaces) == 0 {
		return out
	}
	uses := map[*ir.Buffer]int{} // among the outputs
	for i := range p.IR.Outputs {
		uses[p.IR.Outputs[i].Buf]++
	}
	at, checked := p.touches(), p.checkedAt()
	for i, input := range p.replaces {
		o, in := &p.IR.Outputs[i], p.IR.Inputs[input]
		if o.Buf != nil && in != nil && uses[o.Buf] == 1 && uses[in] == 0 && sameLayout(o, in) &&
			p.replaceable(at[in], at[o.Buf], in, o.Buf) && at[o.Buf].writes[0] > checked {
			out[o.Buf] = input
		}
	}
	return out
}

// checkedAt is the last group that checks data, -1 for none. Where a check fails the
// graph runs again on inputs as they were, which nothing may have written until then.
func (p *Plan) checkedAt() int {
	for i := len(p.Kernels) - 1; i >= 0; i-- {
		if k := p.Kernels[i]; k != nil && k.Checks() {
			return i
		}
	}
	return -1
}

// sameLayout reports whether an output is a whole buffer that lies as the input.
func sameLayout(o *ir.Output, in *ir.Buffer) bool {
	b := o.Buf
	if b.Kind != ir.Result || b.DType != in.DType || !sym.Is(o.Off, 0) {
		return false
	}
	same := func(x, y []sym.Int) bool { return slices.EqualFunc(x, y, sym.Same) }
	return same(o.Shape, in.Shape) && same(o.Stride, in.Stride) && same(b.Shape, in.Shape) && same(b.Stride, in.Stride)
}

// touched are the groups, in their order, that read or write a buffer.
type touched struct{ reads, writes []int }

func (t *touched) writtenBy(group int) bool { return t != nil && slices.Contains(t.writes, group) }

func (p *Plan) touches() map[*ir.Buffer]*touched {
	out := map[*ir.Buffer]*touched{}
	of := func(b *ir.Buffer) *touched {
		if out[b] == nil {
			out[b] = &touched{}
		}
		return out[b]
	}
	for i, g := range p.Groups {
		for _, it := range g.Members() {
			it.Node.Reads(func(b *ir.Buffer, _ *ir.Index) { of(b).reads = append(of(b).reads, i) })
			it.Node.Writes(func(b *ir.Buffer, _ *ir.Index) { of(b).writes = append(of(b).writes, i) })
		}
	}
	return out
}

// replaceable reports whether the one group that writes out is the last that
// reads in, and reads each element no later than it writes it.
func (p *Plan) replaceable(ofIn, ofOut *touched, in, out *ir.Buffer) bool {
	if ofOut == nil || len(ofOut.writes) != 1 {
		return false
	}
	at := ofOut.writes[0]
	g := p.Groups[at]
	if g.Extern || g.Hoisted {
		return false
	}
	if ofIn == nil || slices.Max(append([]int{-1}, ofIn.reads...)) < at {
		return true
	}
	return slices.Max(ofIn.reads) == at && readsBeforeWrite(g, in, out)
}

// readsBeforeWrite reports whether a group loads an element of in, if at all, in
// the iteration that stores the element of out, and not after that store. Only
// the items of one pass run in their order: what reduces makes a pass of its own.
func readsBeforeWrite(g *sched.Group, in, out *ir.Buffer) bool {
	type load struct {
		index ir.Index
		inner bool
	}
	var loads []load
	stored := false
	if g.Before != nil && slices.ContainsFunc(g.Before.Items, func(it *sched.Item) bool { return reads(it.Node, in) }) {
		return false // a tile needs all channels of its pixels
	}
	for _, it := range g.Items {
		if it.Node.Kind == ir.Matmul && !reads(it.Node, in) { // what follows it runs element by element
			continue
		}
		if it.Node.Kind != ir.Pointwise {
			return false
		}
		for _, v := range it.Body {
			switch {
			case v.Buf == in:
				if stored || v.Op != ir.Load {
					return false
				}
				loads = append(loads, load{v.Index, it.Inner})
			case v.Buf == out && v.Op == ir.Store:
				if slices.ContainsFunc(loads, func(l load) bool { return l.inner != it.Inner || !l.index.Equal(v.Index) }) {
					return false
				}
				stored = true
			}
		}
	}
	return stored
}

// reads reports whether a node reads a buffer.
func reads(n *ir.Node, b *ir.Buffer) bool {
	found := false
	n.Reads(func(r *ir.Buffer, _ *ir.Index) { found = found || r == b })
	return found
}
