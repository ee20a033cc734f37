package sched

import (
	"slices"

	"tcdbg/inductor/ir"
	"tcdbg/ops/sym"
)

// This file says in which order pairs are tried.

// ranks says which candidates are tried first: what makes an operand of an epilogue and nothing else, as the mask of a
// gradient, then epilogues. When the epilogue is part of its template nothing can be fused before it any more.
func (s *scheduler) ranks(cs []candidate) {
	feeders := map[*Group][]*candidate{} // vertical pairs by their second group
	readers := map[*Group][]*Group{}
	var chain []*Group // what may become part of an epilogue
	for i := range cs {
		c := &cs[i]
		c.rank = 2
		if c.epilogue {
			c.rank = 1
		}
		switch {
		case !c.vertical || c.b.Template || c.b.Extern || c.b.typed():
		case c.epilogue:
			chain = append(chain, c.b)
		default:
			feeders[c.b] = append(feeders[c.b], c)
			readers[c.a] = append(readers[c.a], c.b)
		}
	}
	in := map[*Group]bool{}
	for i := 0; i < len(chain); i++ { // which grows
		if g := chain[i]; !in[g] {
			in[g] = true
			chain = append(chain, readers[g]...)
		}
	}
	for fed := slices.Clone(chain); len(fed) > 0; {
		b := fed[len(fed)-1]
		fed = fed[:len(fed)-1]
		for _, c := range feeders[b] {
			if !in[c.a] && s.onlyFor(c.a, b) {
				c.rank = 0
				fed = append(fed, c.a)
			}
		}
		delete(feeders, b)
	}
}

// onlyFor reports whether a is pointwise, walks as many elements as b does and writes nothing but what b reads.
func (s *scheduler) onlyFor(a, b *Group) bool {
	size := func(g *Group) sym.Int {
		n := sym.Const(1)
		for _, v := range g.Vars {
			n = sym.Mul(n, v.Size)
		}
		return n
	}
	if a.Template || a.Extern || a.typed() || !sym.Same(size(a), size(b)) {
		return false
	}
	read := map[*ir.Buffer]int{}
	for _, it := range b.Items {
		it.Node.Reads(func(r *ir.Buffer, _ *ir.Index) { read[r]++ })
	}
	for _, it := range a.Items {
		it.Node.Reads(func(r *ir.Buffer, _ *ir.Index) { read[r]++ })
	}
	return !slices.ContainsFunc(a.accesses(), func(x access) bool {
		return x.write && (x.buf.Kind != ir.Temp || s.readers[x.buf] != read[x.buf])
	})
}
