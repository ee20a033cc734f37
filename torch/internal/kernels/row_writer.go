package kernels

import (
	"unsafe"

	"tcdbg/torch/internal/memory"
	"tcdbg/torch/internal/simd"
	"tcdbg/torch/internal/strided"
)

// This file is rows of a result that several passes compute: where the result
// is too large for the caches, a row is made beside it and written once.

// rowWriter is one thread's way to the rows of a result.
type rowWriter struct {
	level simd.Level
	room  memory.Room // of one row; none where rows are made in place
}

// NewRowWriter is for rows of n numbers of a result of total ones.
func NewRowWriter(l simd.Level, total, n int) rowWriter {
	const shortest, longest = 256, 1 << 15 // a longer row would not stay in L2
	w := rowWriter{level: l}
	if total*4 >= strided.StreamSize && n >= shortest && n <= longest {
		w.room = memory.Borrow(n)
	}
	return w
}

// Row is where the row that belongs at o is made.
func (w *rowWriter) Row(o []float32) []float32 {
	if w.room.None() {
		return o
	}
	return w.room.Floats[:len(o)]
}

// put brings what is in row to o.
func (w *rowWriter) put(o []float32) {
	if !w.room.None() {
		w.level.Stream(strided.BytesOf(o), strided.BytesOf(w.room.Floats[:len(o)]))
	}
}

// putTimes is put of the row in o times v, which the row in room keeps or not.
func (w *rowWriter) putTimes(o []float32, v float32) {
	if w.room.None() {
		w.level.WithScalar(simd.Mul, o, o, v)
		return
	}
	w.level.WithScalarAround(simd.Mul, o, w.room.Floats[:len(o)], v)
}

// fetch is a hint that the row after the first n numbers of src is next: what is computed
// before leaves memory nothing else to do.
func (w *rowWriter) fetch(src []float32, n int) {
	if !w.room.None() && len(src) >= 2*n {
		w.level.FetchBytes(unsafe.Pointer(&src[n]), 4*n)
	}
}

func (w *rowWriter) Close() {
	if !w.room.None() {
		simd.StreamEnd()
		w.room.GiveBack()
	}
}
