package strided

import (
	"unsafe"

	"tcdbg/torch/internal/parallel"
	"tcdbg/torch/internal/simd"
)

// This file copies transposed memory: runs of the result that are columns of
// the source go through square blocks, so that neither side is read or written
// a word at a time.

// transposedDim returns the dimension along which the source is contiguous, where
// the result is so along the last one and elements have four bytes; -1 where
// the copy is of another kind or too small to matter.
func (it *Iterator) transposedDim() int {
	last := it.Ndim - 1
	to, from := &it.ops[0], &it.ops[1]
	if to.dtype != from.dtype || to.dtype.Size() != 4 || to.stride[last] != 4 || from.stride[last] <= 4 || it.Size[last] < 8 {
		return -1
	}
	for d := range last {
		if from.stride[d] == 4 && it.Size[d] >= 8 && to.stride[d]%4 == 0 && to.stride[d] > 0 {
			return d
		}
	}
	return -1
}

// transposedRows is how many rows of the result a block has.
const transposedRows = 64

// copyTransposed copies operand 1 to operand 0, whose last dimension and dimension
// d are exchanged in memory.
func (it *Iterator) copyTransposed(d int) {
	last := it.Ndim - 1
	to, from := &it.ops[0], &it.ops[1]
	rows, cols := it.Size[d], it.Size[last]
	blocks := (rows + transposedRows - 1) / transposedRows
	outer := it.outer / rows
	l := simd.Active()
	parallel.For(outer*blocks, outer*rows*cols, func(first, end int) {
		for c := first; c < end; c++ {
			dst, src := it.outerPlace(c/blocks, d)
			r := c % blocks * transposedRows
			count := min(transposedRows, rows-r)
			dst, src = unsafe.Add(dst, r*to.stride[d]), unsafe.Add(src, r*4)
			for j := 0; j < cols; j += 2 * l.Lanes() {
				n := min(2*l.Lanes(), cols-j)
				l.Pack(
					(*float32)(unsafe.Add(dst, j*4)), (*float32)(unsafe.Add(src, j*from.stride[last])),
					from.stride[last], 4, count, n, to.stride[d]/4,
				)
			}
		}
	})
}

// outerPlace is where matrix i of a copy starts: all dimensions but the last
// and d count.
func (it *Iterator) outerPlace(i, d int) (dst, src unsafe.Pointer) {
	dst, src = it.ops[0].ptr, it.ops[1].ptr
	for e := it.Ndim - 2; e >= 0; e-- {
		if e == d {
			continue
		}
		at := i % it.Size[e]
		i /= it.Size[e]
		dst, src = unsafe.Add(dst, at*it.ops[0].stride[e]), unsafe.Add(src, at*it.ops[1].stride[e])
	}
	return dst, src
}
