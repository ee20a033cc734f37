package torch

import (
	"tcdbg/torch/internal/parallel"
	"tcdbg/torch/internal/simd"
)

// This file is the matrix product for types without a register tile, and the
// products with a vector.

// gemmPlain computes c = a@b by rows: good enough for types without a tile, and for
// small products.
func gemmPlain[T float32 | float64 | int64](c []T, ldc int, a, b matrix[T], m, n, k, threads int) {
	rows := b
	if b.cs != 1 && n > 1 {
		rows = packRows(b, k, n)
	}
	if threads == 1 {
		productRows(c, ldc, a, rows, 0, m, n, k)
		return
	}
	parallel.For(m, m*n*max(k/8, 1), func(from, to int) { productRows(c, ldc, a, rows, from, to, n, k) })
}

func productRows[T float32 | float64 | int64](c []T, ldc int, a, rows matrix[T], from, to, n, k int) {
	for i := from; i < to; i++ {
		row := c[i*ldc : i*ldc+n]
		clear(row)
		for p := range k {
			x := a.data[i*a.rs+p*a.cs]
			y := rows.data[p*rows.rs : p*rows.rs+n]
			for j, v := range y {
				row[j] += T(x * v) //nolint:unconvert // the conversion keeps the product from being fused
			}
		}
	}
}

func packRows[T any](b matrix[T], k, n int) matrix[T] {
	out := matrix[T]{data: make([]T, k*n), rs: n, cs: 1}
	for p := range k {
		for j := range n {
			out.data[p*n+j] = b.data[p*b.rs+j*b.cs]
		}
	}
	return out
}

// gemv32 is the product with a vector: bound by reading the matrix.
func gemv32(c []float32, ldc int, a, b matrix[float32], m, n, k int) {
	if m == 1 {
		gemvRow(c, a, b, n, k)
		return
	}
	parallel.For(m, m*k, func(from, to int) {
		for i := from; i < to; i++ {
			c[i*ldc] = dotStrided(a.data[i*a.rs:], a.cs, b.data, b.rs, k)
		}
	})
}

func gemvRow(c []float32, a, b matrix[float32], n, k int) {
	if b.rs == 1 || n == 1 {
		parallel.For(n, n*k, func(from, to int) {
			for j := from; j < to; j++ {
				c[j] = dotStrided(a.data, a.cs, b.data[j*b.cs:], b.rs, k)
			}
		})
		return
	}
	l := simd.Active()
	parallel.For((n+1023)/1024, n*k, func(from, to int) {
		lo, hi := from*1024, min(to*1024, n)
		clear(c[lo:hi])
		for p := range k {
			x := a.data[p*a.cs]
			if b.cs == 1 {
				l.Axpy(c[lo:hi], b.data[p*b.rs+lo:p*b.rs+hi], x)
				continue
			}
			for j := lo; j < hi; j++ {
				c[j] += float32(x * b.data[p*b.rs+j*b.cs])
			}
		}
	})
}

func dotStrided(x []float32, xs int, y []float32, ys, n int) float32 {
	if xs == 1 && ys == 1 {
		return simd.Active().Dot(x[:n], y[:n])
	}
	s := float32(0)
	for i := range n {
		s += float32(x[i*xs] * y[i*ys])
	}
	return s
}
