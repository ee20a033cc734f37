package lower

import (
	"math"

	"tcdbg/inductor/ir"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file lowers a scatter of one element a row into a constant, as the gradient of a cross entropy has it: a comparison of
// the positions with where the loop is. It is a value like any other, which fuses into what reads it; written as a
// scatter, a table of zeros comes first, for the sake of one number in each row.

// isOneHot reports whether a scatter is of one element for each row of self, and self one number.
func isOneHot(self *tensor, dim int, index *tensor) bool {
	if self.line == nil || !sym.Is(self.line.step, 0) || !sym.Is(index.shape[dim], 1) {
		return false
	}
	for d := range self.shape {
		if d != dim && !sym.Same(self.shape[d], index.shape[d]) {
			return false
		}
	}
	return true
}

// oneHot makes in each row hit of self's number and the source's at the position of index, and self's number elsewhere.
func oneHot(c *call, self *tensor, dim int, index *tensor, hit func(b *body, old, src int) int) error {
	out := c.bindResult()
	b := c.l.pointwiseNode(out.shape)
	at := b.position2(out.shape[dim], picked{dim: dim, at: b.cast(b.load(index), ops.Int64)})
	here := b.loop(dim)
	if n, known := out.shape[dim].IsConst(); known && n <= math.MaxInt32 { // twice as many fit in a vector
		at, b.n.Body[here].DType = b.cast(at, ops.Int32), ops.Int32
	}
	on := b.op(ir.Eq, here, at)
	old := b.load(self)
	b.store(out.buf, out.stride, b.op(ir.Where, on, hit(b, old, c.sourceAt(b, index, out)), old))
	return nil
}
