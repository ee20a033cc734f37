package lower

import (
	"fmt"

	"tcdbg/graph"
	"tcdbg/inductor/ir"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file lowers what puts a tensor together from pieces: one loop node
// writes each piece, the pieces do not overlap.

// span is a range of one dimension.
type span struct{ start, size, step sym.Int }

// part is the span of t along dim as a tensor of its own.
func (t *tensor) part(dim int, r span) *tensor {
	v := *t
	v.shape = append([]sym.Int{}, t.shape...)
	v.stride = append([]sym.Int{}, t.stride...)
	v.shape[dim] = r.size
	v.stride[dim] = sym.Mul(t.stride[dim], r.step)
	v.off = sym.Add(t.off, sym.Mul(t.stride[dim], r.start))
	return &v
}

// fill copies src into the part dst of a buffer.
func (c *call) fill(dst, src *tensor) {
	b := c.l.pointwiseNode(dst.shape)
	b.storeAt(dst.buf, dst.off, dst.stride, b.load(src))
}

// cat writes each input into its slice of the result.
func cat(c *call) error {
	list, ok := c.arg("tensors").([]ops.Value)
	if !ok {
		return fmt.Errorf("tensors is a %T", c.arg("tensors"))
	}
	rank := len(c.meta().Shape)
	d, _ := c.arg("dim").(sym.Int)
	dim, err := ops.WrapDim(d, rank)
	if err != nil {
		return err
	}
	out := c.bindResult()
	at := sym.Int{}
	for _, v := range list {
		t := c.l.vals[v.(*graph.Node)]
		if rank > 1 && len(t.shape) == 1 && sym.Is(t.shape[0], 0) { // an empty list of numbers fits everywhere
			continue
		}
		c.fill(out.part(dim, span{at, t.shape[dim], sym.Const(1)}), t)
		at = sym.Add(at, t.shape[dim])
	}
	return nil
}

// copySource is the source, broadcast and converted to self's layout.
func copySource(c *call) error {
	src := c.namedTensor("src")
	if src == nil {
		return c.extern(ir.ReasonArgs)
	}
	out := c.bindResult()
	b := c.l.pointwiseNode(out.shape)
	b.store(out.buf, out.stride, b.load(src))
	return nil
}

// flip reads dimensions from their end.
func flip(c *call) error {
	src := c.self()
	marks, err := reducedDims(c.arg("dims"), len(src.shape))
	if err != nil {
		return err
	}
	v := *src
	v.stride = append([]sym.Int{}, src.stride...)
	if dims, ok := c.arg("dims").([]sym.Int); ok && len(dims) > 0 {
		for d, on := range marks {
			if on {
				v.off = sym.Add(v.off, sym.Mul(v.stride[d], sym.Sub(v.shape[d], sym.Const(1))))
				v.stride[d] = sym.Neg(v.stride[d])
			}
		}
	}
	out := c.bindResult()
	b := c.l.pointwiseNode(src.shape)
	b.store(out.buf, out.stride, b.load(&v))
	return nil
}

// sliceScatter is self with a slice replaced by src.
func sliceScatter(c *call) error {
	self, src := c.self(), c.namedTensor("src")
	dim, n, err := c.scatterDim(self)
	if err != nil {
		return err
	}
	start, end, step, ok := c.sliceBounds(n)
	if !ok {
		return c.extern(ir.ReasonArgs)
	}
	if n == 0 { // no part of it is anything
		c.copyOfSelf()
		return nil
	}
	count := max(0, (end-start+step-1)/step)
	c.scatterParts(self, src, dim, n, start, count, step)
	return nil
}

// selectScatter is self with one index of a dimension replaced by src.
func selectScatter(c *call) error {
	self, src := c.self(), c.namedTensor("src")
	dim, n, err := c.scatterDim(self)
	if err != nil {
		return err
	}
	x, _ := c.arg("index").(sym.Int)
	i, ok := x.IsConst()
	if !ok || n < 0 {
		return c.extern(ir.ReasonArgs)
	}
	if i < 0 {
		i += n
	}
	v := *src
	v.shape = insert(src.shape, dim, sym.Const(1))
	v.stride = insert(src.stride, dim, sym.Int{})
	c.scatterParts(self, &v, dim, n, i, 1, 1)
	return nil
}

func insert(xs []sym.Int, at int, x sym.Int) []sym.Int {
	out := append([]sym.Int{}, xs[:at]...)
	return append(append(out, x), xs[at:]...)
}

// scatterDim is the dimension and its size, -1 where that is not known.
func (c *call) scatterDim(self *tensor) (dim int, n int64, err error) {
	d, _ := c.arg("dim").(sym.Int)
	if dim, err = ops.WrapDim(d, len(self.shape)); err != nil {
		return 0, 0, err
	}
	n, ok := self.shape[dim].IsConst()
	if !ok {
		n = -1
	}
	return dim, n, nil
}

// sliceBounds reads start, end and step as Python does; false where a size is
// not known.
func (c *call) sliceBounds(n int64) (start, end, step int64, ok bool) {
	read := func(name string, def int64) int64 {
		x, isInt := c.arg(name).(sym.Int)
		if !isInt {
			return def
		}
		v, isConst := x.IsConst()
		ok = ok && isConst
		return v
	}
	ok = n >= 0
	start, end, step = read("start", 0), read("end", n), read("step", 1)
	clip := func(v int64) int64 {
		if v < 0 {
			v += n
		}
		return min(max(v, 0), n)
	}
	return clip(start), clip(end), step, ok && step > 0
}

// scatterParts writes src over the slice and self over what the slice leaves.
func (c *call) scatterParts(self, src *tensor, dim int, n, start, count, step int64) {
	out := c.bindResult()
	write := func(from *tensor, to span, fromSelf bool) {
		if sym.Is(to.size, 0) {
			return
		}
		if fromSelf {
			from = from.part(dim, to)
		}
		c.fill(out.part(dim, to), from)
	}
	r := func(start, size, step int64) span {
		return span{sym.Const(start), sym.Const(size), sym.Const(step)}
	}
	if count == 0 {
		write(self, r(0, n, 1), true)
		return
	}
	last := start + (count-1)*step // the slice's last index
	write(self, r(0, start, 1), true)
	write(src, r(start, count, step), false)
	for k := int64(1); k < step; k++ {
		write(self, r(start+k, count-1, step), true)
	}
	write(self, r(last+1, n-last-1, 1), true)
}
