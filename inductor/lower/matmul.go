package lower

import (
	"tcdbg/inductor/ir"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

func (b *body) add2(x, y int) int { return b.op(ir.Add, x, y) }
func (b *body) mul2(x, y int) int { return b.op(ir.Mul, x, y) }

// mm lowers mm, bmm and matmul of any ranks, which call their second matrix otherwise.
func mm(second string) lowerFunc {
	return func(c *call) error {
		x, y := c.self(), c.namedTensor(second)
		c.product(x, y, c.bindResult())
		return nil
	}
}

// addmm is beta*bias + alpha*(x @ y).
func addmm(c *call) error {
	bias, x, y := c.self(), c.namedTensor("mat1"), c.namedTensor("mat2")
	prod := c.productTemp(x, y)
	alpha, beta := c.number("alpha", 1), c.number("beta", 1)
	out := c.bindResult()
	b := c.l.pointwiseNode(out.shape)
	v := b.load(prod)
	if alpha != 1 {
		v = b.mul2(v, b.number(out.dtype, alpha))
	}
	if beta != 0 {
		w := b.load(bias)
		if beta != 1 {
			w = b.mul2(w, b.number(out.dtype, beta))
		}
		v = b.add2(v, w)
	}
	b.store(out.buf, out.stride, v)
	return nil
}

// linear is x @ weight.T + bias.
func linear(c *call) error {
	x, w, bias := c.self(), c.namedTensor("weight"), c.namedTensor("bias")
	wt := transposed(w)
	if bias == nil {
		c.product(x, wt, c.bindResult())
		return nil
	}
	prod := c.productTemp(x, wt)
	out := c.bindResult()
	b := c.l.pointwiseNode(out.shape)
	b.store(out.buf, out.stride, b.add2(b.load(prod), b.load(bias)))
	return nil
}

func transposed(t *tensor) *tensor {
	v := *t
	if len(t.shape) == 2 {
		v.shape = []sym.Int{t.shape[1], t.shape[0]}
		v.stride = []sym.Int{t.stride[1], t.stride[0]}
	}
	return &v
}

// productTemp is the product in a buffer of its own, which an epilogue reads: of
// half precision in float32, since what is added is rounded together with it.
func (c *call) productTemp(x, y *tensor) *tensor {
	m := c.meta()
	shape := m.Shape
	t := &tensor{dtype: ir.Register(m.DType), shape: shape, stride: ops.ContiguousStrides(shape)}
	t.buf = c.l.newBuffer(t.dtype, shape, t.stride)
	c.product(x, y, t)
	return t
}

// product makes the template node that computes x @ y into out, whose shape is
// the broadcast batch with rows and columns (dropped where x or y is a vector).
func (c *call) product(x, y, out *tensor) {
	if smallBatches(x, y) {
		c.plainProduct(x, y, out)
		return
	}
	x, y = asStored(c, x, y)
	if !templated(x, y) {
		c.reducedProduct(x, y, out)
		return
	}
	if out.dtype != ops.Float32 {
		c.roundedProduct(x, y, out)
		return
	}
	x, y = inOrder(c.l, c.real(x), y, out), c.real(y)
	rx, ry := len(x.shape), len(y.shape)
	vecX, vecY := rx == 1, ry == 1
	k := x.shape[rx-1]
	m, n := sym.Const(1), sym.Const(1)
	if !vecX {
		m = x.shape[rx-2]
	}
	if !vecY {
		n = y.shape[ry-1]
	}
	nb := len(out.shape)
	if !vecX {
		nb--
	}
	if !vecY {
		nb--
	}
	batch := out.shape[:nb]
	node := c.l.newNode(ir.Matmul, append(append([]sym.Int{}, batch...), m, n), nil)
	info := &ir.MatmulInfo{A: x.buf, B: y.buf, Out: out.buf, K: k}
	info.AIdx = ir.Index{Off: x.off, Coef: make([]sym.Int, nb+3)}
	info.BIdx = ir.Index{Off: y.off, Coef: make([]sym.Int, nb+3)}
	info.OutIdx = ir.Index{Off: out.off, Coef: make([]sym.Int, nb+2)}
	info.AIdx.Coef[nb+2] = x.stride[rx-1]
	batchCoefs(info.AIdx.Coef[:nb], x, 2)
	if !vecX {
		info.AIdx.Coef[nb] = x.stride[rx-2]
		info.OutIdx.Coef[nb] = out.stride[nb]
	}
	if vecY {
		info.BIdx.Coef[nb+2] = y.stride[0]
	} else {
		info.BIdx.Coef[nb+2], info.BIdx.Coef[nb+1] = y.stride[ry-2], y.stride[ry-1]
		info.OutIdx.Coef[nb+1] = out.stride[len(out.stride)-1]
		batchCoefs(info.BIdx.Coef[:nb], y, 2)
	}
	copy(info.OutIdx.Coef, out.stride[:nb])
	node.MM = info
	foldBatch(node)
}

// templated reports whether the template computes a product. One row of half precision with
// a matrix that is new in every call is added up where it lies: packing would take longer.
func templated(x, y *tensor) bool {
	if x.dtype == ops.Float32 {
		return true
	}
	one := len(x.shape) == 1 || sym.Is(x.shape[len(x.shape)-2], 1)
	fresh := y.line == nil && y.buf.Kind == ir.Input && !y.buf.Param
	return x.dtype.IsFloat() && x.dtype.Size() == 2 && !(one && fresh)
}

// roundedProduct is a product of half precision, which is added up in float32 and rounded once.
func (c *call) roundedProduct(x, y, out *tensor) {
	sum := &tensor{dtype: ops.Float32, shape: out.shape, stride: ops.ContiguousStrides(out.shape)}
	sum.buf = c.l.newBuffer(sum.dtype, sum.shape, sum.stride)
	c.product(x, y, sum)
	b := c.l.pointwiseNode(out.shape)
	b.store(out.buf, out.stride, b.load(sum))
}

// factors are the operands of a product as tensors over the result's shape and
// the steps of the sum after it.
func factors(x, y, out *tensor) (a, b *tensor) {
	rx, ry := len(x.shape), len(y.shape)
	full := append(append([]sym.Int{}, out.shape...), x.shape[rx-1])
	rank := len(full)
	rows, cols := rx > 1, ry > 1
	lead := rank - 1 // dimensions of the batch
	for _, has := range []bool{rows, cols} {
		if has {
			lead--
		}
	}
	spread := func(t *tensor, own int) *tensor { // without the matrix dimensions
		v := &tensor{buf: t.buf, line: t.line, dtype: t.dtype, shape: full, stride: make([]sym.Int, rank), off: t.off}
		batchCoefs(v.stride[:lead], t, own)
		return v
	}
	a, b = spread(x, min(rx, 2)), spread(y, min(ry, 2))
	a.stride[rank-1], b.stride[rank-1] = x.stride[rx-1], y.stride[max(ry-2, 0)]
	if rows {
		a.stride[lead] = x.stride[rx-2]
	}
	if cols {
		b.stride[rank-2] = y.stride[ry-1]
	}
	return a, b
}

// reducedProduct is the product as sums of products, for the types that the
// template does not compute.
func (c *call) reducedProduct(x, y, out *tensor) {
	a, b := factors(x, y, out)
	marks := make([]bool, len(a.shape))
	marks[len(marks)-1] = true
	n := c.l.reductionNode(a.shape, marks)
	v := n.reduce(ir.RSum, n.mul2(n.load(a), n.load(b)))
	n.store(out.buf, append(append([]sym.Int{}, out.stride...), sym.Int{}), v)
}

// smallBatches reports whether matrices of batches are so small that PyTorch adds
// their products one after the other, without fusing them.
func smallBatches(x, y *tensor) bool {
	rx, ry := len(x.shape), len(y.shape)
	if x.dtype != ops.Float32 || rx < 3 || ry < 3 {
		return false
	}
	m, ok1 := x.shape[rx-2].IsConst()
	k, ok2 := x.shape[rx-1].IsConst()
	n, ok3 := y.shape[ry-1].IsConst()
	return ok1 && ok2 && ok3 && k > 0 && k <= 64 && m*n*k < ops.SmallProduct
}

// plainProduct writes the sums out.
func (c *call) plainProduct(x, y, out *tensor) {
	a, b := factors(x, y, out)
	last := len(a.shape) - 1
	at := func(t *tensor, p int64) *tensor {
		v := *t
		v.shape, v.stride = t.shape[:last], t.stride[:last]
		v.off = sym.Add(t.off, sym.Mul(t.stride[last], sym.Const(p)))
		return &v
	}
	n := c.l.pointwiseNode(out.shape)
	k, _ := a.shape[last].IsConst()
	sum := n.mul2(n.load(at(a, 0)), n.load(at(b, 0)))
	for p := int64(1); p < k; p++ {
		sum = n.add2(sum, n.mul2(n.load(at(a, p)), n.load(at(b, p))))
	}
	n.store(out.buf, out.stride, sum)
}

// batchCoefs fills the address coefficients of the leading dimensions of t,
// which broadcast from the right.
func batchCoefs(coef []sym.Int, t *tensor, matrixDims int) {
	lead := len(t.shape) - matrixDims
	for i := range coef {
		if d := lead - len(coef) + i; d >= 0 && !sym.Is(t.shape[d], 1) {
			coef[i] = t.stride[d]
		}
	}
}

// foldBatch merges batch loops into the rows where B does not depend on them
// and A and Out walk through them evenly: a linear layer on (batch, seq, in).
func foldBatch(n *ir.Node) {
	for len(n.Outer) > 2 {
		mm, nb := n.MM, len(n.Outer)-2
		last, rows := nb-1, n.Outer[nb]
		even := func(x ir.Index) bool { return sym.Same(x.Coef[last], sym.Mul(x.Coef[nb], rows)) }
		if mm.BIdx.Uses(last) || !even(mm.AIdx) || !even(mm.OutIdx) {
			if !sym.Is(n.Outer[last], 1) {
				return
			}
		}
		n.Outer[nb] = sym.Mul(n.Outer[last], rows)
		n.Outer = drop(n.Outer, last)
		mm.AIdx.Coef, mm.BIdx.Coef, mm.OutIdx.Coef = drop(mm.AIdx.Coef, last), drop(mm.BIdx.Coef, last), drop(mm.OutIdx.Coef, last)
	}
}

func drop(xs []sym.Int, i int) []sym.Int {
	return append(append([]sym.Int{}, xs[:i]...), xs[i+1:]...)
}

// fewRows is below how many rows a product reads its right operand more often than it pays.
const fewRows = 64

// inOrder copies the left operand of a product where it is matrices of few rows that lie apart, as a batch that
// came after the sequence, and all of them are multiplied by one matrix. Row by row they are one product, which reads that
// matrix once.
func inOrder(l *lowering, x, y, out *tensor) *tensor {
	rx := len(x.shape)
	if rx < 3 || len(y.shape) != 2 || even(x.shape[:rx-1], x.stride) || !even(x.shape[:rx-1], out.stride) {
		return x
	}
	if rows, known := x.shape[rx-2].IsConst(); !known || rows >= fewRows {
		return x
	}
	v := &tensor{dtype: x.dtype, shape: x.shape, stride: ops.ContiguousStrides(x.shape)}
	v.buf = l.newBuffer(v.dtype, v.shape, v.stride)
	b := l.pointwiseNode(v.shape)
	b.store(v.buf, v.stride, b.load(x))
	return v
}

// even reports whether elements of all dimensions follow each other at one distance.
func even(shape, stride []sym.Int) bool {
	for d := len(shape) - 1; d > 0; d-- {
		if !sym.Is(shape[d-1], 1) && !sym.Same(stride[d-1], sym.Mul(stride[d], shape[d])) {
			return false
		}
	}
	return true
}

// real gives a tensor without memory a buffer: templates read memory.
func (c *call) real(t *tensor) *tensor {
	if t.line == nil {
		return t
	}
	return c.l.materialize(t, c.n)
}
