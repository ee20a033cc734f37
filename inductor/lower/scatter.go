package lower

import (
	"math"

	"tcdbg/graph"
	"tcdbg/inductor/ir"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file lowers what writes at positions that are data: the result starts as
// a copy of self, then one node stores into it. The loops that the positions
// move along run in their order, the others beside each other, so that no two
// threads meet at one element and every run gives the same sums.

// into says how a stored element meets what lies there; for a plain store fold
// is false.
type into struct {
	fold bool
	by   ir.ReduceOp
}

// copyOfSelf makes the result a copy of self.
func (c *call) copyOfSelf() *tensor {
	out := c.bindResult()
	c.fill(out, c.self())
	return out
}

// storePicked stores v into out at the address and the positions.
func (b *body) storePicked(out *tensor, x ir.Index, ps []picked, v int, how into) {
	d := ir.Register(out.dtype)
	o := ir.Value{Op: ir.StoreAt, DType: d, Buf: out.buf, Index: x, Args: []int{b.cast(v, d), b.offset(out, ps)}}
	if how.fold {
		o.Op, o.Red = ir.FoldAt, how.by
	}
	b.add(o)
}

// alongIndex stores what value gives for each element of index into out, at the
// position along dim that it names.
func (c *call) alongIndex(out, index *tensor, dim int, how into, value func(b *body) int) {
	marks := make([]bool, len(index.shape))
	marks[dim] = true
	b := c.l.sequentialNode(index.shape, marks)
	at := b.cast(b.load(index), ops.Int64)
	x := b.index(out.still([]int{dim}, index.shape))
	b.storePicked(out, x, []picked{{dim: dim, at: at}}, value(b), how)
}

// scatterArgs are self, dim and index; ok is false for what eager has to do.
func (c *call) scatterArgs() (self *tensor, dim int, index *tensor, ok bool, err error) {
	self, index = c.self(), c.namedTensor("index")
	d, _ := c.arg("dim").(sym.Int)
	if dim, err = ops.WrapDim(d, len(self.shape)); err != nil {
		return nil, 0, nil, false, err
	}
	ok = len(self.shape) > 0 && len(index.shape) == len(self.shape) && !empty(self, dim)
	return self, dim, index, ok, nil
}

// sourceAt is the element of src at the current position of index.
func (c *call) sourceAt(b *body, index, out *tensor) int {
	src := c.namedTensor("src")
	if src == nil {
		return b.cast(c.operand(b, c.arg("src"), out.dtype), out.dtype)
	}
	v := *src
	v.shape = index.shape // of a larger source the first elements count
	return b.cast(b.load(&v), out.dtype)
}

// scatter stores src, of several elements for one place the last.
func scatter(c *call) error {
	self, dim, index, ok, err := c.scatterArgs()
	if err != nil {
		return err
	}
	if !ok {
		return c.extern(ir.ReasonArgs)
	}
	if isOneHot(self, dim, index) {
		return oneHot(c, self, dim, index, func(_ *body, _, src int) int { return src })
	}
	out := c.copyOfSelf()
	c.alongIndex(out, index, dim, into{}, func(b *body) int { return c.sourceAt(b, index, out) })
	return nil
}

// scatterAdd adds src to what lies there.
func scatterAdd(c *call) error {
	self, dim, index, ok, err := c.scatterArgs()
	if err != nil {
		return err
	}
	if !ok || self.dtype == ops.Bool {
		return c.extern(ir.ReasonArgs)
	}
	if isOneHot(self, dim, index) {
		return oneHot(c, self, dim, index, func(b *body, old, src int) int { return b.cast(b.op(ir.Add, old, src), self.dtype) })
	}
	if self.dtype.IsFloat() && self.dtype.Size() == 2 { // sums in float32, rounded once
		return c.extern(reasonHalf)
	}
	out := c.copyOfSelf()
	c.alongIndex(out, index, dim, into{true, ir.RSum}, func(b *body) int { return c.sourceAt(b, index, out) })
	return nil
}

var scatterFolds = map[string]ir.ReduceOp{"sum": ir.RSum, "prod": ir.RProd, "amax": ir.RMax, "amin": ir.RMin}

// scatterReduce combines src with what lies there, or with each other alone.
func scatterReduce(c *call) error {
	self, dim, index, ok, err := c.scatterArgs()
	if err != nil {
		return err
	}
	by, known := scatterFolds[c.str("reduce")] // a mean counts, which eager does
	if !ok || !known || self.dtype == ops.Bool {
		return c.extern(ir.ReasonArgs)
	}
	out := c.copyOfSelf()
	if !c.flag("include_self") {
		c.alongIndex(out, index, dim, into{}, func(b *body) int { return b.neutral(by, out.dtype) })
	}
	c.alongIndex(out, index, dim, into{true, by}, func(b *body) int { return c.sourceAt(b, index, out) })
	return nil
}

// neutral is what by leaves every element as it is.
func (b *body) neutral(by ir.ReduceOp, d ops.DType) int {
	switch by {
	case ir.RProd:
		return b.number(d, 1)
	case ir.RMax:
		if d.IsFloat() {
			return b.float(d, math.Inf(-1))
		}
		return b.int(d, int64(lowest(d)))
	case ir.RMin:
		if d.IsFloat() {
			return b.float(d, math.Inf(1))
		}
		return b.int(d, highest(d))
	}
	return b.number(d, 0)
}

// highest is the largest integer of a type.
func highest(d ops.DType) int64 {
	switch d {
	case ops.Uint8:
		return math.MaxUint8
	case ops.Int8:
		return math.MaxInt8
	case ops.Int16:
		return math.MaxInt16
	case ops.Int32:
		return math.MaxInt32
	}
	return math.MaxInt64
}

// indexAdd adds slices of source to those of self that index names.
func indexAdd(c *call) error {
	self, index, source := c.self(), c.namedTensor("index"), c.namedTensor("source")
	d, _ := c.arg("dim").(sym.Int)
	dim, err := ops.WrapDim(d, len(self.shape))
	if err != nil {
		return err
	}
	if len(self.shape) == 0 || len(source.shape) != len(self.shape) || len(index.shape) != 1 || self.dtype == ops.Bool || empty(self, dim) {
		return c.extern(ir.ReasonArgs)
	}
	out := c.copyOfSelf()
	along := *index // its only dimension is source's dim
	along.shape, along.stride = source.shape, make([]sym.Int, len(source.shape))
	along.stride[dim] = index.stride[0]
	c.alongIndex(out, &along, dim, into{true, ir.RSum}, func(b *body) int {
		v := b.cast(b.load(source), out.dtype)
		if alpha := c.number("alpha", 1); alpha != 1 {
			v = b.op(ir.Mul, v, b.number(out.dtype, alpha))
		}
		return v
	})
	return nil
}

// indexPut is x[i, j, ...] = values, or += values, with tensors of positions.
func indexPut(c *call) error {
	a := ops.In[ops.IndexPutArgs](&c.bound)
	self, values, list := c.tensor(a.Self), c.tensor(a.Values), a.Indices.Values()
	shape, picks, err := ops.IndexShape(&ops.TensorMeta{Shape: self.shape}, list)
	if err != nil {
		return err
	}
	first, any := positionsAt(list)
	if !any || emptyPicked(self, list) || self.dtype == ops.Bool && c.flag("accumulate") {
		return c.extern(ir.ReasonArgs)
	}
	for _, v := range list {
		if n, ok := v.(*graph.Node); ok && n.TensorMeta().DType == ops.Bool {
			return c.extern(ir.ReasonArgs)
		}
	}
	out := c.copyOfSelf()
	marks := make([]bool, len(shape))
	for i := range picks {
		marks[first+i] = true
	}
	b := c.l.sequentialNode(shape, marks)
	rest, ps := b.indexed(c, out, list, first, picks)
	b.storePicked(out, b.index(rest), ps, b.cast(b.load(values), out.dtype), into{c.flag("accumulate"), ir.RSum})
	return nil
}

// diagonalScatter is self with a diagonal replaced by src.
func diagonalScatter(c *call) error {
	self, src := c.self(), c.real(c.namedTensor("src"))
	rank := len(self.shape)
	offset := int64(0)
	if x, ok := c.arg("offset").(sym.Int); ok {
		offset, _ = x.IsConst()
	}
	dims := [2]int{}
	for i, name := range []string{"dim1", "dim2"} {
		d, _ := c.arg(name).(sym.Int)
		var err error
		if dims[i], err = ops.WrapDim(d, rank); err != nil {
			return err
		}
	}
	if sym.Is(sym.Product(src.shape), 0) {
		return clone(c)
	}
	out := c.bindResult()
	b := c.l.pointwiseNode(self.shape)
	row, col := b.loop(dims[0]), b.loop(dims[1])
	on := b.op(ir.Eq, b.add2(row, b.int(ops.Int64, offset)), col)
	at := row // of the diagonal's element
	if offset < 0 {
		at = col
	}
	along := &tensor{buf: src.buf, dtype: src.dtype, off: src.off, shape: self.shape, stride: make([]sym.Int, rank)}
	k := 0
	for d := range rank {
		if d != dims[0] && d != dims[1] {
			along.stride[d] = src.stride[k]
			k++
		}
	}
	step := b.mul2(b.op(ir.Where, on, at, b.int(ops.Int64, 0)), b.size(src.stride[k], ops.Int64))
	v := b.cast(
		b.add(ir.Value{Op: ir.LoadAt, DType: ir.Register(src.dtype), Buf: src.buf, Index: b.index(along), Args: []int{step}}),
		out.dtype,
	)
	b.store(out.buf, out.stride, b.op(ir.Where, on, v, b.load(self)))
	return nil
}

// loop is the position along a dimension of the iterated shape.
func (b *body) loop(dim int) int {
	x := ir.Index{Coef: make([]sym.Int, len(b.dims))}
	for k, d := range b.dims {
		if d == dim {
			x.Coef[k] = sym.Const(1)
		}
	}
	return b.add(ir.Value{Op: ir.IndexOf, DType: ops.Int64, Index: x})
}
