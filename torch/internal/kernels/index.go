package kernels

import (
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch/internal/refusal"
	"tcdbg/torch/internal/strided"
)

// This file holds the kernels that pick and place elements by position.

func indexKernels() map[ops.ID]Kernel {
	return map[ops.ID]Kernel{
		ops.Gather: gatherKernel, ops.Scatter: scatterKernel, ops.ScatterAdd: scatterAddKernel,
		ops.IndexSelect: indexSelectKernel, ops.IndexAdd: indexAddKernel,
		ops.SliceScatter: func(k *Call) {
			a := ops.In[ops.SliceScatterArgs](k.Call)
			place(k, a.Src, ops.Slice, a.Dim.Arg, a.Start.Arg, a.End.Arg, a.Step.Arg)
		},
		ops.SelectScatter: func(k *Call) {
			a := ops.In[ops.SelectScatterArgs](k.Call)
			place(k, a.Src, ops.Select, a.Dim.Arg, a.Index.Arg)
		},
		ops.Flip: flipKernel,
	}
}

// outside refuses positions along a dimension.
func outside(op string, dim, size int) func(position int64) {
	return func(position int64) {
		refusal.Fail(op, "RuntimeError", "index %d is out of bounds for dimension %d with size %d", position, dim, size)
	}
}

func gatherKernel(k *Call) {
	a := ops.In[ops.GatherArgs](k.Call)
	x, idx, out := strided.Lift(array(a.Self)), strided.Lift(strided.Dense(array(a.Index), ops.Int64)), strided.Lift(k.out())
	dim := k.dim()
	placesAlong(out, idx, x, dim, outside("gather", dim, x.Shape[dim])).gather()
}

func scatterKernel(k *Call) {
	a := ops.In[ops.ScatterArgs](k.Call)
	strided.Copy(k.out(), array(a.Self))
	idx, out := strided.Lift(strided.Dense(array(a.Index), ops.Int64)), strided.Lift(k.out())
	dim := k.dim()
	src := strided.Lift(array(a.Src))
	if src == nil {
		number := strided.New(out.DType, []int{1})
		strided.StoreNumber(number.Ptr(), out.DType, a.Src.Arg)
		src = strided.Over(number.Storage, number.DType, idx.Shape, make([]int, len(idx.Shape)), 0)
	} else {
		src = strided.Dense(src, out.DType)
	}
	placesAlong(src, idx, out, dim, outside("scatter", dim, out.Shape[dim])).scatter(apart(idx.Shape, dim))
}

// addTyped calls the instance of a generic kernel for an accumulating type;
// half precision accumulates in float32.
func addTyped(out *strided.Array, f32 func(o *strided.Array), f64 func(o *strided.Array), i64 func(o *strided.Array)) {
	d := ops.OpMath(out.DType)
	if !out.DType.IsFloat() {
		d = ops.Int64
	}
	acc := out
	if out.DType != d {
		acc = strided.Dense(out, d)
	}
	switch d {
	case ops.Float32:
		f32(acc)
	case ops.Float64:
		f64(acc)
	default:
		i64(acc)
	}
	if acc != out {
		strided.Copy(out, acc)
	}
}

func scatterAddKernel(k *Call) {
	strided.Copy(k.out(), k.self())
	dim := k.dim()
	if k.out().DType.IsComplex() {
		scatterAdd[complex64](strided.Lift(k.out()), k, dim)
		return
	}
	addTyped(strided.Lift(k.out()),
		func(o *strided.Array) { scatterAdd[float32](o, k, dim) },
		func(o *strided.Array) { scatterAdd[float64](o, k, dim) },
		func(o *strided.Array) { scatterAdd[int64](o, k, dim) })
}

func scatterAdd[T strided.Number | complex64](out *strided.Array, k *Call, dim int) {
	a := ops.In[ops.ScatterAddArgs](k.Call)
	idx, src := strided.Lift(strided.Dense(array(a.Index), ops.Int64)), strided.Lift(strided.Dense(array(a.Src), out.DType))
	addLines[T](placesAlong(src, idx, out, dim, outside("scatter_add", dim, out.Shape[dim])), apart(idx.Shape, dim))
}

func indexSelectKernel(k *Call) {
	a := ops.In[ops.IndexSelectArgs](k.Call)
	selectParts(strided.Lift(k.out()), strided.Lift(array(a.Self)), k.dim(), strided.Dense(array(a.Index), ops.Int64))
}

// noSlab refuses the number of a slab.
func noSlab(op string) func(position int64) {
	return func(int64) { refusal.Fail(op, "IndexError", "index out of range in self") }
}

// selectParts copies the slabs of x with these numbers to out, one after the other.
func selectParts(out, x *strided.Array, dim int, ids *strided.Array) {
	placesAlong(out, alongDim(ids, out.Shape, dim), x, dim, noSlab("index_select")).gather()
}

func indexAddKernel(k *Call) {
	a := ops.In[ops.IndexAddArgs](k.Call)
	strided.Copy(k.out(), array(a.Self))
	out, src := strided.Lift(k.out()), strided.Lift(array(a.Source))
	dim, ids := k.dim(), strided.Dense(array(a.Index), ops.Int64)
	if add := adderOf(out, src, a.Alpha.Arg); add != nil {
		idx := alongDim(ids, src.Shape, dim)
		add(placesAlong(src, idx, out, dim, noSlab("index_add")), apart(src.Shape, dim))
		return
	}
	for n, i := range strided.Slice[int64](ids) {
		if i < 0 || int(i) >= out.Shape[dim] {
			noSlab("index_add")(i)
		}
		slab := strided.Part(out, dim, int(i))
		accumulateInto(slab, strided.Part(src, dim, n), a.Alpha.Arg)
	}
}

// adderOf is the loop that adds src to places of out; nil where a sum takes more than that: a factor,
// another element type, a rounding of its own.
func adderOf(out, src *strided.Array, times ops.Arg) func(p *places, free freedom) {
	if one, ok := times.(sym.Int); !ok || !sym.Is(one, 1) || src.DType != out.DType {
		return nil
	}
	switch out.DType {
	case ops.Float32:
		return addLines[float32]
	case ops.Float64:
		return addLines[float64]
	case ops.Int64:
		return addLines[int64]
	}
	return nil
}

// viewOf is what a view operator shows of t.
func viewOf(view ops.ID, t *strided.Array, args []ops.Arg) *strided.Array {
	row := ops.Get(view)
	bound, err := ops.Bind(row, append([]ops.Arg{t}, args...), nil)
	if err != nil {
		refusal.Raise(row, err)
	}
	res, err := row.Meta(&ops.Call{Op: row, Args: bound})
	if err != nil {
		refusal.Raise(row, err)
	}
	m := res[0].(*ops.TensorMeta)
	return strided.Over(t.Storage, m.DType, strided.Plain(m.Shape), strided.Plain(m.Stride), int(m.Offset.Hint()))
}

// place copies self and writes src through a view of the copy.
func place(k *Call, src ops.TensorArg, view ops.ID, args ...ops.Arg) {
	out := k.out()
	strided.Copy(out, k.self())
	strided.Copy(viewOf(view, out, args), array(src))
}

func flipKernel(k *Call) {
	a := ops.In[ops.FlipArgs](k.Call)
	x, out := array(a.Self), k.out()
	if x.Numel() == 0 {
		return
	}
	stride, offset := append([]int{}, x.Stride...), x.Offset // x runs backwards, so that out is written as it lies
	for _, d := range wholes(a.Dims) {
		if len(x.Shape) == 0 {
			break
		}
		d = (d + len(x.Shape)) % len(x.Shape)
		offset += (x.Shape[d] - 1) * stride[d]
		stride[d] = -stride[d]
	}
	strided.Copy(out, strided.Over(x.Storage, x.DType, x.Shape, stride, offset))
}
