package layout

import (
	"slices"
	"strings"

	"tcdbg/inductor/ir"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file lets concatenations that begin with the same pieces share memory. In DenseNet
// each layer reads what all layers before it made: every concatenation of a block is the
// longest one without its last pieces. Where each has memory of its own, a layer writes its
// result once for each that follows. A short one becomes the beginning of the longest, whose
// pieces are written where the short one's were.

// joined is a buffer that copies alone write, each a piece of it.
type joined struct {
	buf    *ir.Buffer
	pieces []*ir.Node // in the order in which they lie
	uses   []*ir.Node
	within *joined // the longer one that it lies in; nil for none
	moved  moved
}

// moved is how addresses change: so many elements are from one part of the outer dimensions
// to the next, in the short one and in the long one.
type moved struct{ from, to int64 }

// Concat joins the concatenations of a lowered program and returns how many have no memory of
// their own any more.
func Concat(p *ir.Program) int {
	all := concatenations(p)
	starts := startsOf(all)
	slices.SortStableFunc(all, func(a, b *joined) int { return len(b.pieces) - len(a.pieces) })
	var short []*joined
	for _, long := range all {
		if long.within != nil {
			continue
		}
		for _, j := range starts.of(long) {
			if j != long && j.within == nil && j.fits(long) {
				j.within = long
				short = append(short, j)
			}
		}
	}
	rejoin(p, short)
	return len(short)
}

// concatenations are the buffers between loops that copies alone write, in several pieces.
func concatenations(p *ir.Program) []*joined {
	of, other := map[*ir.Buffer]*joined{}, map[*ir.Buffer]bool{}
	var all []*joined
	for _, n := range p.Nodes {
		n.Writes(func(b *ir.Buffer, _ *ir.Index) {
			switch {
			case b.Kind != ir.Temp || !copies(n) || !sym.AllSame(b.Stride, ops.ContiguousStrides(b.Shape)):
				other[b] = true
			case of[b] == nil:
				of[b] = &joined{buf: b, pieces: []*ir.Node{n}}
				all = append(all, of[b])
			default:
				of[b].pieces = append(of[b].pieces, n)
			}
		})
		n.Reads(func(b *ir.Buffer, _ *ir.Index) {
			if j := of[b]; j != nil && (len(j.uses) == 0 || j.uses[len(j.uses)-1] != n) {
				j.uses = append(j.uses, n)
			}
		})
	}
	return slices.DeleteFunc(all, func(j *joined) bool { return other[j.buf] || len(j.pieces) < 2 })
}

// copies reports whether a node copies one buffer, or a part of it, in every call.
func copies(n *ir.Node) bool {
	return n.Kind == ir.Pointwise && !n.Hoisted && len(n.Body) == 2 && n.Body[0].Op == ir.Load && n.Body[1].Op == ir.Store
}

// starts finds the concatenations whose pieces are the first ones of another: a tree whose
// edges are pieces.
type starts struct {
	next map[edge]int
	at   map[int][]*joined // [] /* node */ those that end there
}

type edge struct {
	node  int
	piece string
}

func startsOf(all []*joined) *starts {
	s := &starts{next: map[edge]int{}, at: map[int][]*joined{}}
	for _, j := range all {
		node := 0
		for _, n := range j.pieces {
			e := edge{node, pieceText(n)}
			if s.next[e] == 0 {
				s.next[e] = len(s.next) + 1
			}
			node = s.next[e]
		}
		s.at[node] = append(s.at[node], j)
	}
	return s
}

// of lists those with which a concatenation begins, itself among them.
func (s *starts) of(long *joined) []*joined {
	var out []*joined
	node := 0
	for _, n := range long.pieces {
		node = s.next[edge{node, pieceText(n)}]
		out = append(out, s.at[node]...)
	}
	return out
}

// pieceText is the same for copies of the same piece.
func pieceText(n *ir.Node) string {
	load := &n.Body[0]
	words := []string{load.Buf.Name, load.Index.Off.String()}
	for i, c := range load.Index.Coef {
		words = append(words, c.String(), n.Outer[i].String())
	}
	return strings.Join(words, " ")
}

// fits reports whether a concatenation can lie within a longer one, whose first pieces are the
// same, and keeps how.
func (j *joined) fits(long *joined) bool {
	m, ok := between(j.buf, long.buf)
	if !ok || j.buf.DType != long.buf.DType {
		return false
	}
	for i, n := range j.pieces {
		x, ok := m.index(n.Body[1].Index, n.Outer, 0)
		if !ok || !x.Equal(long.pieces[i].Body[1].Index) {
			return false
		}
	}
	for _, n := range j.uses {
		if n.Kind == ir.Extern || !m.node(n, j.buf, nil) {
			return false
		}
	}
	j.moved = m
	return true
}

// between compares the shapes of two buffers, which differ in one dimension.
func between(short, long *ir.Buffer) (moved, bool) {
	if len(short.Shape) != len(long.Shape) {
		return moved{}, false
	}
	inner := int64(1)
	for d := len(short.Shape) - 1; d >= 0; d-- {
		a, ok := short.Shape[d].IsConst()
		b, same := long.Shape[d].IsConst()
		if !ok || !same || a == 0 {
			return moved{}, false
		}
		if a != b {
			return moved{inner * a, inner * b}, sym.AllSame(short.Shape[:d], long.Shape[:d])
		}
		inner *= a
	}
	return moved{1, 1}, true
}

// index is an address in the longer buffer, which goes beyond what the loops say by so many
// elements; false where loops do not stay within one part of the outer dimensions.
func (m moved) index(x ir.Index, sizes []sym.Int, beyond int64) (ir.Index, bool) {
	off, ok := x.Off.IsConst()
	if !ok || off < 0 {
		return x, false
	}
	y := ir.Index{Off: sym.Const(off/m.from*m.to + off%m.from), Coef: slices.Clone(x.Coef)}
	last := off%m.from + beyond
	for k, coef := range x.Coef {
		by, known := coef.IsConst()
		switch {
		case !known || by < 0:
			return x, false
		case by%m.from == 0:
			y.Coef[k] = sym.Const(by / m.from * m.to)
			continue
		}
		trips, fixed := sizes[k].IsConst()
		if !fixed {
			return x, false
		}
		last += by * max(0, trips-1)
	}
	return y, last < m.from
}

// node moves a node's addresses of a buffer to another, or, where that is nil, says whether it could.
func (m moved) node(n *ir.Node, from, to *ir.Buffer) bool {
	for i := range n.Body {
		v := &n.Body[i]
		if v.Buf != from || !v.Accesses() {
			continue
		}
		x, ok := m.index(v.Index, n.Sizes(), 0)
		if !ok || v.Op != ir.Load {
			return false
		}
		if to != nil {
			v.Buf, v.Index = to, x
		}
	}
	return n.Kind != ir.Matmul || m.product(n, from, to)
}

// product is node for the operands of a product.
func (m moved) product(n *ir.Node, from, to *ir.Buffer) bool {
	mm, sizes := *n.MM, append(slices.Clone(n.Outer), n.MM.K)
	if mm.Out == from {
		return false
	}
	ok := true
	if mm.A == from {
		mm.AIdx, ok = m.index(mm.AIdx, sizes, 0)
		mm.A = to
	}
	if mm.B == from && ok {
		beyond, known := int64(0), true
		if c := mm.Conv; c != nil {
			k, fixed := mm.K.IsConst()
			beyond, known = (k/(c.KH*c.KW)-1)*c.ChanStride+(c.Height-1)*c.RowStride+(c.Width-1)*c.Stride, fixed
		}
		mm.BIdx, ok = m.index(mm.BIdx, sizes, beyond)
		mm.B, ok = to, ok && known
	}
	if ok && to != nil {
		n.MM = &mm
	}
	return ok
}

// rejoin moves what uses the short ones. Of the copies of a piece the first one stays, and
// computes what all of them did.
func rejoin(p *ir.Program, short []*joined) {
	place := map[*ir.Node]int{}
	for i, n := range p.Nodes {
		place[n] = i
	}
	gone, dropped := map[*ir.Node]bool{}, map[*ir.Buffer]bool{}
	for _, j := range short {
		dropped[j.buf] = true
		for _, n := range j.uses {
			j.moved.node(n, j.buf, j.within.buf)
		}
		for i, n := range j.pieces {
			first, other := j.within.pieces[i], n
			if place[n] < place[first] {
				first, other = n, first
			}
			first.Body[1].Buf, first.Body[1].Index = j.within.buf, j.within.pieces[i].Body[1].Index
			first.Origins = append(first.Origins, other.Origins...)
			j.within.pieces[i] = first
			gone[other] = true
		}
	}
	p.Nodes = slices.DeleteFunc(p.Nodes, func(n *ir.Node) bool { return gone[n] })
	p.Buffers = slices.DeleteFunc(p.Buffers, func(b *ir.Buffer) bool { return dropped[b] })
}
