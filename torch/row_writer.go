package torch

import "tcdbg/torch/internal/simd"

// This file is rows of a result that several passes compute: where the result
// is too large for the caches, a row is made beside it and written once.

// rowWriter is one thread's way to the rows of a result.
type rowWriter struct {
	level simd.Level
	room  room // of one row; none where rows are made in place
}

// newRowWriter is for rows of n numbers of a result of total ones.
func newRowWriter(l simd.Level, total, n int) rowWriter {
	const shortest, longest = 256, 1 << 15 // a longer row would not stay in L2
	w := rowWriter{level: l}
	if total*4 >= streamSize && n >= shortest && n <= longest {
		w.room = borrow(n)
	}
	return w
}

// row is where the row that belongs at o is made.
func (w *rowWriter) row(o []float32) []float32 {
	if w.room.block == nil {
		return o
	}
	return w.room.floats[:len(o)]
}

// put brings what stands in row to o.
func (w *rowWriter) put(o []float32) {
	if w.room.block != nil {
		w.level.Stream(bytesOf(o), bytesOf(w.room.floats[:len(o)]))
	}
}

func (w *rowWriter) close() {
	if w.room.block != nil {
		simd.StreamEnd()
		giveBack(w.room)
	}
}
