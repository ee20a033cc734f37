package strided

import (
	"unsafe"

	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch/internal/memory"
)

// This file is what an array is.

// Array is numbers in memory as a kernel sees them.
type Array struct {
	Storage *memory.Storage
	DType   ops.DType
	Device  ops.Device
	Shape   []int
	Stride  []int // in elements
	Offset  int   // in elements
}

// Holder is what has an array: a tensor, or an array itself.
type Holder interface{ Array() *Array }

// Array implements Holder.
func (t *Array) Array() *Array { return t }

// TensorMeta implements ops.Value.
func (t *Array) TensorMeta() *ops.TensorMeta {
	return &ops.TensorMeta{
		DType: t.DType, Device: t.Device,
		Shape: sym.Consts(t.Shape), Stride: sym.Consts(t.Stride), Offset: sym.C(t.Offset),
	}
}

// Over is an array over st: shape and stride in elements, offset in elements.
func Over(st *memory.Storage, d ops.DType, shape, stride []int, offset int) *Array {
	return &Array{Storage: st, DType: d, Device: ops.CPU, Shape: shape, Stride: stride, Offset: offset}
}

// New allocates a contiguous array.
func New(d ops.DType, shape []int) *Array {
	return Over(memory.NewStorage(Product(shape)*d.Size()), d, shape, ContiguousStrides(shape), 0)
}

// Ptr returns the address of the first element; nil when there are no elements or
// no data.
func (t *Array) Ptr() unsafe.Pointer {
	if t.Storage == nil || len(t.Storage.Bytes()) == 0 || Product(t.Shape) == 0 {
		return nil
	}
	return unsafe.Add(unsafe.Pointer(unsafe.SliceData(t.Storage.Bytes())), t.Offset*t.DType.Size())
}

// Numel is the number of elements.
func (t *Array) Numel() int { return Product(t.Shape) }

// IsContiguous reports whether the elements lie in row-major order.
func (t *Array) IsContiguous() bool { return Contiguous(t.Shape, t.Stride) }

// Float64s returns a copy of the elements in row-major order.
func (t *Array) Float64s() []float64 { return Elements[float64](t, ops.Float64) }

// Int64s returns a copy of the elements in row-major order; fractions are cut off.
func (t *Array) Int64s() []int64 { return Elements[int64](t, ops.Int64) }

// Bools returns a copy of the elements in row-major order, true where not zero.
func (t *Array) Bools() []bool { return Elements[bool](t, ops.Bool) }

// Expand broadcasts t to a shape.
func (t *Array) Expand(shape []int) *Array {
	stride := make([]int, len(shape))
	lead := len(shape) - len(t.Shape)
	for i := range t.Shape {
		if t.Shape[i] != 1 || shape[lead+i] == 1 {
			stride[lead+i] = t.Stride[i]
		}
	}
	return Over(t.Storage, t.DType, shape, stride, t.Offset)
}

// Column gives t one dimension of size 1 more, the last.
func (t *Array) Column() *Array {
	return Over(t.Storage, t.DType, append(append([]int{}, t.Shape...), 1), append(append([]int{}, t.Stride...), 1), t.Offset)
}

// SameLayout reports whether the elements of both lie at the same places.
func SameLayout(a, b *Array) bool {
	if a.Offset != b.Offset || len(a.Shape) != len(b.Shape) {
		return false
	}
	for i := range a.Shape {
		if a.Shape[i] != b.Shape[i] || a.Stride[i] != b.Stride[i] {
			return false
		}
	}
	return true
}

// Product multiplies sizes.
func Product(s []int) int {
	n := 1
	for _, x := range s {
		n *= x
	}
	return n
}

// Contiguous reports whether strides are those of row-major order.
func Contiguous(shape, stride []int) bool {
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

// ContiguousStrides are the row-major strides of shape.
func ContiguousStrides(shape []int) []int {
	out := make([]int, len(shape))
	step := 1
	for i := len(shape) - 1; i >= 0; i-- {
		out[i] = step
		step *= max(shape[i], 1)
	}
	return out
}

// Plain is the sizes as plain numbers; symbolic ones give their hints.
func Plain(s []sym.Int) []int {
	out := make([]int, len(s))
	for i, x := range s {
		v, ok := x.IsConst()
		if !ok {
			v = x.Hint()
		}
		out[i] = int(v)
	}
	return out
}
