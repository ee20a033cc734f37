package strided

import "unsafe"

// This file finds elements by their indices.

// EachIndex calls f for every multi-index of shape, in row-major order.
func EachIndex(shape []int, f func(ix []int)) {
	n := Product(shape)
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

// At is the element position of a multi-index.
func At(ix, stride []int) int {
	p := 0
	for d, i := range ix {
		p += i * stride[d]
	}
	return p
}

// AtWith is At with coordinate dim replaced.
func AtWith(ix, stride []int, dim, i int) int {
	return At(ix, stride) + (i-ix[dim])*stride[dim]
}

// Lift gives a 0-dimensional array one dimension.
func Lift(t *Array) *Array {
	if t == nil || len(t.Shape) > 0 {
		return t
	}
	return Over(t.Storage, t.DType, []int{1}, []int{1}, t.Offset)
}

// Part is the slab of t at position i of dimension dim.
func Part(t *Array, dim, i int) *Array {
	return Over(t.Storage, t.DType, RemoveAt(t.Shape, dim), RemoveAt(t.Stride, dim), t.Offset+i*t.Stride[dim])
}

// Elem is the address of element i from base.
func Elem[T any](base *T, i int) *T {
	return (*T)(unsafe.Add(unsafe.Pointer(base), i*int(unsafe.Sizeof(*base))))
}

// RemoveAt is s without place i.
func RemoveAt(s []int, i int) []int {
	out := append([]int{}, s[:i]...)
	return append(out, s[i+1:]...)
}

// Permuted shows t with its dimensions in another order.
func Permuted(t *Array, order []int) *Array {
	shape, stride := make([]int, len(order)), make([]int, len(order))
	for i, d := range order {
		shape[i], stride[i] = t.Shape[d], t.Stride[d]
	}
	return Over(t.Storage, t.DType, shape, stride, t.Offset)
}
