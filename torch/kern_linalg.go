package torch

import (
	"slices"
	"strconv"

	"tcdbg/internal/ops"
)

// This file runs the factorizations of matrices, batch by batch, in float64.
// The algorithms stand in factor.go and jacobi.go.

func linalgKernels() map[ops.ID]kernel {
	return map[ops.ID]kernel{
		ops.CholeskyEx: choleskyKernel, ops.InvEx: invKernel, ops.SolveEx: solveKernel, ops.SolveTriangular: solveTriangularKernel,
		ops.LinalgDet: detKernel, ops.LinalgSlogdet: slogdetKernel, ops.LinalgQr: qrKernel, ops.HouseholderProduct: householderKernel,
		ops.LinalgEigh: eighKernel, ops.LinalgSvd: svdKernel, ops.MatrixExp: matrixExpKernel, ops.LstsqSolution: lstsqKernel,
	}
}

// realMatrix is rows by cols numbers, row after row.
type realMatrix struct {
	rows, cols int
	a          []float64
}

func newMatrix(rows, cols int) realMatrix { return realMatrix{rows, cols, make([]float64, rows*cols)} }

func identity(n int) realMatrix {
	m := newMatrix(n, n)
	for i := range n {
		m.a[i*n+i] = 1
	}
	return m
}

func (m realMatrix) at(i, j int) float64     { return m.a[i*m.cols+j] }
func (m realMatrix) set(i, j int, v float64) { m.a[i*m.cols+j] = v }
func (m realMatrix) row(i int) []float64     { return m.a[i*m.cols : (i+1)*m.cols] }

func (m realMatrix) clone() realMatrix {
	return realMatrix{m.rows, m.cols, append([]float64(nil), m.a...)}
}

func (m realMatrix) transposed() realMatrix {
	t := newMatrix(m.cols, m.rows)
	for i := range m.rows {
		for j, v := range m.row(i) {
			t.a[j*t.cols+i] = v
		}
	}
	return t
}

// times is the product of matrices, by rows, so that memory is read in order.
func (m realMatrix) times(n realMatrix) realMatrix {
	out := newMatrix(m.rows, n.cols)
	for i := range m.rows {
		o := out.row(i)
		for k, v := range m.row(i) {
			if v == 0 {
				continue
			}
			for j, w := range n.row(k) {
				o[j] += v * w
			}
		}
	}
	return out
}

// matrices lists the matrices of a batch.
func matrices(t *Tensor) []realMatrix {
	n := len(t.shape)
	rows, cols := t.shape[n-2], t.shape[n-1]
	all := t.Float64s()
	count := product(t.shape[:n-2])
	out := make([]realMatrix, count)
	for i := range out {
		out[i] = realMatrix{rows, cols, all[i*rows*cols : (i+1)*rows*cols]}
	}
	return out
}

// widened broadcasts the batch of t to the given one.
func widened(t *Tensor, batch []int) *Tensor {
	n := len(t.shape)
	shape := append(append([]int{}, batch...), t.shape[n-2:]...)
	return eager{}.Emit(ops.Expand, t, toMeta(shape)).(*Tensor)
}

// gather joins the data of matrices.
func gather(ms []realMatrix) []float64 {
	var out []float64
	for _, m := range ms {
		out = append(out, m.a...)
	}
	return out
}

// eachMatrix runs f for every matrix of a batch, in parallel.
func eachMatrix(ms []realMatrix, f func(i int, m realMatrix)) {
	work := 0
	if len(ms) > 0 {
		work = len(ms) * ms[0].rows * ms[0].cols * (ms[0].cols + 1)
	}
	parallel(len(ms), work, func(from, to int) {
		for i := from; i < to; i++ {
			f(i, ms[i])
		}
	})
}

// batchText names the element of a batch in a message.
func batchText(ms []realMatrix, x *Tensor, i int) string {
	if len(x.shape) > 2 {
		return "(Batch element " + strconv.Itoa(i) + "): "
	}
	return ""
}

func choleskyKernel(k *kernelCall) {
	in := matrices(k.in(0))
	out, info := make([]realMatrix, len(in)), make([]int64, len(in))
	eachMatrix(in, func(i int, m realMatrix) {
		if k.Bool(1) { // the upper triangle counts
			m = m.transposed()
		}
		l, bad := cholesky(m)
		info[i] = int64(bad)
		if k.Bool(1) {
			l = l.transposed()
		}
		out[i] = l
	})
	for i, n := range info {
		if n != 0 && k.Bool(2) {
			fail("linalg.cholesky", "LinAlgError", "linalg.cholesky: %sThe factorization could not be completed because the input is not positive-definite (the leading minor of order %d is not positive-definite).", batchText(in, k.in(0), i), n)
		}
	}
	finish(k.outs[0], gather(out), ops.Float64)
	finish(k.outs[1], info, ops.Int64)
}

func invKernel(k *kernelCall) {
	in := matrices(k.in(0))
	out, info := make([]realMatrix, len(in)), make([]int64, len(in))
	eachMatrix(in, func(i int, m realMatrix) {
		f := factorLU(m)
		info[i] = int64(f.singular)
		out[i] = f.solve(identity(m.rows))
	})
	for i, n := range info {
		if n != 0 && k.Bool(1) {
			fail("linalg.inv", "LinAlgError", "linalg.inv: %sThe diagonal element %d is zero, the inversion could not be completed because the input matrix is singular.", batchText(in, k.in(0), i), n)
		}
	}
	finish(k.outs[0], gather(out), ops.Float64)
	finish(k.outs[1], info, ops.Int64)
}

// rightSides reads B of a solver as matrices over the batch of the result.
func rightSides(k *kernelCall, vector bool) []realMatrix {
	y := k.in(1)
	if vector {
		y = eager{}.Emit(ops.Unsqueeze, y, len(y.shape)).(*Tensor)
	}
	return matrices(widened(y, solvedBatch(k, vector)))
}

// solvedBatch is the batch of a solution.
func solvedBatch(k *kernelCall, vector bool) []int {
	n := len(k.outs[0].shape) - 2
	if vector {
		n++
	}
	return k.outs[0].shape[:n]
}

func solveKernel(k *kernelCall) {
	a, y := k.in(0), k.in(1)
	vector := len(y.shape) == 1 || len(a.shape)-1 == len(y.shape) && slices.Equal(a.shape[:len(a.shape)-1], y.shape)
	right := rightSides(k, vector)
	own := matrices(a)
	info := make([]int64, len(own))
	wide := matrices(widened(a, solvedBatch(k, vector)))
	out := make([]realMatrix, len(wide))
	left := k.Bool(2)
	eachMatrix(wide, func(i int, m realMatrix) {
		if left {
			out[i] = factorLU(m).solve(right[i])
			return
		}
		out[i] = factorLU(m.transposed()).solve(right[i].transposed()).transposed()
	})
	eachMatrix(own, func(i int, m realMatrix) { info[i] = int64(factorLU(m).singular) })
	for i, n := range info {
		if n != 0 && k.Bool(3) {
			fail("linalg.solve", "LinAlgError", "torch.linalg.solve: %sThe solver failed because the input matrix is singular.", batchText(own, a, i))
		}
	}
	finish(k.outs[0], gather(out), ops.Float64)
	finish(k.outs[1], info, ops.Int64)
}

func solveTriangularKernel(k *kernelCall) {
	upper, left, unit := k.Bool(2), k.Bool(3), k.Bool(4)
	right := rightSides(k, false)
	wide := matrices(widened(k.in(0), k.outs[0].shape[:len(k.outs[0].shape)-2]))
	out := make([]realMatrix, len(wide))
	eachMatrix(wide, func(i int, m realMatrix) {
		x := right[i].clone()
		if left {
			substitute(m, x, upper, unit)
		} else { // XA = B is A^T X^T = B^T
			x = x.transposed()
			substitute(m.transposed(), x, !upper, unit)
			x = x.transposed()
		}
		out[i] = x
	})
	finish(k.outs[0], gather(out), ops.Float64)
}

func detKernel(k *kernelCall) {
	in := matrices(k.in(0))
	out := make([]float64, len(in))
	eachMatrix(in, func(i int, m realMatrix) {
		out[i] = factorLU(m).det()
	})
	finish(k.out(), out, ops.Float64)
}

func slogdetKernel(k *kernelCall) {
	in := matrices(k.in(0))
	sign, log := make([]float64, len(in)), make([]float64, len(in))
	eachMatrix(in, func(i int, m realMatrix) { sign[i], log[i] = factorLU(m).logDet() })
	finish(k.outs[0], sign, ops.Float64)
	finish(k.outs[1], log, ops.Float64)
}

func qrKernel(k *kernelCall) {
	in := matrices(k.in(0))
	qs, rs := make([]realMatrix, len(in)), make([]realMatrix, len(in))
	mode := k.Str(1)
	eachMatrix(in, func(i int, m realMatrix) {
		f, tau := householder(m)
		size := min(m.rows, m.cols)
		if mode == "complete" {
			size = m.rows
		}
		if mode != "r" {
			qs[i] = reflections(f, tau, size)
		}
		r := newMatrix(size, m.cols)
		for row := range size {
			for col := row; col < m.cols; col++ {
				r.set(row, col, f.at(row, col))
			}
		}
		rs[i] = r
	})
	finish(k.outs[0], gather(qs), ops.Float64)
	finish(k.outs[1], gather(rs), ops.Float64)
}

func householderKernel(k *kernelCall) {
	in := matrices(k.in(0))
	tau := k.in(1).Float64s()
	per := 0
	if len(in) > 0 {
		per = len(tau) / len(in)
	}
	out := make([]realMatrix, len(in))
	eachMatrix(in, func(i int, m realMatrix) { out[i] = reflections(m, tau[i*per:(i+1)*per], m.cols) })
	finish(k.out(), gather(out), ops.Float64)
}

func eighKernel(k *kernelCall) {
	in := matrices(k.in(0))
	upper := k.Str(1) == "U" || k.Str(1) == "u"
	values, vectors := make([][]float64, len(in)), make([]realMatrix, len(in))
	eachMatrix(in, func(i int, m realMatrix) { values[i], vectors[i] = symmetricEigen(m, upper) })
	var all []float64
	for _, v := range values {
		all = append(all, v...)
	}
	finish(k.outs[0], all, ops.Float64)
	finish(k.outs[1], gather(vectors), ops.Float64)
}

func svdKernel(k *kernelCall) {
	in := matrices(k.in(0))
	us, vs, values := make([]realMatrix, len(in)), make([]realMatrix, len(in)), make([][]float64, len(in))
	eachMatrix(in, func(i int, m realMatrix) {
		u, s, v := singularValues(m)
		if k.Bool(1) {
			u, v = completed(u, m.rows), completed(v, m.cols)
		}
		us[i], values[i], vs[i] = u, s, v.transposed()
	})
	var all []float64
	for _, v := range values {
		all = append(all, v...)
	}
	finish(k.outs[0], gather(us), ops.Float64)
	finish(k.outs[1], all, ops.Float64)
	finish(k.outs[2], gather(vs), ops.Float64)
}

// lstsqKernel solves by singular values: those below the bound do not count.
func lstsqKernel(k *kernelCall) {
	right := rightSides(k, false)
	own := matrices(k.in(0))
	wide := matrices(widened(k.in(0), k.outs[0].shape[:len(k.outs[0].shape)-2]))
	eps := 2.220446049250313e-16
	if k.in(0).dtype == ops.Float32 {
		eps = 1.1920928955078125e-07
	}
	bound := func(m realMatrix, s []float64) float64 {
		rcond := eps * float64(max(m.rows, m.cols))
		if !k.IsNone(2) {
			rcond = k.Float(2)
		}
		if len(s) == 0 {
			return 0
		}
		return rcond * s[0]
	}
	out := make([]realMatrix, len(wide))
	eachMatrix(wide, func(i int, m realMatrix) {
		u, s, v := singularValues(m)
		limit := bound(m, s)
		c := u.transposed().times(right[i])
		for j := range s {
			for col := range c.cols {
				if s[j] > limit {
					c.set(j, col, c.at(j, col)/s[j])
				} else {
					c.set(j, col, 0)
				}
			}
		}
		out[i] = v.times(c)
	})
	rank := make([]int64, len(own))
	values := make([][]float64, len(own))
	eachMatrix(own, func(i int, m realMatrix) {
		_, s, _ := singularValues(m)
		values[i] = s
		limit := bound(m, s)
		for _, x := range s {
			if x > limit {
				rank[i]++
			}
		}
	})
	var all []float64
	for _, v := range values {
		all = append(all, v...)
	}
	finish(k.outs[0], gather(out), ops.Float64)
	finish(k.outs[1], rank, ops.Int64)
	finish(k.outs[2], all, ops.Float64)
}

func matrixExpKernel(k *kernelCall) {
	in := matrices(k.in(0))
	out := make([]realMatrix, len(in))
	eachMatrix(in, func(i int, m realMatrix) { out[i] = exponential(m) })
	finish(k.out(), gather(out), ops.Float64)
}
