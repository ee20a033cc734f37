package lower

import (
	"fmt"

	"tcdbg/inductor/ir"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// reductionRow says how a reduction combines elements and what is done with the
// combined value.
type reductionRow struct {
	op   ir.ReduceOp
	mean bool // divide by the number of elements
	// truth reduces whether elements differ from zero.
	truth bool
}

var reductions = map[ops.ID]reductionRow{
	ops.Sum:  {op: ir.RSum},
	ops.Mean: {op: ir.RSum, mean: true},
	ops.Prod: {op: ir.RProd},
	ops.Amax: {op: ir.RMax},
	ops.Amin: {op: ir.RMin},
	ops.Any:  {op: ir.RAny, truth: true},

	ops.AllOf:  {op: ir.RAll, truth: true},
	ops.Argmax: {op: ir.RArgMax},
	ops.Argmin: {op: ir.RArgMin},
}

// reduction lowers an operator with a dim argument: a list, one number, or none
// for all dimensions.
func reduction(r reductionRow) lowerFunc {
	return func(c *call) error {
		src := c.self()
		marks, err := reducedDims(c.arg("dim"), len(src.shape))
		if err != nil {
			return err
		}
		count := reducedCount(src.shape, marks)
		src = c.split(src, marks, r)
		out := c.bindResult()
		b := c.l.reductionNode(src.shape, marks)
		v := b.reduce(r.op, r.element(b, src, out.dtype))
		if r.mean {
			v = b.op(ir.Div, v, b.size(count, out.dtype))
		}
		b.store(out.buf, fullStrides(out, marks), v)
		return nil
	}
}

// element loads what is folded: a truth value, or for sums the result's type.
func (r reductionRow) element(b *body, src *tensor, d ops.DType) int {
	v := b.load(src)
	switch {
	case r.truth:
		return b.cast(v, ops.Bool)
	case r.op == ir.RSum || r.op == ir.RProd:
		return b.cast(v, d)
	}
	return v
}

// Few results of many elements each are folded in two steps, so that threads
// have something to share and sums do not add up millions of numbers in a row.
const (
	fewResults  = 8
	manyPerFold = 1 << 17
	maxParts    = 256
)

// split folds parts of src first where that pays, and returns the partial
// results; else src itself.
func (c *call) split(src *tensor, marks []bool, r reductionRow) *tensor {
	total, ok := sym.Product(src.shape).IsConst()
	each, ok2 := reducedCount(src.shape, marks).IsConst()
	if !ok || !ok2 || each < manyPerFold || total/each > fewResults || r.op == ir.RArgMax || r.op == ir.RArgMin {
		return src
	}
	for d := range marks {
		n, _ := src.shape[d].IsConst()
		parts := int64(maxParts)
		for parts > 1 && n%parts != 0 {
			parts--
		}
		if marks[d] && parts >= fewResults {
			return c.parts(src, marks, r, d, n/parts)
		}
	}
	return src
}

// parts folds runs of length along dimension d, and all other marked dimensions.
func (c *call) parts(src *tensor, marks []bool, r reductionRow, d int, length int64) *tensor {
	n := sym.Const(length)
	v := *src
	v.shape = insert(src.shape, d+1, n)
	v.stride = insert(src.stride, d+1, src.stride[d])
	v.shape[d], v.stride[d] = sym.FloorDiv(src.shape[d], n), sym.Mul(src.stride[d], n)
	inner := append(append(append([]bool{}, marks[:d]...), false, true), marks[d+1:]...)
	dt := c.meta().DType
	t := c.rowReduce(v.shape, inner, ir.Register(dt), func(b *body) int { return b.reduce(r.op, r.element(b, &v, dt)) })
	t.shape, t.stride = drop(t.shape, d+1), drop(t.stride, d+1)
	return t
}

// reducedDims marks the dimensions that a dim argument names.
func reducedDims(dim ops.Arg, rank int) ([]bool, error) {
	marks := make([]bool, rank)
	var dims []sym.Int
	switch d := dim.(type) {
	case nil:
	case sym.Int:
		dims = []sym.Int{d}
	case []sym.Int:
		dims = d
	default:
		return nil, fmt.Errorf("dim is a %T", dim)
	}
	for i := range marks {
		marks[i] = len(dims) == 0
	}
	for _, d := range dims {
		k, err := ops.WrapDim(d, rank)
		if err != nil {
			return nil, err
		}
		if rank > 0 {
			marks[k] = true
		}
	}
	return marks, nil
}

func reducedCount(shape []sym.Int, marks []bool) sym.Int {
	n := sym.Const(1)
	for d, s := range shape {
		if marks[d] {
			n = sym.Mul(n, s)
		}
	}
	return n
}

// fullStrides are out's strides by dimension of the reduced shape, whether or
// not out kept the dimensions.
func fullStrides(out *tensor, marks []bool) []sym.Int {
	full := make([]sym.Int, len(marks))
	if len(out.shape) == len(marks) {
		for d := range marks {
			if !marks[d] {
				full[d] = out.stride[d]
			}
		}
		return full
	}
	k := 0
	for d := range marks {
		if !marks[d] {
			full[d] = out.stride[k]
			k++
		}
	}
	return full
}

// rowReduce makes a temporary that holds a reduction over the marked
// dimensions, with those kept at size 1 so that it broadcasts back.
func (c *call) rowReduce(shape []sym.Int, marks []bool, d ops.DType, f func(b *body) int) *tensor {
	kept := make([]sym.Int, len(shape))
	for i, s := range shape {
		kept[i] = s
		if marks[i] {
			kept[i] = sym.Const(1)
		}
	}
	stride := ops.ContiguousStrides(kept)
	b := c.l.reductionNode(shape, marks)
	buf := c.l.newBuffer(d, kept, stride)
	b.store(buf, zeroWhere(stride, marks), f(b))
	return &tensor{buf: buf, dtype: d, shape: kept, stride: stride}
}

func zeroWhere(stride []sym.Int, marks []bool) []sym.Int {
	out := make([]sym.Int, len(stride))
	for i, s := range stride {
		if !marks[i] {
			out[i] = s
		}
	}
	return out
}

// temp makes a temporary of the given shape from a pointwise body.
func (c *call) temp(shape []sym.Int, d ops.DType, f func(b *body) int) *tensor {
	stride := ops.ContiguousStrides(shape)
	b := c.l.pointwiseNode(shape)
	buf := c.l.newBuffer(d, shape, stride)
	b.store(buf, stride, f(b))
	return &tensor{buf: buf, dtype: d, shape: shape, stride: stride}
}

// softmax subtracts the row maximum, so that exp cannot overflow, and divides
// once a row.
func softmax(c *call) error {
	src, d := c.self(), ir.Register(c.meta().DType)
	marks, err := reducedDims(c.arg("dim"), len(src.shape))
	if err != nil {
		return err
	}
	top := c.rowReduce(src.shape, marks, d, func(b *body) int {
		return b.reduce(ir.RMax, b.cast(b.load(src), d))
	})
	e := c.temp(src.shape, d, func(b *body) int {
		return b.op(ir.Exp, b.op(ir.Sub, b.cast(b.load(src), d), b.load(top)))
	})
	scale := c.rowReduce(src.shape, marks, d, func(b *body) int {
		return b.op(ir.Reciprocal, b.reduce(ir.RSum, b.load(e)))
	})
	out := c.bindResult()
	b := c.l.pointwiseNode(src.shape)
	b.store(out.buf, out.stride, b.op(ir.Mul, b.load(e), b.load(scale)))
	return nil
}

// layerNorm computes mean and variance in two passes over the row.
func layerNorm(c *call) error {
	src, d := c.self(), ir.Register(c.meta().DType)
	shape, ok := c.arg("normalized_shape").([]sym.Int)
	if !ok {
		return fmt.Errorf("normalized_shape is a %T", c.arg("normalized_shape"))
	}
	marks := make([]bool, len(src.shape))
	for i := range shape {
		marks[len(marks)-1-i] = true
	}
	count := reducedCount(src.shape, marks)
	mean := c.rowReduce(src.shape, marks, d, func(b *body) int {
		return b.op(ir.Div, b.reduce(ir.RSum, b.load(src)), b.size(count, d))
	})
	scale := c.rowReduce(src.shape, marks, d, func(b *body) int {
		x := b.op(ir.Sub, b.load(src), b.load(mean))
		v := b.op(ir.Div, b.reduce(ir.RSum, b.op(ir.Mul, x, x)), b.size(count, d))
		return b.op(ir.Rsqrt, b.op(ir.Add, v, b.number(d, c.number("eps", 1e-5))))
	})
	out := c.bindResult()
	b := c.l.pointwiseNode(src.shape)
	v := b.op(ir.Mul, b.op(ir.Sub, b.load(src), b.load(mean)), b.load(scale))
	if w := c.namedTensor("weight"); w != nil {
		v = b.op(ir.Mul, v, b.cast(b.load(w), d))
	}
	if w := c.namedTensor("bias"); w != nil {
		v = b.op(ir.Add, v, b.cast(b.load(w), d))
	}
	b.store(out.buf, out.stride, v)
	return nil
}
