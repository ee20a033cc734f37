package lower

import (
	"tcdbg/graph"
	"tcdbg/ops"
)

// This file has products read numbers of half precision where the graph makes them float32 for nothing else, as attention does:
// what the template computes of them is the same, since it adds up in float32.

// isHalf reports whether a type is one that products widen.
func isHalf(d ops.DType) bool { return d == ops.BFloat16 || d == ops.Float16 }

// widensForProducts reports whether a call of to makes float32 of half precision, of which it is all that products read,
// beside another such operand.
func widensForProducts(n *graph.Node) bool {
	d, ok := widenedFrom(n)
	return ok && onlyMultiplied(n, d)
}

// widenedFrom is the type that an operand was of before it was made float32, whatever view of it is read.
func widenedFrom(a ops.Arg) (ops.DType, bool) {
	n, ok := a.(*graph.Node)
	for ok && n.IsTensor() && n.Op != ops.To && sameNumbers(n) {
		n, ok = ops.In[ops.SelfArgs](&ops.Call{Op: n.OpRow(), Args: n.Args}).Self.Arg.(*graph.Node)
	}
	if !ok || !n.IsTensor() || n.Op != ops.To || n.TensorMeta().DType != ops.Float32 {
		return 0, false
	}
	from := ops.In[ops.SelfArgs](&ops.Call{Op: n.OpRow(), Args: n.Args}).Self.Meta().DType
	return from, isHalf(from)
}

// sameNumbers reports whether a node is a view that shows numbers of its first argument alone.
func sameNumbers(n *graph.Node) bool {
	return n.IsTensor() && n.OpRow() != nil && n.OpRow().Tags.Has(ops.TagView) && len(n.Inputs()) == 1
}

func onlyMultiplied(n *graph.Node, d ops.DType) bool {
	for _, u := range n.Users() {
		switch {
		case u.Op == ops.Mm || u.Op == ops.Bmm || u.Op == ops.Matmul:
			for _, x := range u.Inputs() {
				if from, ok := widenedFrom(x); !ok || from != d {
					return false
				}
			}
		case !sameNumbers(u) || !onlyMultiplied(u, d):
			return false
		}
	}
	return n.NumUsers() > 0
}

// asStored are the operands of a product in the type that they have in memory, where it is one for both; an operand that has another
// is made float32 for the other's sake.
func asStored(c *call, x, y *tensor) (a, b *tensor) {
	stored := func(t *tensor) ops.DType {
		if t.line == nil {
			return t.buf.DType
		}
		return t.dtype
	}
	if dx, dy := stored(x), stored(y); dx == dy {
		a, b := *x, *y
		a.dtype, b.dtype = dx, dy
		return &a, &b
	}
	widened := func(t *tensor) *tensor {
		if stored(t) == t.dtype {
			return t
		}
		return c.temp(t.shape, t.dtype, func(b *body) int { return b.load(t) })
	}
	return widened(x), widened(y)
}
