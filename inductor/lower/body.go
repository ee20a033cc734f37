package lower

import (
	"tcdbg/inductor/ir"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// body builds the operations of one loop node. dims maps each loop to the
// dimension of the iterated shape that it walks.
type body struct {
	l    *lowering
	n    *ir.Node
	dims []int // [] /* loop */ dimension of the full shape
	rank int   // of the full shape
}

// pointwiseNode starts a node that walks shape.
func (l *lowering) pointwiseNode(shape []sym.Int) *body {
	return &body{l: l, n: l.newNode(ir.Pointwise, shape, nil), dims: seq(len(shape)), rank: len(shape)}
}

// reductionNode starts a node that walks shape and folds the marked dimensions.
// Without any marked dimension of more than one element it is pointwise.
func (l *lowering) reductionNode(shape []sym.Int, reduce []bool) *body {
	var outer, inner []sym.Int
	var od, id []int
	for d, s := range shape {
		if reduce[d] && !sym.Is(s, 1) {
			inner, id = append(inner, s), append(id, d)
		} else {
			outer, od = append(outer, s), append(od, d)
		}
	}
	kind := ir.Reduction
	if len(inner) == 0 {
		kind = ir.Pointwise
	}
	return &body{l: l, n: l.newNode(kind, outer, inner), dims: append(od, id...), rank: len(shape)}
}

// sequentialNode is reductionNode for what stores in every iteration.
func (l *lowering) sequentialNode(shape []sym.Int, inner []bool) *body {
	b := l.reductionNode(shape, inner)
	if b.n.Kind == ir.Reduction {
		b.n.Kind = ir.Sequential
	}
	return b
}

func seq(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func (b *body) add(v ir.Value) int {
	b.n.Body = append(b.n.Body, v)
	return len(b.n.Body) - 1
}

// index is the address of a tensor that broadcasts to the iterated shape.
func (b *body) index(t *tensor) ir.Index {
	x := ir.Index{Off: t.off, Coef: make([]sym.Int, len(b.dims))}
	shift := b.rank - len(t.shape)
	for k, d := range b.dims {
		if i := d - shift; i >= 0 && !sym.Is(t.shape[i], 1) {
			x.Coef[k] = t.stride[i]
		}
	}
	return x
}

// load yields the element of t at the current iteration.
func (b *body) load(t *tensor) int { return b.loadAt(t, b.index(t)) }

func (b *body) loadAt(t *tensor, x ir.Index) int {
	if t.line == nil {
		return b.add(ir.Value{Op: ir.Load, DType: ir.Register(t.dtype), Buf: t.buf, Index: x})
	}
	if sym.Is(t.line.step, 0) {
		return b.lineConst(t)
	}
	at := ir.Index{Off: sym.Add(t.line.start, sym.Mul(t.line.step, x.Off)), Coef: make([]sym.Int, len(x.Coef))}
	for k, c := range x.Coef {
		at.Coef[k] = sym.Mul(t.line.step, c)
	}
	return b.cast(b.add(ir.Value{Op: ir.IndexOf, DType: ops.Int64, Index: at}), t.dtype)
}

func (b *body) lineConst(t *tensor) int {
	if t.dtype.IsFloat() {
		return b.cast(b.float(t.dtype, t.line.f), t.dtype)
	}
	if v, ok := t.line.start.IsConst(); ok {
		return b.int(t.dtype, v)
	}
	return b.size(t.line.start, t.dtype)
}

func (b *body) float(d ops.DType, f float64) int {
	return b.add(ir.Value{Op: ir.Const, DType: ir.Register(d), F: f})
}

func (b *body) int(d ops.DType, i int64) int {
	if d.IsFloat() {
		return b.float(d, float64(i))
	}
	switch d { // as a cast wraps
	case ops.Bool:
		if i != 0 {
			i = 1
		}
	case ops.Uint8:
		i = int64(uint8(i))
	case ops.Int32:
		i = int64(int32(i))
	case ops.Int16:
		i = int64(int16(i))
	case ops.Int8:
		i = int64(int8(i))
	}
	return b.add(ir.Value{Op: ir.Const, DType: ir.Register(d), I: i})
}

// number is a Go number as a constant of type d.
func (b *body) number(d ops.DType, f float64) int {
	if d.IsFloat() {
		return b.float(d, f)
	}
	return b.int(d, int64(f))
}

// size is a symbolic size as a value of type d.
func (b *body) size(x sym.Int, d ops.DType) int {
	if v, ok := x.IsConst(); ok {
		return b.int(d, v)
	}
	loops := len(b.n.Outer) + len(b.n.Inner)
	return b.cast(b.add(ir.Value{Op: ir.IndexOf, DType: ops.Int64, Index: ir.Index{Off: x, Coef: make([]sym.Int, loops)}}), d)
}

func (b *body) dtype(v int) ops.DType { return b.n.Body[v].DType }

// cast converts v to d. What d is too narrow for is rounded or wrapped, in the
// type that bodies compute with.
func (b *body) cast(v int, d ops.DType) int {
	if b.dtype(v) == d {
		return v
	}
	if !ir.Narrow(d) {
		return b.add(ir.Value{Op: ir.Cast, DType: d, Args: []int{v}})
	}
	if from := &b.n.Body[v]; from.Op == ir.Load && from.Buf.DType == d {
		return v
	}
	return b.cast(b.add(ir.Value{Op: ir.Cast, DType: d, Args: []int{v}}), ir.Register(d))
}

// op applies an operation whose result has the type of its last operand, or
// bool for comparisons.
func (b *body) op(o ir.Op, args ...int) int {
	d := b.dtype(args[len(args)-1])
	if o.Compares() {
		d = ops.Bool
	}
	return b.add(ir.Value{Op: o, DType: d, Args: args})
}

func (b *body) reduce(r ir.ReduceOp, v int) int {
	if b.n.Kind != ir.Reduction {
		if r == ir.RArgMax || r == ir.RArgMin {
			return b.int(ops.Int64, 0)
		}
		return v
	}
	d := b.dtype(v)
	if r == ir.RArgMax || r == ir.RArgMin {
		d = ops.Int64
	}
	red := ir.Value{Op: ir.Reduce, DType: d, Args: []int{v}, Red: r}
	if d != b.dtype(v) || r == ir.RArgMax || r == ir.RArgMin {
		red.Index = b.position()
	}
	return b.add(red)
}

// scan combines v with its values in the inner iterations before.
func (b *body) scan(r ir.ReduceOp, v int) int {
	if b.n.Kind != ir.Sequential {
		return v
	}
	return b.add(ir.Value{Op: ir.Scan, DType: b.dtype(v), Args: []int{v}, Red: r})
}

// position is the row-major number of the iteration within the reduction loops.
func (b *body) position() ir.Index {
	x := ir.Index{Coef: make([]sym.Int, len(b.n.Outer)+len(b.n.Inner))}
	step := sym.Const(1)
	for k := len(b.n.Inner) - 1; k >= 0; k-- {
		x.Coef[len(b.n.Outer)+k] = step
		step = sym.Mul(step, b.n.Inner[k])
	}
	return x
}

// store writes v to the element of buf at the current iteration; stride is by
// dimension of the full shape.
func (b *body) store(buf *ir.Buffer, stride []sym.Int, v int) {
	b.storeAt(buf, sym.Int{}, stride, v)
}

func (b *body) storeAt(buf *ir.Buffer, off sym.Int, stride []sym.Int, v int) {
	x := ir.Index{Off: off, Coef: make([]sym.Int, len(b.dims))}
	for k, d := range b.dims {
		if !sym.Is(b.sizeOf(k), 1) {
			x.Coef[k] = stride[d]
		}
	}
	d := ir.Register(buf.DType)
	b.add(ir.Value{Op: ir.Store, DType: d, Args: []int{b.cast(v, d)}, Buf: buf, Index: x})
}

func (b *body) sizeOf(loop int) sym.Int {
	if loop < len(b.n.Outer) {
		return b.n.Outer[loop]
	}
	return b.n.Inner[loop-len(b.n.Outer)]
}
