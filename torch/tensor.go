// Package torch is the API that users' programs are written against: tensors,
// operators, autograd and the entry points of the compiler. Under `go run` it
// executes eagerly; under `tcdbg run` the engine interprets the program,
// replaces Compile, Explain and the compiler markers, and traces the operators.
//
// It imports ops, ops/sym and the standard library only. Open
// tensor.go first, then call.go (how an operator runs).
package torch

import (
	"sync/atomic"

	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// DType is the element type of a tensor.
type DType = ops.DType

// The element types under the names that users write.
const (
	Uint8     = ops.Uint8
	Int8      = ops.Int8
	Int16     = ops.Int16
	Int32     = ops.Int32
	Int64     = ops.Int64
	Float16   = ops.Float16
	Float32   = ops.Float32
	Float64   = ops.Float64
	Bfloat16  = ops.BFloat16
	Complex64 = ops.Complex64
	Bool      = ops.Bool
)

// Device is where a tensor lives.
type Device = ops.Device

// Value is what flows through graphs and compiled functions at run time:
// *Tensor, int, float64 or bool.
type Value = any

// Tensor is an n-dimensional array: a strided view of a Storage.
type Tensor struct {
	storage      *Storage
	dtype        DType
	device       Device
	shape        []int
	stride       []int // in elements
	offset       int   // in elements
	requiresGrad bool
	grad         *Tensor
	fn           *gradFn // what computed it; nil for leaves
	outIndex     int     // which result of fn it is

	// base is the tensor whose memory a view looks at, and seen the version of
	// the storage for which fn is right: an in-place change through another
	// view makes fn stale.
	base  *Tensor
	seen  uint64
	born  birth
	hooks []*hook
	// keepGrad asks Backward to store the gradient of a tensor that is no leaf.
	keepGrad bool

	// marks are the user's words on dimensions; nil for none.
	marks []DimMark

	// fake is set on tensors that the tracer makes: it describes the value,
	// symbolic sizes included; there is no data.
	fake *ops.TensorMeta
	// meta caches TensorMeta.
	meta atomic.Pointer[ops.TensorMeta]
}

// Size returns the length of one dimension; a negative one counts from the end.
func (t *Tensor) Size(dim int) int {
	i := dim
	if i < 0 {
		i += len(t.shape)
	}
	if i < 0 || i >= len(t.shape) {
		n := max(len(t.shape), 1)
		fail("size", "IndexError", "Dimension out of range (expected to be in range of [%d, %d], but got %d)", -n, n-1, dim)
	}
	return t.shape[i]
}

// Shape returns the lengths of all dimensions.
func (t *Tensor) Shape() []int { return append([]int{}, t.shape...) }

// Stride returns the step of each dimension in elements.
func (t *Tensor) Stride() []int { return append([]int{}, t.stride...) }

// StorageOffset is the position of the first element in the storage.
func (t *Tensor) StorageOffset() int { return t.offset }

// Dim is the number of dimensions.
func (t *Tensor) Dim() int { return len(t.shape) }

// Numel is the number of elements.
func (t *Tensor) Numel() int { return product(t.shape) }

// DType is the element type.
func (t *Tensor) DType() DType { return t.dtype }

// Device is where the tensor lives.
func (t *Tensor) Device() Device { return t.device }

// IsContiguous reports whether the elements lie in row-major order.
func (t *Tensor) IsContiguous() bool { return contiguous(t.shape, t.stride) }

// IsLeaf reports whether t was made by the user rather than by an operator
// that the tape recorded.
func (t *Tensor) IsLeaf() bool { return !t.computed() }

// Data returns a copy of the elements in row-major order as float64.
func (t *Tensor) Data() []float64 { return t.Float64s() }

// Float64s returns a copy of the elements in row-major order.
func (t *Tensor) Float64s() []float64 { return elements[float64](t, ops.Float64) }

// Float32s returns a copy of the elements in row-major order.
func (t *Tensor) Float32s() []float32 { return elements[float32](t, ops.Float32) }

// Int64s returns a copy of the elements in row-major order; fractions are cut off.
func (t *Tensor) Int64s() []int64 { return elements[int64](t, ops.Int64) }

// Ints is Int64s as int.
func (t *Tensor) Ints() []int {
	in := t.Int64s()
	out := make([]int, len(in))
	for i, v := range in {
		out[i] = int(v)
	}
	return out
}

// Bools returns a copy of the elements in row-major order, true where not zero.
func (t *Tensor) Bools() []bool { return elements[bool](t, ops.Bool) }

// Complex64s returns a copy of the elements in row-major order as complex
// numbers.
func (t *Tensor) Complex64s() []complex64 { return elements[complex64](t, ops.Complex64) }

// Item returns the value of a tensor with one element, which is real: see
// Complex64s.
func (t *Tensor) Item() float64 {
	t.checkOne()
	if t.dtype.IsComplex() {
		fail("item", "NotImplementedError", "\"item\" not implemented for '%s': read the number with Complex64s, or take its Real and Imag", t.dtype.ScalarType())
	}
	return t.Float64s()[0]
}

// ItemInt is Item for integers.
func (t *Tensor) ItemInt() int {
	t.checkOne()
	return int(t.Int64s()[0])
}

// Bool is Python's truth value of a tensor with one element.
func (t *Tensor) Bool() bool {
	switch n := t.Numel(); {
	case n == 0:
		fail("__bool__", "RuntimeError", "Boolean value of Tensor with no values is ambiguous")
	case n > 1:
		fail("__bool__", "RuntimeError", "Boolean value of Tensor with more than one value is ambiguous")
	}
	return t.Bools()[0]
}

func (t *Tensor) checkOne() {
	if n := t.Numel(); n != 1 {
		fail("item", "RuntimeError", "a Tensor with %d elements cannot be converted to Scalar", n)
	}
}

// TensorMeta implements ops.Value.
func (t *Tensor) TensorMeta() *ops.TensorMeta {
	if t.fake != nil {
		return t.fake
	}
	if m := t.meta.Load(); m != nil {
		return m
	}
	m := &ops.TensorMeta{
		DType: t.dtype, Device: t.device, RequiresGrad: t.RequiresGrad(),
		Shape: sym.Consts(t.shape), Stride: sym.Consts(t.stride), Offset: sym.C(t.offset),
	}
	t.meta.Store(m)
	return m
}

// product multiplies sizes.
func product(s []int) int {
	n := 1
	for _, x := range s {
		n *= x
	}
	return n
}

func contiguous(shape, stride []int) bool {
	want := 1
	for i := len(shape) - 1; i >= 0; i-- {
		if shape[i] == 0 {
			return true
		}
	}
	for i := len(shape) - 1; i >= 0; i-- {
		if shape[i] == 1 {
			continue
		}
		if stride[i] != want {
			return false
		}
		want *= shape[i]
	}
	return true
}

// contiguousStrides are the row-major strides of shape.
func contiguousStrides(shape []int) []int {
	out := make([]int, len(shape))
	step := 1
	for i := len(shape) - 1; i >= 0; i-- {
		out[i] = step
		step *= max(shape[i], 1)
	}
	return out
}
