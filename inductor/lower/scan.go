package lower

import (
	"tcdbg/inductor/ir"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file lowers running sums, products and extremes: one loop in its order,
// the others beside each other.

// running is the node that scans self along its dim.
func (c *call) running() (b *body, src *tensor, ok bool, err error) {
	src = c.self()
	if len(src.shape) == 0 {
		return nil, src, false, nil
	}
	d, _ := c.arg("dim").(sym.Int)
	dim, err := ops.WrapDim(d, len(src.shape))
	if err != nil {
		return nil, nil, false, err
	}
	marks := make([]bool, len(src.shape))
	marks[dim] = true
	return c.l.sequentialNode(src.shape, marks), src, true, nil
}

// scanned is a running sum or product; floating-point ones are kept in double
// precision, as eager keeps them.
func scanned(r ir.ReduceOp) lowerFunc {
	return func(c *call) error {
		m := c.meta()
		b, src, ok, err := c.running()
		if err != nil {
			return err
		}
		if !ok || m.DType == ops.Bool {
			return c.extern(ir.ReasonArgs)
		}
		out := c.bindResult()
		v := b.operandOf(src, m.DType)
		if m.DType.IsFloat() {
			v = b.cast(v, ops.Float64)
		}
		b.store(out.buf, out.stride, b.scan(r, v))
		return nil
	}
}

// operandOf loads t as type d.
func (b *body) operandOf(t *tensor, d ops.DType) int { return b.cast(b.load(t), d) }

// extremes is a running extreme and where it is: the last of several equal
// ones, and NaN before all others.
func extremes(r ir.ReduceOp) lowerFunc {
	return func(c *call) error {
		b, src, ok, err := c.running()
		if err != nil {
			return err
		}
		list := c.n.Meta.([]ops.Result)
		if !ok {
			return c.extern(ir.ReasonArgs)
		}
		out, at := c.bufferFor(list[0].(*ops.TensorMeta)), c.bufferFor(list[1].(*ops.TensorMeta))
		x := b.load(src)
		best := b.scan(r, x)
		here := b.op(ir.Eq, x, best)
		if b.dtype(x).IsFloat() {
			here = b.op(ir.Or, here, b.op(ir.IsNaN, x))
		}
		index := b.int(ops.Int64, 0)
		if b.n.Kind == ir.Sequential {
			index = b.add(ir.Value{Op: ir.IndexOf, DType: ops.Int64, Index: b.position()})
		}
		last := b.scan(ir.RMax, b.op(ir.Where, here, index, b.int(ops.Int64, -1)))
		b.store(out.buf, out.stride, best)
		b.store(at.buf, at.stride, last)
		c.l.multi[c.n] = []*tensor{out, at}
		return nil
	}
}
