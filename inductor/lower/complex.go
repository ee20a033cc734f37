package lower

import (
	"slices"

	"tcdbg/inductor/ir"
	"tcdbg/ops"
)

// This file lowers what reads or makes complex numbers: loops have none, so that the eager
// operator is called, as PyTorch's Inductor does. Views need no numbers, unless they see
// them as real ones.

// touchesComplex reports whether an argument or a result is complex.
func (c *call) touchesComplex() bool {
	for _, in := range c.n.Inputs() {
		if complexMeta(in.Meta) {
			return true
		}
	}
	return complexMeta(c.n.Meta)
}

// complexMeta reports whether a value is complex, or one of several that are.
func complexMeta(meta any) bool {
	if list, several := meta.([]ops.Result); several {
		return slices.ContainsFunc(list, func(r ops.Result) bool { return complexMeta(r) })
	}
	m, ok := meta.(*ops.TensorMeta)
	return ok && m.DType.IsComplex()
}

// complex lowers a call that touches complex numbers.
func (c *call) complex() error {
	switch {
	case c.n.Op == ops.ViewAsReal || c.n.Op == ops.ViewAsComplex: // another type of the same memory
	case c.row.Tags.Has(ops.TagView):
		return c.view()
	case c.n.Op == ops.Reshape:
		src, m := c.self(), c.meta()
		if stride, ok := viewStrides(src.shape, src.stride, m.Shape); ok {
			t := *src
			t.shape, t.stride = m.Shape, stride
			return c.result(&t)
		}
	}
	return c.extern(ir.ReasonComplex)
}
