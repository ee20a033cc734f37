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
	gone := copiesFor(p, widens, func(n *ir.Node, b *ir.Buffer) bool {
		return n.Kind == ir.Matmul && n.MM.Conv != nil && n.MM.A == b && n.MM.B != b && narrow(n)
	})
	for _, r := range gone {
		for _, n := range r.uses {
			mm := *n.MM
			mm.A = r.copy.Body[0].Buf
			n.MM = &mm
			n.Origins = append(slices.Clone(r.copy.Origins), n.Origins...)
		}
	}
	withoutCopies(p, gone)
	return len(gone)
}

// widens reports whether a copy reads bfloat16 and writes float32, each number to its own place.
func widens(n *ir.Node) bool {
	from, to := n.Body[0], n.Body[1]
	return from.Buf.DType == ops.BFloat16 && to.Buf.DType == ops.Float32 &&
		sym.Same(from.Index.Off, to.Index.Off) && sym.AllSame(from.Index.Coef, to.Index.Coef)
}
