package strided

import (
	"runtime"
	"unsafe"

	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch/internal/memory"
	"tcdbg/torch/internal/parallel"
	"tcdbg/torch/internal/refusal"
)

// This file copies arrays between layouts and element types.

// Store stores row-major accumulators in the result.
func Store[A any](out *Array, acc []A, d ops.DType) {
	src := &Array{DType: d, Shape: out.Shape, Stride: ContiguousStrides(out.Shape), Storage: memory.Over(BytesOf(acc))}
	Copy(out, src)
}

// BytesOf is the memory of s.
func BytesOf[A any](s []A) []byte {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(s[0])))
}

// Slice is the memory of a contiguous array, for as long as its storage lives: a kernel runs
// between memory.Begin and memory.End, which see to it.
func Slice[T any](t *Array) []T {
	n := Product(t.Shape)
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*T)(t.Ptr()), n)
}

// Elements copies the elements of t, converted to d, in row-major order.
func Elements[T any](t *Array, d ops.DType) []T {
	if t.Storage == nil || t.Device == ops.Meta {
		refusal.Fail("data", "RuntimeError", "Tensor has no data: it is on the meta device or stands for a traced value")
	}
	if t.DType.IsComplex() && !d.IsComplex() && d != ops.Bool {
		refusal.Fail(
			"data", "NotImplementedError",
			"a tensor of '%s' holds no real numbers: read them with Complex64s, or take its Real and Imag",
			t.DType.ScalarType(),
		)
	}
	n := Product(t.Shape)
	out := make([]T, n)
	if n == 0 {
		return out
	}
	dst := &Array{DType: d, Shape: t.Shape, Stride: ContiguousStrides(t.Shape)}
	copyElements(dst, unsafe.Pointer(unsafe.SliceData(out)), t)
	return out
}

// Dense returns t itself when it is contiguous and of type d, else a copy that is.
func Dense(t *Array, d ops.DType) *Array {
	if t.DType == d && t.IsContiguous() {
		return t
	}
	out := New(d, t.Shape)
	Copy(out, t)
	return out
}

// Copy stores src, broadcast and converted, in dst. It bumps no version.
func Copy(dst, src *Array) {
	if dst.Device == ops.Meta || Product(dst.Shape) == 0 {
		return
	}
	if Overlapping(dst, src) {
		src = Dense(src, src.DType)
		if src.Storage == dst.Storage {
			c := New(src.DType, src.Shape)
			copyElements(c, c.Ptr(), src)
			src = c
		}
	}
	copyElements(dst, dst.Ptr(), src)
	runtime.KeepAlive(dst)
}

// Overlapping reports whether both lie in one storage in different layouts.
func Overlapping(a, b *Array) bool {
	return a.Storage == b.Storage && a.Storage != nil && !SameLayout(a, b)
}

// copyElements writes src at ptr in dst's shape and strides.
func copyElements(dst *Array, ptr unsafe.Pointer, src *Array) {
	defer runtime.KeepAlive(src)
	var it Iterator
	it.Nops = 2
	o := &it.ops[0]
	if len(dst.Shape) > maxDims {
		tooManyDims(dst.Shape)
	}
	o.ptr, o.dtype, o.want = ptr, dst.DType, src.DType
	for i := range dst.Shape {
		o.stride[i] = dst.Stride[i] * dst.DType.Size()
	}
	it.SetTensor(1, src, src.DType, dst.Shape)
	it.copyAll(dst.Shape, Copier(dst.DType, src.DType))
}

// copyAll copies operand 1 to operand 0, run by run.
func (it *Iterator) copyAll(shape []int, conv CopyFunc) {
	n := Product(shape)
	it.Coalesce(shape)
	last := it.Ndim - 1
	it.Inner, it.outer = it.Size[last], n/it.Size[last]
	ds, ss := it.ops[0].stride[last], it.ops[1].stride[last]
	if d := it.transposedDim(); d >= 0 {
		it.copyTransposed(d)
		return
	}
	piece := max(chunkSize*4, 1)
	perRun := (it.Inner + piece - 1) / piece
	parallel.For(it.outer*perRun, n, func(from, to int) {
		var base [MaxOperands]unsafe.Pointer
		at := -1
		for c := from; c < to; c++ {
			if run := c / perRun; run != at {
				at = run
				it.seek(run, &base)
			}
			first := c % perRun * piece
			conv(unsafe.Add(base[0], first*ds), unsafe.Add(base[1], first*ss), ds, ss, min(piece, it.Inner-first))
		}
	})
}

// StoreNumber writes a scalar argument as an element of type d.
func StoreNumber(p unsafe.Pointer, d ops.DType, a ops.Arg) {
	switch x := a.(type) {
	case sym.Int:
		v := x.Hint()
		Copier(d, ops.Int64)(p, unsafe.Pointer(&v), 0, 0, 1)
	case float64:
		Copier(d, ops.Float64)(p, unsafe.Pointer(&x), 0, 0, 1)
	case bool:
		Copier(d, ops.Bool)(p, unsafe.Pointer(&x), 0, 0, 1)
	case complex128:
		v := complex64(x)
		Copier(d, ops.Complex64)(p, unsafe.Pointer(&v), 0, 0, 1)
	default:
		panic("torch: not a number")
	}
}

// SliceFrom is the memory of t from element from to element to, counted from
// its first element.
func SliceFrom[T any](t *Array, from, to int) []T {
	p := (*T)(t.Ptr())
	return unsafe.Slice(Elem(p, from), to-from)
}
