package gemm

import (
	"tcdbg/torch/internal/parallel"
	"tcdbg/torch/internal/simd"
)

// This file is the matrix product for types without a register tile, and the
// products with a vector.

// Plain computes c = a@b by rows: good enough for types without a tile, and for
// small products.
func Plain[T float32 | float64 | int64](c []T, ldc int, a, b Matrix[T], m, n, k, threads int) {
	rows := b
	if b.CS != 1 && n > 1 {
		rows = packRows(b, k, n)
	}
	if threads == 1 {
		productRows(c, ldc, a, rows, 0, m, n, k)
		return
	}
	parallel.For(m, m*n*max(k/8, 1), func(from, to int) { productRows(c, ldc, a, rows, from, to, n, k) })
}

func productRows[T float32 | float64 | int64](c []T, ldc int, a, rows Matrix[T], from, to, n, k int) {
	for i := from; i < to; i++ {
		row := c[i*ldc : i*ldc+n]
		clear(row)
		for p := range k {
			x := a.Data[i*a.RS+p*a.CS]
			y := rows.Data[p*rows.RS : p*rows.RS+n]
			for j, v := range y {
				row[j] += T(x * v) //nolint:unconvert // the conversion keeps the product from being fused
			}
		}
	}
}

func packRows[T any](b Matrix[T], k, n int) Matrix[T] {
	out := Matrix[T]{Data: make([]T, k*n), RS: n, CS: 1}
	for p := range k {
		for j := range n {
			out.Data[p*n+j] = b.Data[p*b.RS+j*b.CS]
		}
	}
	return out
}

// vector32 is the product with a vector: bound by reading the matrix.
func vector32(c []float32, ldc int, a, b Matrix[float32], m, n, k int) {
	if m == 1 {
		vectorRow(c, a, b, n, k)
		return
	}
	parallel.For(m, m*k, func(from, to int) {
		for i := from; i < to; i++ {
			c[i*ldc] = dotStrided(a.Data[i*a.RS:], a.CS, b.Data, b.RS, k)
		}
	})
}

func vectorRow(c []float32, a, b Matrix[float32], n, k int) {
	if b.RS == 1 || n == 1 {
		parallel.For(n, n*k, func(from, to int) {
			for j := from; j < to; j++ {
				c[j] = dotStrided(a.Data, a.CS, b.Data[j*b.CS:], b.RS, k)
			}
		})
		return
	}
	l := simd.Active()
	parallel.For((n+1023)/1024, n*k, func(from, to int) {
		lo, hi := from*1024, min(to*1024, n)
		clear(c[lo:hi])
		for p := range k {
			x := a.Data[p*a.CS]
			if b.CS == 1 {
				l.Axpy(c[lo:hi], b.Data[p*b.RS+lo:p*b.RS+hi], x)
				continue
			}
			for j := lo; j < hi; j++ {
				c[j] += float32(x * b.Data[p*b.RS+j*b.CS])
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
