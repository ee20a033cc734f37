package simd

import "unsafe"

// This file is the loops of vec.go whose results go around the caches, as those of Stream
// do: what they wrote is there for other threads after StreamEnd.

// UnaryAround is Unary around the caches.
func (l Level) UnaryAround(f Unary, dst, src []float32) {
	head, end := l.linesOf(dst[:len(src)])
	l.Unary(f, dst[:head], src[:head])
	if end > head {
		table[l].unaryAround[f](&dst[head], &src[head], end-head)
	}
	l.Unary(f, dst[end:], src[end:])
}

// BinaryAround is Binary around the caches.
func (l Level) BinaryAround(f Binary, dst, a, b []float32) {
	b = b[:len(a)]
	head, end := l.linesOf(dst[:len(a)])
	l.Binary(f, dst[:head], a[:head], b[:head])
	if end > head {
		table[l].binaryAround[f](&dst[head], &a[head], &b[head], end-head)
	}
	l.Binary(f, dst[end:], a[end:], b[end:])
}

// WithScalarAround is WithScalar around the caches.
func (l Level) WithScalarAround(f Binary, dst, src []float32, s float32) {
	if f == Sub {
		f, s = Add, -s
	}
	head, end := l.linesOf(dst[:len(src)])
	l.WithScalar(f, dst[:head], src[:head], s)
	if end > head {
		table[l].scalarAround[f](&dst[head], &src[head], end-head, s)
	}
	l.WithScalar(f, dst[end:], src[end:], s)
}

// linesOf are the numbers of x that fill lines of cache: none where a number lies across
// two of them, or where the level has no loops for them.
func (l Level) linesOf(x []float32) (head, end int) {
	p := unsafe.Pointer(unsafe.SliceData(x))
	if l == Plain || uintptr(p)%4 != 0 {
		return len(x), len(x)
	}
	head, end = wholeLines(p, 4*len(x))
	return head / 4, end / 4
}
