package lower

import (
	"tcdbg/inductor/ir"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file lowers paddings: one loop over the result computes where in the
// input each element comes from.

// constantPad is the input with a number around it; negative paddings crop.
func constantPad(c *call) error { return c.padded("constant") }

// pad does the same in every mode.
func pad(c *call) error { return c.padded(c.str("mode")) }

func (c *call) padded(mode string) error {
	x := c.real(c.self())
	list, _ := c.arg("pad").([]sym.Int)
	pads, ok := statics(list)
	if !ok {
		return c.extern(ir.ReasonArgs)
	}
	before := make([]int64, len(x.shape))
	var dims []int
	for i := range len(pads) / 2 {
		d := len(x.shape) - 1 - i
		lo, hi := pads[2*i], pads[2*i+1]
		if lo < 0 || hi < 0 {
			size := sym.Add(x.shape[d], sym.Const(min(lo, 0)+min(hi, 0)))
			if v, known := size.IsConst(); known && v <= 0 {
				return c.extern(ir.ReasonArgs)
			}
			x = x.part(d, span{sym.Const(max(-lo, 0)), size, sym.Const(1)})
		}
		if lo > 0 || hi > 0 {
			before[d] = max(lo, 0)
			dims = append(dims, d)
		}
	}
	out := c.bindResult()
	if sym.Is(sym.Product(x.shape), 0) {
		c.fillNumber(out, c.number("value", 0))
		return nil
	}
	if len(dims) == 0 {
		c.fill(out, x)
		return nil
	}
	b := c.l.pointwiseNode(out.shape)
	b.store(out.buf, out.stride, b.loadPadded(x, dims, before, mode, c.number("value", 0)))
	return nil
}

// loadPadded loads the element that mode puts at the current position; before
// says by dimension where the input begins.
func (b *body) loadPadded(x *tensor, dims []int, before []int64, mode string, fill float64) int {
	number := func(n int64) int { return b.int(ops.Int64, n) }
	shape := make([]sym.Int, b.rank)
	for k, d := range b.dims {
		shape[d] = b.sizeOf(k)
	}
	inside, at := -1, -1
	for _, d := range dims {
		n := b.size(x.shape[d], ops.Int64)
		last := b.op(ir.Sub, n, number(1))
		pos := b.op(ir.Sub, b.loop(d), number(before[d]))
		switch mode {
		case "constant":
			in := b.op(ir.And, b.op(ir.Le, number(0), pos), b.op(ir.Lt, pos, n))
			pos = b.op(ir.Where, in, pos, number(0))
			if inside >= 0 {
				in = b.op(ir.And, inside, in)
			}
			inside = in
		case "replicate":
			pos = b.op(ir.Max, number(0), b.op(ir.Min, pos, last))
		case "circular":
			pos = b.op(ir.Rem, pos, n)
		case "reflect":
			pos = b.op(ir.Sub, last, b.op(ir.Abs, b.op(ir.Sub, last, b.op(ir.Abs, pos))))
		}
		step := b.mul2(pos, b.size(x.stride[d], ops.Int64))
		if at >= 0 {
			step = b.add2(at, step)
		}
		at = step
	}
	v := b.add(ir.Value{Op: ir.LoadAt, DType: ir.Register(x.dtype), Buf: x.buf, Index: b.index(x.still(dims, shape)), Args: []int{at}})
	if inside >= 0 {
		v = b.op(ir.Where, inside, v, b.number(x.dtype, fill))
	}
	return v
}
