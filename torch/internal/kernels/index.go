package kernels

import (
	"unsafe"

	"tcdbg/ops"
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

// checkIndex brings an index into 0..size-1.
func checkIndex(op string, i int64, dim, size int) int {
	if i < 0 || i >= int64(size) {
		refusal.Fail(op, "RuntimeError", "index %d is out of bounds for dimension %d with size %d", i, dim, size)
	}
	return int(i)
}

// moveElement copies one element of size es.
func moveElement(dst, src unsafe.Pointer, es int) {
	switch es {
	case 1:
		*(*uint8)(dst) = *(*uint8)(src)
	case 2:
		*(*uint16)(dst) = *(*uint16)(src)
	case 4:
		*(*uint32)(dst) = *(*uint32)(src)
	default:
		*(*uint64)(dst) = *(*uint64)(src)
	}
}

func gatherKernel(k *Call) {
	a := ops.In[ops.GatherArgs](k.Call)
	x, idx, out := strided.Lift(array(a.Self)), strided.Lift(strided.Dense(array(a.Index), ops.Int64)), strided.Lift(k.out())
	dim, es := k.dim(), x.DType.Size()
	ids := strided.Slice[int64](idx)
	n := 0
	strided.EachIndex(idx.Shape, func(ix []int) {
		i := checkIndex("gather", ids[n], dim, x.Shape[dim])
		n++
		moveElement(unsafe.Add(out.Ptr(), strided.At(ix, out.Stride)*es), unsafe.Add(x.Ptr(), strided.AtWith(ix, x.Stride, dim, i)*es), es)
	})
}

func scatterKernel(k *Call) {
	a := ops.In[ops.ScatterArgs](k.Call)
	strided.Copy(k.out(), array(a.Self))
	idx, out := strided.Lift(strided.Dense(array(a.Index), ops.Int64)), strided.Lift(k.out())
	dim, es := k.dim(), out.DType.Size()
	ids := strided.Slice[int64](idx)
	src := strided.Lift(array(a.Src))
	var one [16]byte
	if src == nil {
		strided.StoreNumber(unsafe.Pointer(&one), out.DType, a.Src.Arg)
	} else {
		src = strided.Dense(src, out.DType)
	}
	n := 0
	strided.EachIndex(idx.Shape, func(ix []int) {
		i := checkIndex("scatter", ids[n], dim, out.Shape[dim])
		n++
		from := unsafe.Pointer(&one)
		if src != nil {
			from = unsafe.Add(src.Ptr(), strided.At(ix, src.Stride)*es)
		}
		moveElement(unsafe.Add(out.Ptr(), strided.AtWith(ix, out.Stride, dim, i)*es), from, es)
	})
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
	ids := strided.Slice[int64](idx)
	base, from := (*T)(out.Ptr()), (*T)(src.Ptr())
	n := 0
	strided.EachIndex(idx.Shape, func(ix []int) {
		i := checkIndex("scatter_add", ids[n], dim, out.Shape[dim])
		n++
		*strided.Elem(base, strided.AtWith(ix, out.Stride, dim, i)) += *strided.Elem(from, strided.At(ix, src.Stride))
	})
}

func indexSelectKernel(k *Call) {
	a := ops.In[ops.IndexSelectArgs](k.Call)
	selectParts(strided.Lift(k.out()), strided.Lift(array(a.Self)), k.dim(), strided.Slice[int64](strided.Dense(array(a.Index), ops.Int64)))
}

// selectParts copies the slabs of x with these numbers to out, one after the other.
func selectParts(out, x *strided.Array, dim int, ids []int64) {
	for n, i := range ids {
		if i < 0 || int(i) >= x.Shape[dim] {
			refusal.Fail("index_select", "IndexError", "index out of range in self")
		}
		strided.Copy(strided.Part(out, dim, n), strided.Part(x, dim, int(i)))
	}
}

func indexAddKernel(k *Call) {
	a := ops.In[ops.IndexAddArgs](k.Call)
	strided.Copy(k.out(), array(a.Self))
	out, src := strided.Lift(k.out()), strided.Lift(array(a.Source))
	dim := k.dim()
	ids := strided.Slice[int64](strided.Dense(array(a.Index), ops.Int64))
	for n, i := range ids {
		if i < 0 || int(i) >= out.Shape[dim] {
			refusal.Fail("index_add", "IndexError", "index out of range in self")
		}
		slab := strided.Part(out, dim, int(i))
		accumulateInto(slab, strided.Part(src, dim, n), a.Alpha.Arg)
	}
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
	stride, offset := append([]int{}, out.Stride...), out.Offset
	for _, d := range wholes(a.Dims) {
		if len(x.Shape) == 0 {
			break
		}
		d = (d + len(x.Shape)) % len(x.Shape)
		offset += (x.Shape[d] - 1) * stride[d]
		stride[d] = -stride[d]
	}
	if x.Numel() == 0 {
		return
	}
	strided.Copy(strided.Over(out.Storage, out.DType, out.Shape, stride, offset), x)
}
