package layout

import (
	"slices"

	"tcdbg/inductor/ir"
	"tcdbg/ops/sym"
)

// This file has products read what is repeated where it lies. Groups of heads that share keys and values have those repeated in
// memory, as models write it: a copy in which one loop does not move what is read. The product of a head reads the shared matrix
// instead: its loop over all heads becomes two, over groups and over the heads of a group, of which the second stands still.

// mostBatch is how many loops around a product's matrices the runtime takes.
const mostBatch = 4

// repeated is a copy, and the products that read what it writes.
type repeated struct {
	copy *ir.Node
	uses []*ir.Node
}

// Repeats has products read what copies repeat, and returns how many of these copies are gone.
func Repeats(p *ir.Program) int {
	var gone []*repeated
	for _, r := range repeats(p) {
		moved := make([]ir.Node, len(r.uses))
		ok := true
		for i, n := range r.uses {
			if moved[i], ok = r.within(n); !ok {
				break
			}
		}
		if !ok {
			continue
		}
		for i, n := range r.uses {
			*n = moved[i]
		}
		gone = append(gone, r)
	}
	withoutCopies(p, gone)
	return len(gone)
}

// repeats are the copies that repeat something for right operands of products alone.
func repeats(p *ir.Program) []*repeated {
	return copiesFor(p, stands, func(n *ir.Node, b *ir.Buffer) bool {
		return n.Kind == ir.Matmul && n.MM.Conv == nil && n.MM.Grad == nil && n.MM.A != b && n.MM.B == b
	})
}

// copiesFor are the copies of a kind that stand for what they copy: it stays what it was while they are read, which is by nodes
// that may read it, alone.
func copiesFor(p *ir.Program, kind func(*ir.Node) bool, may func(*ir.Node, *ir.Buffer) bool) []*repeated {
	of, from := map[*ir.Buffer]*repeated{}, map[*ir.Buffer][]*repeated{}
	other := map[*repeated]bool{}
	var all []*repeated
	for _, n := range p.Nodes {
		n.Reads(func(b *ir.Buffer, _ *ir.Index) {
			if r := of[b]; r != nil {
				other[r] = other[r] || !may(n, b)
				if !slices.Contains(r.uses, n) {
					r.uses = append(r.uses, n)
				}
			}
		})
		n.Writes(func(b *ir.Buffer, _ *ir.Index) {
			for _, r := range from[b] { // what is read has to be what it was
				other[r] = true
			}
			if r := of[b]; r != nil {
				other[r] = true
			} else if b.Kind == ir.Temp && copies(n) && kind(n) {
				r := &repeated{copy: n}
				of[b], all = r, append(all, r)
				from[n.Body[0].Buf] = append(from[n.Body[0].Buf], r)
			}
		})
	}
	return slices.DeleteFunc(all, func(r *repeated) bool { return other[r] || len(r.uses) == 0 })
}

// withoutCopies takes copies that nobody reads any more out of a program.
func withoutCopies(p *ir.Program, gone []*repeated) {
	nodes, buffers := map[*ir.Node]bool{}, map[*ir.Buffer]bool{}
	for _, r := range gone {
		nodes[r.copy], buffers[r.copy.Body[1].Buf] = true, true
	}
	p.Nodes = slices.DeleteFunc(p.Nodes, func(n *ir.Node) bool { return nodes[n] })
	p.Buffers = slices.DeleteFunc(p.Buffers, func(b *ir.Buffer) bool { return buffers[b] })
}

// stands reports whether a loop of a copy, whose store begins where its buffer does, does not move what is read.
func stands(n *ir.Node) bool {
	from, to := n.Body[0].Index, n.Body[1].Index
	found := false
	for k, size := range n.Outer {
		found = found || !from.Uses(k) && to.Uses(k) && !sym.Is(size, 1)
	}
	return found && sym.Is(to.Off, 0)
}

// within is a product that reads what the copy reads; false where its loops do not walk the copy as that was written.
func (r *repeated) within(n *ir.Node) (ir.Node, bool) {
	from, b, nb := r.copy.Body[0], n.MM.BIdx, len(n.Outer)-2
	mm := *n.MM
	mm.B, mm.BIdx = from.Buf, ir.Index{Off: from.Index.Off}
	mm.AIdx.Coef, mm.OutIdx.Coef = nil, nil
	out := *n
	out.MM, out.Outer = &mm, nil
	out.Origins = append(slices.Clone(n.Origins), r.copy.Origins...)
	if !sym.Is(b.Off, 0) {
		return out, false
	}
	used := map[int]bool{}
	for v, c := range b.Coef {
		size := mm.K
		if v < len(n.Outer) {
			size = n.Outer[v]
		}
		walks, ok := r.walks(c, size, used)
		if !ok || len(walks) > 1 && v >= nb {
			return out, false
		}
		step := sym.Const(1) // of what is left of the loop's variable
		for _, w := range walks[:len(walks)-1] {
			step = sym.Mul(step, w.size)
		}
		for i := len(walks) - 1; i >= 0; i-- {
			mm.BIdx.Coef = append(mm.BIdx.Coef, walks[i].coef)
			if v < len(n.Outer) {
				out.Outer = append(out.Outer, walks[i].size)
				mm.OutIdx.Coef = append(mm.OutIdx.Coef, sym.Mul(n.MM.OutIdx.Coef[v], step))
			}
			mm.AIdx.Coef = append(mm.AIdx.Coef, sym.Mul(n.MM.AIdx.Coef[v], step))
			if i > 0 {
				step = sym.FloorDiv(step, walks[i-1].size)
			}
		}
	}
	return out, len(out.Outer)-2 <= mostBatch
}

// walk is a loop of a product as the copy has it: its size, and how far it moves in what is read.
type walk struct{ size, coef sym.Int }

// walks are the loops, inner ones first, that a loop of a product is in the copy, where it moves by so many elements.
func (r *repeated) walks(step, size sym.Int, used map[int]bool) ([]walk, bool) {
	from, to := r.copy.Body[0].Index, r.copy.Body[1].Index
	if sym.Is(step, 0) || sym.Is(size, 1) {
		return []walk{{size, sym.Int{}}}, true
	}
	var out []walk
	whole := sym.Const(1)
	for !sym.Same(whole, size) {
		k := slices.IndexFunc(to.Coef, func(c sym.Int) bool { return sym.Same(c, step) })
		for ; k >= 0 && k < len(to.Coef) && (!sym.Same(to.Coef[k], step) || sym.Is(r.copy.Outer[k], 1)); k++ {
		}
		if k < 0 || k == len(to.Coef) || used[k] {
			return nil, false
		}
		used[k] = true
		own := r.copy.Outer[k]
		out, whole, step = append(out, walk{own, from.Coef[k]}), sym.Mul(whole, own), sym.Mul(step, own)
	}
	return out, true
}
