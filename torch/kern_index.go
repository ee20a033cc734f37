package torch

import (
	"unsafe"

	"tcdbg/ops"
)

// This file holds the kernels that pick and place elements by position.

func indexKernels() map[ops.ID]kernel {
	return map[ops.ID]kernel{
		ops.Gather: gatherKernel, ops.Scatter: scatterKernel, ops.ScatterAdd: scatterAddKernel,
		ops.IndexSelect: indexSelectKernel, ops.IndexAdd: indexAddKernel,
		ops.SliceScatter: placeKernel(ops.Slice), ops.SelectScatter: placeKernel(ops.Select),
		ops.Flip: flipKernel,
	}
}

// eachIndex calls f for every multi-index of shape, in row-major order.
func eachIndex(shape []int, f func(ix []int)) {
	n := product(shape)
	ix := make([]int, len(shape))
	for range n {
		f(ix)
		for d := len(shape) - 1; d >= 0; d-- {
			if ix[d]++; ix[d] < shape[d] {
				break
			}
			ix[d] = 0
		}
	}
}

// at is the element position of a multi-index.
func at(ix, stride []int) int {
	p := 0
	for d, i := range ix {
		p += i * stride[d]
	}
	return p
}

// atWith is at with coordinate dim replaced.
func atWith(ix, stride []int, dim, i int) int {
	return at(ix, stride) + (i-ix[dim])*stride[dim]
}

// lift gives a 0-dimensional tensor one dimension.
func lift(t *Tensor) *Tensor {
	if t == nil || len(t.shape) > 0 {
		return t
	}
	return FromStorage(t.storage, t.dtype, []int{1}, []int{1}, t.offset)
}

// checkIndex brings an index into 0..size-1.
func checkIndex(op string, i int64, dim, size int) int {
	if i < 0 || i >= int64(size) {
		fail(op, "RuntimeError", "index %d is out of bounds for dimension %d with size %d", i, dim, size)
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

func gatherKernel(k *kernelCall) {
	x, idx, out := lift(k.in(0)), lift(dense(k.in(2), ops.Int64)), lift(k.out())
	dim, es := k.dim(1), x.dtype.Size()
	ids := slice[int64](idx)
	n := 0
	eachIndex(idx.shape, func(ix []int) {
		i := checkIndex("gather", ids[n], dim, x.shape[dim])
		n++
		moveElement(unsafe.Add(out.Ptr(), at(ix, out.stride)*es), unsafe.Add(x.Ptr(), atWith(ix, x.stride, dim, i)*es), es)
	})
}

func scatterKernel(k *kernelCall) {
	copyInto(k.out(), k.in(0))
	idx, out := lift(dense(k.in(2), ops.Int64)), lift(k.out())
	dim, es := k.dim(1), out.dtype.Size()
	ids := slice[int64](idx)
	src := lift(k.in(3))
	var one [16]byte
	if src == nil {
		storeNumber(unsafe.Pointer(&one), out.dtype, k.Args[3])
	} else {
		src = dense(src, out.dtype)
	}
	n := 0
	eachIndex(idx.shape, func(ix []int) {
		i := checkIndex("scatter", ids[n], dim, out.shape[dim])
		n++
		from := unsafe.Pointer(&one)
		if src != nil {
			from = unsafe.Add(src.Ptr(), at(ix, src.stride)*es)
		}
		moveElement(unsafe.Add(out.Ptr(), atWith(ix, out.stride, dim, i)*es), from, es)
	})
}

// addTyped calls the instance of a generic kernel for an accumulating type;
// half precision accumulates in float32.
func addTyped(out *Tensor, f32 func(o *Tensor), f64 func(o *Tensor), i64 func(o *Tensor)) {
	d := ops.OpMath(out.dtype)
	if !out.dtype.IsFloat() {
		d = ops.Int64
	}
	acc := out
	if out.dtype != d {
		acc = dense(out, d)
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
		copyInto(out, acc)
	}
}

func scatterAddKernel(k *kernelCall) {
	copyInto(k.out(), k.in(0))
	dim := k.dim(1)
	if k.out().dtype.IsComplex() {
		scatterAdd[complex64](lift(k.out()), k, dim)
		return
	}
	addTyped(lift(k.out()),
		func(o *Tensor) { scatterAdd[float32](o, k, dim) },
		func(o *Tensor) { scatterAdd[float64](o, k, dim) },
		func(o *Tensor) { scatterAdd[int64](o, k, dim) })
}

func scatterAdd[T number | complex64](out *Tensor, k *kernelCall, dim int) {
	idx, src := lift(dense(k.in(2), ops.Int64)), lift(dense(k.in(3), out.dtype))
	ids := slice[int64](idx)
	base, from := (*T)(out.Ptr()), (*T)(src.Ptr())
	n := 0
	eachIndex(idx.shape, func(ix []int) {
		i := checkIndex("scatter_add", ids[n], dim, out.shape[dim])
		n++
		*elem(base, atWith(ix, out.stride, dim, i)) += *elem(from, at(ix, src.stride))
	})
}

// part is the slab of t at position i of dimension dim.
func part(t *Tensor, dim, i int) *Tensor {
	return FromStorage(t.storage, t.dtype, removeAt(t.shape, dim), removeAt(t.stride, dim), t.offset+i*t.stride[dim])
}

func indexSelectKernel(k *kernelCall) {
	x, out := lift(k.in(0)), lift(k.out())
	dim := k.dim(1)
	ids := slice[int64](dense(k.in(2), ops.Int64))
	for n, i := range ids {
		if i < 0 || int(i) >= x.shape[dim] {
			fail("index_select", "IndexError", "index out of range in self")
		}
		copyInto(part(out, dim, n), part(x, dim, int(i)))
	}
}

func indexAddKernel(k *kernelCall) {
	copyInto(k.out(), k.in(0))
	out, src := lift(k.out()), lift(k.in(3))
	dim := k.dim(1)
	ids := slice[int64](dense(k.in(2), ops.Int64))
	add := ops.Get(ops.Add)
	for n, i := range ids {
		if i < 0 || int(i) >= out.shape[dim] {
			fail("index_add", "IndexError", "index out of range in self")
		}
		slab := part(out, dim, int(i))
		writeInPlace(&ops.Call{Op: add, Args: []ops.Arg{slab, part(src, dim, n), k.Args[4]}}, slab)
	}
}

// placeKernel copies argument 0 and writes argument 1 through a view of it.
func placeKernel(view ops.ID) kernel {
	return func(k *kernelCall) {
		out := k.out()
		copyInto(out, k.in(0))
		v := eager{}.Emit(view, append([]ops.Arg{out}, k.Args[2:]...)...).(*Tensor)
		copyInto(v, k.in(1))
	}
}

func flipKernel(k *kernelCall) {
	x, out := k.in(0), k.out()
	stride, offset := append([]int{}, out.stride...), out.offset
	for _, d := range k.nums(1) {
		if len(x.shape) == 0 {
			break
		}
		d = (d + len(x.shape)) % len(x.shape)
		offset += (x.shape[d] - 1) * stride[d]
		stride[d] = -stride[d]
	}
	if x.Numel() == 0 {
		return
	}
	copyInto(FromStorage(out.storage, out.dtype, out.shape, stride, offset), x)
}
