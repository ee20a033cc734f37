package layout

import (
	"slices"

	"tcdbg/inductor/ir"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file has convolutions read images of bfloat16 as they are. A convolution of half precision computes in float32, so that a
// copy of its image in float32 stands before it. Tiles and the dot product multiply numbers of bfloat16, for which the copy would be
// written in twice the bytes, only to be read and cut again.

// Halves has the convolutions of which narrow says so read what copies widen, and returns how many of these copies are gone.
func Halves(p *ir.Program, narrow func(*ir.Node) bool) int {
	gone, dropped := map[*ir.Node]bool{}, map[*ir.Buffer]bool{}
	for _, r := range widened(p, narrow) {
		for _, n := range r.uses {
			mm := *n.MM
			mm.A = r.copy.Body[0].Buf
			n.MM = &mm
			n.Origins = append(slices.Clone(r.copy.Origins), n.Origins...)
		}
		gone[r.copy], dropped[r.copy.Body[1].Buf] = true, true
	}
	p.Nodes = slices.DeleteFunc(p.Nodes, func(n *ir.Node) bool { return gone[n] })
	p.Buffers = slices.DeleteFunc(p.Buffers, func(b *ir.Buffer) bool { return dropped[b] })
	return len(gone)
}

// widened are the copies that make numbers of bfloat16 float32, in the same places, for the images of such convolutions alone.
func widened(p *ir.Program, narrow func(*ir.Node) bool) []*repeated {
	of, from := map[*ir.Buffer]*repeated{}, map[*ir.Buffer][]*repeated{}
	other := map[*repeated]bool{}
	var all []*repeated
	for _, n := range p.Nodes {
		n.Reads(func(b *ir.Buffer, _ *ir.Index) {
			if r := of[b]; r != nil {
				other[r] = other[r] || n.Kind != ir.Matmul || n.MM.Conv == nil || n.MM.A != b || n.MM.B == b || !narrow(n)
				r.uses = append(r.uses, n)
			}
		})
		n.Writes(func(b *ir.Buffer, _ *ir.Index) {
			for _, r := range from[b] { // what is read has to be what it was
				other[r] = true
			}
			if r := of[b]; r != nil {
				other[r] = true
			} else if b.Kind == ir.Temp && copies(n) && widens(n) {
				r := &repeated{copy: n}
				of[b], all = r, append(all, r)
				from[n.Body[0].Buf] = append(from[n.Body[0].Buf], r)
			}
		})
	}
	return slices.DeleteFunc(all, func(r *repeated) bool { return other[r] || len(r.uses) == 0 })
}

// widens reports whether a copy reads bfloat16 and writes float32, each number to its own place.
func widens(n *ir.Node) bool {
	from, to := n.Body[0], n.Body[1]
	return from.Buf.DType == ops.BFloat16 && to.Buf.DType == ops.Float32 &&
		sym.Same(from.Index.Off, to.Index.Off) && sym.AllSame(from.Index.Coef, to.Index.Coef)
}
