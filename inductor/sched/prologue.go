package sched

import (
	"cmp"
	"fmt"
	"slices"

	"tcdbg/inductor/ir"
	"tcdbg/ops/sym"
)

// This file fuses what makes an image into the convolution that reads it: batch norm and ReLU
// before a convolution of one pixel, as in DenseNet, or the scale of squeeze-and-excitation.
// The template packs what a thread needs of the image, and asks for it block by block of
// channels; the image itself is never in memory. It is tried when nothing else can be fused
// any more, since it takes a finished group of loops as a whole.

// Members are the items of a group, those before its template first.
func (g *Group) Members() []*Item {
	if g.Before == nil {
		return g.Items
	}
	return append(slices.Clone(g.Before.Items), g.Items...)
}

// takesBefore reports whether a template could make its image itself: it reads blocks of
// channels, each pixel for one pixel of the result, which has blocks of channels as well.
func takesBefore(n *ir.Node) bool {
	c := n.MM.Conv
	if c == nil || c.Block < 2 || c.Lanes < 2 || n.Depthwise() || !n.Ungrouped() {
		return false
	}
	return c.KH*c.KW == 1 && c.StepH*c.StepW == 1 && c.PadH+c.PadW == 0 && sym.Is(n.MM.AIdx.Off, 0)
}

// waits reports whether a pair is left until nothing else can be fused.
func (c *candidate) waits() bool {
	if !c.vertical || !c.b.Template || c.a.Template || c.a.Extern || c.a.Hoisted {
		return false
	}
	n := templateNode(c.b)
	return takesBefore(n) && slices.ContainsFunc(c.a.accesses(), func(x access) bool { return x.write && x.buf == n.MM.A })
}

// prologues tries the pairs that waited.
func (s *scheduler) prologues() {
	for _, c := range s.candidates() {
		if s.over() {
			return
		}
		if c.waits() {
			s.tryBefore(&c)
		}
	}
	s.groups = slices.DeleteFunc(s.groups, func(g *Group) bool { return g.dead })
}

// tryBefore fuses c, or records why not.
func (s *scheduler) tryBefore(c *candidate) {
	step := s.decide(c)
	before, f := s.before(c)
	if f != nil {
		s.refuse(step, c, f)
		return
	}
	image := templateNode(c.b).MM.A
	step.Why = fmt.Sprintf("the template makes %s block by block as it packs it; saves %d B of memory traffic", image.Name, 2*image.Bytes())
	s.order.merge(c.b, c.a)
	c.b.Before, c.b.uses = before, nil
	absorb(c.b, c.a)
	s.merged++
	step.Fused, step.Reason, step.Result = true, "fused", c.b.Name()
	s.record(step)
}

// before is group a with loops over the blocks of the image that b's template reads, or why
// it has none.
func (s *scheduler) before(c *candidate) (*Group, *fusionRefusal) {
	a, b := c.a, c.b
	image := templateNode(b).MM.A
	switch {
	case a.typed():
		return nil, &fusionRefusal{"prologue fusion only supported for pointwise nodes", "the first reduces"}
	case len(a.Items)+len(b.Items) > s.opt.MaxFusion:
		return nil, &fusionRefusal{
			"exceeds max fusion",
			fmt.Sprintf("they are %d nodes together, the limit is %d", len(a.Items)+len(b.Items), s.opt.MaxFusion),
		}
	case s.order.between(a, b):
		return nil, &fusionRefusal{
			"intermediate nodes between node1 & node2",
			"another kernel needs the result of the first before the second may run",
		}
	}
	if other := s.readElsewhere(a, image); other != nil {
		return nil, &fusionRefusal{
			"template prologue can only fuse nodes with a single use into template",
			fmt.Sprintf("%s is needed in memory as well", other.Name),
		}
	}
	own := a.overBlocks(templateNode(b))
	if own == nil {
		return nil, &fusionRefusal{
			"prologue fusion not implemented for kernel for these inputs",
			fmt.Sprintf("the loops %s do not walk whole blocks of channels as the template reads them", a.Ranges()),
		}
	}
	return own, nil
}

// readElsewhere is a buffer that a writes and something besides a and the template reads, or
// that leaves the program; nil for none.
func (s *scheduler) readElsewhere(a *Group, image *ir.Buffer) *ir.Buffer {
	within := map[*ir.Buffer]int{image: 1}
	for _, it := range a.Items {
		it.Node.Reads(func(b *ir.Buffer, _ *ir.Index) { within[b]++ })
	}
	var found *ir.Buffer
	for _, it := range a.Items {
		it.Node.Writes(func(b *ir.Buffer, _ *ir.Index) {
			if b.Kind != ir.Temp || s.writers[b] != 1 || s.readers[b] != within[b] {
				found = b
			}
		})
	}
	return found
}

// overBlocks is a copy of a group with four loops: images, blocks of channels, pixels and
// the channels of a block, as the template reads them; nil where it does not walk them.
func (g *Group) overBlocks(n *ir.Node) *Group {
	out := &Group{Vars: g.Vars, first: g.first, last: g.last}
	var store *ir.Index
	for _, it := range g.Items {
		own := *it
		own.Body, own.Inner = slices.Clone(it.Body), true
		out.Items = append(out.Items, &own)
		for i := range own.Body {
			v := &own.Body[i]
			switch {
			case v.Scatters():
				return nil
			case v.Op == ir.Store && v.Buf == n.MM.A:
				store = &v.Index
			}
		}
	}
	if store == nil || !sym.Is(store.Off, 0) {
		return nil
	}
	loops, ok := blockLoops(g.Vars, store, n)
	if !ok || !out.inBlocks(loops, n) {
		return nil
	}
	return out
}

// slice is a part of a loop that walks images, blocks, pixels or channels: one step of it is so
// many of the loop's.
type slice struct {
	loop int
	step int64
	size sym.Int
	by   int64 // elements of the image
}

// blockLoops parts the loops that store an image into those over images, over blocks, over
// pixels and over channels, each from the inner one on.
func blockLoops(vars []Var, store *ir.Index, n *ir.Node) (loops [4][]slice, ok bool) {
	next, known := n.MM.AIdx.Coef[0].IsConst()
	bounds := [4]int64{next, n.MM.Conv.ChanStride, n.MM.Conv.Block, 1}
	for k, v := range vars {
		at, fixed := store.Coef[k].IsConst()
		if !fixed || !known || at <= 0 {
			return loops, false
		}
		for step := int64(1); ; {
			kind := slices.IndexFunc(bounds[:], func(b int64) bool { return at >= b })
			s := slice{k, step, sym.FloorDiv(v.Size, sym.Const(step)), at}
			left, static := s.size.IsConst()
			if kind > 0 && (!static || at*left > bounds[kind-1]) {
				count := bounds[kind-1] / at
				if bounds[kind-1]%at != 0 || static && left%count != 0 {
					return loops, false
				}
				s.size = sym.Const(count)
				loops[kind] = append(loops[kind], s)
				step, at = step*count, bounds[kind-1]
				continue
			}
			loops[kind] = append(loops[kind], s)
			break
		}
	}
	for _, l := range loops {
		slices.SortFunc(l, func(a, b slice) int { return cmp.Compare(a.by, b.by) })
	}
	return loops, true
}

// inBlocks gives the group its four loops, those that it does not have with one iteration;
// parts of a loop must follow one another in all that is read.
func (g *Group) inBlocks(loops [4][]slice, n *ir.Node) bool {
	vars, sizes := make([]Var, 4), make([]sym.Int, 4)
	for k, l := range loops {
		sizes[k] = sym.Const(1)
		for _, s := range l {
			sizes[k] = sym.Mul(sizes[k], s.size)
		}
		vars[k] = Var{Size: sizes[k], Inner: k == 3}
	}
	block := sym.Const(n.MM.Conv.Block)
	if !sym.AllSame(sizes, []sym.Int{n.Outer[0], sym.FloorDiv(n.MM.K, block), n.Outer[2], block}) {
		return false
	}
	xs, _ := g.addresses()
	for _, x := range xs {
		coef := make([]sym.Int, 4)
		for k, l := range loops {
			for i, s := range l {
				by := sym.Mul(x.Coef[s.loop], sym.Const(s.step))
				if i == 0 {
					coef[k] = by
				} else if !sym.Same(by, sym.Mul(sym.Mul(x.Coef[l[i-1].loop], sym.Const(l[i-1].step)), l[i-1].size)) {
					return false
				}
			}
		}
		x.Coef = coef
	}
	g.Vars = vars
	return true
}
