package lower

import (
	"fmt"
	"math"

	"tcdbg/graph"
	"tcdbg/inductor/ir"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file lowers what copies, creates or reinterprets memory.

// clone copies into the layout that the rule gives.
func clone(c *call) error {
	src := c.self()
	out := c.bindResult()
	b := c.l.pointwiseNode(src.shape)
	b.store(out.buf, out.stride, b.load(src))
	return nil
}

// maybeCopy is for contiguous and to: the tensor itself where type and layout
// stay, else a (converting) copy.
func maybeCopy(c *call) error {
	src, m := c.self(), c.meta()
	if src.dtype == m.DType && sym.AllSame(src.stride, m.Stride) && !c.flag("copy") {
		return c.result(src)
	}
	if src.line != nil && src.dtype.IsFloat() == m.DType.IsFloat() && sym.AllSame(src.stride, m.Stride) {
		t := *src
		t.dtype = m.DType
		return c.result(&t)
	}
	if src.line == nil && sym.AllSame(src.stride, m.Stride) && c.row.ID == ops.To && widensForProducts(c.n) {
		t := *src
		t.dtype = m.DType
		return c.result(&t)
	}
	return clone(c)
}

// reshape is a view where the layout allows it, else a copy in row-major order
// of the source that is then seen in the new shape.
func reshape(c *call) error {
	src, m := c.self(), c.meta()
	if stride, ok := viewStrides(src.shape, src.stride, m.Shape); ok {
		t := *src
		t.shape, t.stride = m.Shape, stride
		return c.result(&t)
	}
	tmp := c.temp(src.shape, src.dtype, func(b *body) int { return b.load(src) })
	return c.result(&tensor{buf: tmp.buf, dtype: src.dtype, shape: m.Shape, stride: ops.ContiguousStrides(m.Shape)})
}

// viewStrides finds strides with which the elements of (shape, stride), in
// row-major order, are seen as want. Runs of dimensions that lie one after the
// other are matched with runs of the wanted shape of the same product.
func viewStrides(shape, stride, want []sym.Int) ([]sym.Int, bool) {
	for _, s := range want {
		if sym.Is(s, 0) {
			return ops.ContiguousStrides(want), true
		}
	}
	out := make([]sym.Int, len(want))
	j := len(want) - 1
	for i := len(shape) - 1; i >= 0; {
		if sym.Is(shape[i], 1) {
			i--
			continue
		}
		step, run := stride[i], shape[i]
		for i--; i >= 0 && (sym.Is(shape[i], 1) || sym.Same(stride[i], sym.Mul(step, run))); i-- {
			run = sym.Mul(run, shape[i])
		}
		for !sym.Is(run, 1) {
			if j < 0 {
				return nil, false
			}
			if !sym.Is(sym.Mod(run, want[j]), 0) {
				return nil, false
			}
			out[j] = step
			step, run = sym.Mul(step, want[j]), sym.FloorDiv(run, want[j])
			j--
		}
	}
	next := sym.Const(1)
	if j+1 < len(want) {
		next = sym.Mul(out[j+1], want[j+1])
	}
	for ; j >= 0; j-- {
		if !sym.Is(want[j], 1) {
			return nil, false
		}
		out[j] = next
	}
	return out, true
}

// full makes a tensor without memory: readers take the number itself.
func full(c *call) error {
	switch a := c.arg("fill_value").(type) {
	case float64, bool:
		return c.line(ops.NumberOf(a), sym.Const(int64(ops.NumberOf(a))), sym.Int{})
	case sym.Int:
		if v, ok := a.IsConst(); ok {
			return c.line(float64(v), a, sym.Int{})
		}
		if c.meta().DType.IsFloat() {
			return c.filled(a)
		}
		return c.line(0, a, sym.Int{})
	case *graph.Node:
		return c.filled(a)
	}
	return fmt.Errorf("fill_value is a %T", c.arg("fill_value"))
}

// filled stores a number that is known only at run time.
func (c *call) filled(a ops.Arg) error {
	out := c.bindResult()
	b := c.l.pointwiseNode(out.shape)
	b.store(out.buf, out.stride, c.operand(b, a, out.dtype))
	return nil
}

func constant(v int64) lowerFunc {
	return func(c *call) error { return c.line(float64(v), sym.Const(v), sym.Int{}) }
}

func (c *call) line(f float64, start, step sym.Int) error {
	m := c.meta()
	return c.result(&tensor{line: &line{f: f, start: start, step: step}, dtype: m.DType, shape: m.Shape, stride: m.Stride})
}

// arange with integer bounds is a line of numbers; with fractions it is a loop.
func arange(c *call) error {
	start, step := c.arg("start"), c.arg("step")
	if start == nil || c.arg("end") == nil { // a lone bound is the end
		start = sym.Int{}
	}
	if step == nil {
		step = sym.Const(1)
	}
	a, aok := start.(sym.Int)
	s, sok := step.(sym.Int)
	if aok && sok {
		return c.line(0, a, s)
	}
	out := c.bindResult()
	b := c.l.pointwiseNode(out.shape)
	at := b.loadAt(&tensor{line: &line{step: sym.Const(1)}, dtype: ops.Float64}, b.index(&tensor{shape: out.shape, stride: out.stride}))
	from, by := ops.NumberOf(start), ops.NumberOf(step)
	if out.dtype.IsInt() { // both are converted first
		from, by = math.Trunc(from), math.Trunc(by)
	}
	v := b.add2(b.number(ops.Float64, from), b.mul2(at, b.number(ops.Float64, by)))
	b.store(out.buf, out.stride, v)
	return nil
}

// linspace counts from both ends, so that both are exact.
func linspace(c *call) error {
	out := c.meta()
	n, ok := out.Shape[0].IsConst()
	if !ok {
		return c.extern(ir.ReasonArgs)
	}
	start, end := ops.NumberOf(c.arg("start")), ops.NumberOf(c.arg("end"))
	if out.DType.IsInt() { // the bounds are converted first
		start, end = math.Trunc(start), math.Trunc(end)
	}
	step := 0.0
	if n > 1 {
		step = (end - start) / float64(n-1)
	}
	t := c.bindResult()
	b := c.l.pointwiseNode(t.shape)
	count := func(off, coef int64) int { // an address of the only loop
		x := ir.Index{Off: sym.Const(off), Coef: []sym.Int{sym.Const(coef)}}
		return b.cast(b.add(ir.Value{Op: ir.IndexOf, DType: ops.Int64, Index: x}), ops.Float64)
	}
	num := func(f float64) int { return b.float(ops.Float64, f) }
	up := b.add2(num(start), b.mul2(num(step), count(0, 1)))
	down := b.op(ir.Sub, num(end), b.mul2(num(step), count(n-1, -1)))
	first := b.op(ir.Lt, count(0, 1), num(float64(max(n/2, 1))))
	b.store(t.buf, t.stride, b.op(ir.Where, first, up, down))
	return nil
}
