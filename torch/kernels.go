package torch

import (
	"runtime"
	"sync"
	"unsafe"

	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch/internal/parallel"
)

// This file is the table of eager kernels, an array over operator IDs, and
// what kernels use to read their arguments.

// kernelCall is a call with its results allocated.
type kernelCall struct {
	*ops.Call
	outs []*Tensor
	// dtype is the first result's type by the rule; in place, outs[0] may have
	// another one.
	dtype DType
}

type kernel func(k *kernelCall)

// dynamicKernel allocates its own results, whose shape data decides.
type dynamicKernel func(k *kernelCall) []Value

// kernelTables is filled on first use: its functions call kernels again, so it
// cannot be an initialised variable.
var kernelTables struct {
	once    sync.Once
	fixed   [ops.NumIDs]kernel
	dynamic [ops.NumIDs]dynamicKernel
}

func fillKernels() {
	for _, family := range []func() map[ops.ID]kernel{
		unaryKernels, binaryKernels, copyKernels, reduceKernels, matmulKernels, indexKernels, factoryKernels, normKernels,
		sortKernels, advancedKernels, convKernels, poolKernels,
		specialKernels, ctcKernels, linalgKernels, choiceKernels, histogramKernels,
	} {
		for id, k := range family() {
			if kernelTables.fixed[id] != nil {
				panic("torch: two kernels for " + ops.Get(id).Name)
			}
			kernelTables.fixed[id] = k
		}
	}
	for _, family := range []func() map[ops.ID]dynamicKernel{shapeKernels, dataKernels} {
		for id, k := range family() {
			kernelTables.dynamic[id] = k
		}
	}
}

func kernels() *[ops.NumIDs]kernel {
	kernelTables.once.Do(fillKernels)
	return &kernelTables.fixed
}

func dynamicKernels() *[ops.NumIDs]dynamicKernel {
	kernelTables.once.Do(fillKernels)
	return &kernelTables.dynamic
}

// HasKernel reports whether an operator has an eager kernel of its own.
func HasKernel(id ops.ID) bool { return kernels()[id] != nil || dynamicKernels()[id] != nil }

// in returns tensor argument i, nil when it was left out or is a number.
func (k *kernelCall) in(i int) *Tensor {
	t, _ := k.Args[i].(*Tensor)
	return t
}

// out is the first result.
func (k *kernelCall) out() *Tensor { return k.outs[0] }

// num returns integer argument i.
func (k *kernelCall) num(i int) int { return int(k.Int(i).Hint()) }

// nums returns a list of integers.
func (k *kernelCall) nums(i int) []int { return plain(k.Ints(i)) }

// dim returns dimension argument i as a position in tensor argument 0.
func (k *kernelCall) dim(i int) int {
	d := k.num(i)
	if d < 0 {
		d += len(k.in(0).shape)
	}
	return max(d, 0)
}

// slice is the memory of a contiguous tensor, for as long as the tensor lives: kernels
// run in compute, which sees to it.
func slice[T any](t *Tensor) []T {
	n := product(t.shape)
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*T)(t.Ptr()), n)
}

// elements copies the elements of t, converted to d, in row-major order.
func elements[T any](t *Tensor, d DType) []T {
	if t.fake != nil || t.device == ops.Meta {
		fail("data", "RuntimeError", "Tensor has no data: it is on the meta device or stands for a traced value")
	}
	if t.dtype.IsComplex() && !d.IsComplex() && d != ops.Bool {
		fail("data", "NotImplementedError", "a tensor of '%s' holds no real numbers: read them with Complex64s, or take its Real and Imag", t.dtype.ScalarType())
	}
	n := product(t.shape)
	out := make([]T, n)
	if n == 0 {
		return out
	}
	dst := &Tensor{dtype: d, shape: t.shape, stride: contiguousStrides(t.shape)}
	copyElements(dst, unsafe.Pointer(unsafe.SliceData(out)), t)
	return out
}

// dense returns t itself when it is contiguous and of type d, else a copy that is.
func dense(t *Tensor, d DType) *Tensor {
	if t.dtype == d && t.IsContiguous() {
		return t
	}
	out := newTensor(d, t.shape)
	copyInto(out, t)
	return out
}

// copyInto stores src, broadcast and converted, in dst. It bumps no version.
func copyInto(dst, src *Tensor) {
	if dst.device == ops.Meta || product(dst.shape) == 0 {
		return
	}
	if overlapping(dst, src) {
		src = dense(src, src.dtype)
		if src.storage == dst.storage {
			c := newTensor(src.dtype, src.shape)
			copyElements(c, c.Ptr(), src)
			src = c
		}
	}
	copyElements(dst, dst.Ptr(), src)
	runtime.KeepAlive(dst)
}

// overlapping reports whether both lie in one storage in different layouts.
func overlapping(a, b *Tensor) bool {
	return a.storage == b.storage && a.storage != nil && !sameLayout(a, b)
}

// copyElements writes src at ptr in dst's shape and strides.
func copyElements(dst *Tensor, ptr unsafe.Pointer, src *Tensor) {
	defer runtime.KeepAlive(src)
	var it iterator
	it.nops = 2
	o := &it.ops[0]
	if len(dst.shape) > maxDims {
		tooManyDims(dst.shape)
	}
	o.ptr, o.dtype, o.want = ptr, dst.dtype, src.dtype
	for i := range dst.shape {
		o.stride[i] = dst.stride[i] * dst.dtype.Size()
	}
	it.setTensor(1, src, src.dtype, dst.shape)
	it.copyAll(dst.shape, copier(dst.dtype, src.dtype))
}

// copyAll copies operand 1 to operand 0, run by run.
func (it *iterator) copyAll(shape []int, conv copyFn) {
	n := product(shape)
	it.coalesce(shape)
	last := it.ndim - 1
	it.inner, it.outer = it.size[last], n/it.size[last]
	ds, ss := it.ops[0].stride[last], it.ops[1].stride[last]
	if d := it.turnedDim(); d >= 0 {
		it.copyTurned(d)
		return
	}
	piece := max(chunkSize*4, 1)
	perRun := (it.inner + piece - 1) / piece
	parallel.For(it.outer*perRun, n, func(from, to int) {
		var base [maxOperands]unsafe.Pointer
		at := -1
		for c := from; c < to; c++ {
			if run := c / perRun; run != at {
				at = run
				it.seek(run, &base)
			}
			first := c % perRun * piece
			conv(unsafe.Add(base[0], first*ds), unsafe.Add(base[1], first*ss), ds, ss, min(piece, it.inner-first))
		}
	})
}

// storeNumber writes a scalar argument as an element of type d.
func storeNumber(p unsafe.Pointer, d DType, a ops.Arg) {
	switch x := a.(type) {
	case sym.Int:
		v := x.Hint()
		copier(d, ops.Int64)(p, unsafe.Pointer(&v), 0, 0, 1)
	case float64:
		copier(d, ops.Float64)(p, unsafe.Pointer(&x), 0, 0, 1)
	case bool:
		copier(d, ops.Bool)(p, unsafe.Pointer(&x), 0, 0, 1)
	case complex128:
		v := complex64(x)
		copier(d, ops.Complex64)(p, unsafe.Pointer(&v), 0, 0, 1)
	default:
		panic("torch: not a number")
	}
}

// sliceFrom is the memory of t from element from to element to, counted from
// its first element.
func sliceFrom[T any](t *Tensor, from, to int) []T {
	p := (*T)(t.Ptr())
	return unsafe.Slice(elem(p, from), to-from)
}

var oneArg = sym.C(1)

func toMeta(s []int) []sym.Int { return sym.Consts(s) }
