package inductor

import (
	"slices"

	"tcdbg/inductor/ir"
	"tcdbg/ops/sym"
)

// This file finds what depends on parameters alone. It runs in the prologue, once
// and again when a parameter changes, and its results stay in memory between
// calls.

// hoistBytes is how much a hoisted buffer may take without regard to what it is
// made of.
const hoistBytes = 1 << 20

// markHoisted marks the nodes that the prologue can run.
func markHoisted(p *ir.Program) {
	writers := map[*ir.Buffer][]*ir.Node{}
	for _, n := range p.Nodes {
		n.Writes(func(b *ir.Buffer, _ *ir.Index) { writers[b] = append(writers[b], n) })
	}
	fixed := func(b *ir.Buffer) bool {
		if b.Kind == ir.Input {
			return b.Param && !b.Trained
		}
		return !slices.ContainsFunc(writers[b], func(n *ir.Node) bool { return !n.Hoisted })
	}
	for _, n := range p.Nodes {
		n.Hoisted = hoistable(n)
	}
	for again := true; again; { // what lost one of its inputs is lost itself
		again = false
		for _, n := range p.Nodes {
			if !n.Hoisted {
				continue
			}
			n.Reads(func(b *ir.Buffer, _ *ir.Index) { n.Hoisted = n.Hoisted && fixed(b) })
			n.Writes(func(b *ir.Buffer, _ *ir.Index) { n.Hoisted = n.Hoisted && fixed(b) })
			again = again || !n.Hoisted && feeds(n, writers)
		}
	}
}

// feeds reports whether the node shares what it writes with nodes before it,
// which must be looked at again; those after it are yet to come.
func feeds(n *ir.Node, writers map[*ir.Buffer][]*ir.Node) bool {
	shared := false
	n.Writes(func(b *ir.Buffer, _ *ir.Index) { shared = shared || len(writers[b]) > 1 })
	return shared
}

// hoistable reports whether nothing but its operands speaks against running n
// once: sizes are known, nothing leaves the program, and what it makes is not
// much larger than what it is made of.
func hoistable(n *ir.Node) bool {
	if n.Kind == ir.Extern || n.Checks() || !sym.AllConst(n.Sizes()) {
		return false
	}
	read, written, ok := int64(0), int64(0), true
	n.Reads(func(b *ir.Buffer, _ *ir.Index) { read += b.Bytes() })
	n.Writes(func(b *ir.Buffer, _ *ir.Index) {
		written += b.Bytes()
		ok = ok && b.Kind == ir.Temp
	})
	for i := range n.Body {
		x := &n.Body[i].Index
		_, known := x.Off.IsConst()
		ok = ok && known && sym.AllConst(x.Coef)
	}
	return ok && written <= max(hoistBytes, 2*read)
}
