// Package torch is the API that users' programs are written against: tensors,
// operators, autograd and the entry points of the compiler. Under `go run` it
// executes eagerly; under `tcdbg run` the engine interprets the program,
// replaces Compile, Explain and the compiler markers, and traces the operators.
//
// What computes is below it, in packages under internal/ that know no Tensor: kernels
// over strided arrays, on gemm, conv, linalg, rng, special, order, and at the bottom
// memory and parallel. Besides them it imports ops, ops/sym, torch/compiler/modes
// and the standard library only. Open tensor.go first, then call.go
// (how an operator runs), then internal/kernels/table.go.
package torch

import (
	"sync/atomic"

	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch/internal/refusal"
	"tcdbg/torch/internal/strided"
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
	array        strided.Array
	requiresGrad bool
	grad         *Tensor
	fn           *gradFn // what computed it; nil for leaves
	outIndex     int     // which result of fn it is

	// base is the tensor whose memory a view looks at, and seen the version of
	// the storage for which fn is right: an in-place change through another
	// view makes fn stale.
	base     *Tensor
	seen     uint64
	viewMeta viewMeta
	hooks    []*hook
	// fresh says that nothing else refers to the memory: see FromFresh.
	fresh bool
	// kept is set of what OwnGrad was called with: no other leaf may have it.
	kept bool
	// unseen is set of the gradient of a leaf that nothing else refers to: see OwnGrad.
	unseen atomic.Bool
	// keepGrad asks Backward to store the gradient of a tensor that is no leaf.
	keepGrad bool

	// marks are the user's words on dimensions; nil for none.
	marks []DimMark
	// unbacked is what else is said of dimensions that are DimUnbacked; nil for nothing.
	unbacked map[int]*Unbacked
	// dims are the sizes that Export is told of, by dimension; nil for none.
	dims map[int]*Dim

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
		i += len(t.array.Shape)
	}
	if i < 0 || i >= len(t.array.Shape) {
		n := max(len(t.array.Shape), 1)
		refusal.Fail("size", "IndexError", "Dimension out of range (expected to be in range of [%d, %d], but got %d)", -n, n-1, dim)
	}
	return t.array.Shape[i]
}

// Shape returns the lengths of all dimensions.
func (t *Tensor) Shape() []int { return append([]int{}, t.array.Shape...) }

// Stride returns the step of each dimension in elements.
func (t *Tensor) Stride() []int { return append([]int{}, t.array.Stride...) }

// StorageOffset is the position of the first element in the storage.
func (t *Tensor) StorageOffset() int { return t.array.Offset }

// Dim is the number of dimensions.
func (t *Tensor) Dim() int { return len(t.array.Shape) }

// Numel is the number of elements.
func (t *Tensor) Numel() int { return strided.Product(t.array.Shape) }

// DType is the element type.
func (t *Tensor) DType() DType { return t.array.DType }

// Device is where the tensor lives.
func (t *Tensor) Device() Device { return t.array.Device }

// IsContiguous reports whether the elements lie in row-major order.
func (t *Tensor) IsContiguous() bool { return strided.Contiguous(t.array.Shape, t.array.Stride) }

// IsLeaf reports whether t was made by the user rather than by an operator
// that the tape recorded.
func (t *Tensor) IsLeaf() bool { return !t.computed() }

// Data returns a copy of the elements in row-major order as float64.
func (t *Tensor) Data() []float64 { return t.Float64s() }

// Float64s returns a copy of the elements in row-major order.
func (t *Tensor) Float64s() []float64 { return strided.Elements[float64](&t.array, ops.Float64) }

// Float32s returns a copy of the elements in row-major order.
func (t *Tensor) Float32s() []float32 { return strided.Elements[float32](&t.array, ops.Float32) }

// Int64s returns a copy of the elements in row-major order; fractions are cut off.
func (t *Tensor) Int64s() []int64 { return strided.Elements[int64](&t.array, ops.Int64) }

// Ints is Int64s as int.
func (t *Tensor) Ints() []int {
	return toInts(t.Int64s())
}

// Bools returns a copy of the elements in row-major order, true where not zero.
func (t *Tensor) Bools() []bool { return strided.Elements[bool](&t.array, ops.Bool) }

// Complex64s returns a copy of the elements in row-major order as complex
// numbers.
func (t *Tensor) Complex64s() []complex64 {
	return strided.Elements[complex64](&t.array, ops.Complex64)
}

// Item returns the value of a tensor with one element, which is real: see
// Complex64s.
func (t *Tensor) Item() float64 {
	checkOne(t)
	if t.array.DType.IsComplex() {
		refusal.Fail(
			"item", "NotImplementedError",
			"\"item\" not implemented for '%s': read the number with Complex64s, or take its Real and Imag",
			t.array.DType.ScalarType(),
		)
	}
	return t.Float64s()[0]
}

// ItemInt is Item for integers.
func (t *Tensor) ItemInt() int {
	checkOne(t)
	return int(t.Int64s()[0])
}

// Bool is Python's truth value of a tensor with one element.
func (t *Tensor) Bool() bool {
	read(t)
	switch n := t.Numel(); {
	case n == 0:
		refusal.Fail("__bool__", "RuntimeError", "Boolean value of Tensor with no values is ambiguous")
	case n > 1:
		refusal.Fail("__bool__", "RuntimeError", "Boolean value of Tensor with more than one value is ambiguous")
	}
	return t.Bools()[0]
}

func checkOne(t *Tensor) {
	read(t)
	if n := t.Numel(); n != 1 {
		refusal.Fail("item", "RuntimeError", "a Tensor with %d elements cannot be converted to Scalar", n)
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
		DType: t.array.DType, Device: t.array.Device, RequiresGrad: t.RequiresGrad(),
		Shape: sym.Consts(t.array.Shape), Stride: sym.Consts(t.array.Stride), Offset: sym.C(t.array.Offset),
	}
	t.meta.Store(m)
	return m
}
