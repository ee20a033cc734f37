package kernels

import (
	"slices"
	"strconv"

	"tcdbg/ops"
	"tcdbg/torch/internal/linalg"
	"tcdbg/torch/internal/parallel"
	"tcdbg/torch/internal/refusal"
	"tcdbg/torch/internal/strided"
)

// This file runs the factorizations of matrices, batch by batch, in float64.
// The algorithms are those of package linalg.

func linalgKernels() map[ops.ID]Kernel {
	return map[ops.ID]Kernel{
		ops.CholeskyEx: choleskyKernel, ops.InvEx: invKernel, ops.SolveEx: solveKernel, ops.SolveTriangular: solveTriangularKernel,
		ops.LinalgDet: detKernel, ops.LinalgSlogdet: slogdetKernel, ops.LinalgQr: qrKernel, ops.HouseholderProduct: householderKernel,
		ops.LinalgEigh: eighKernel, ops.LinalgSvd: svdKernel, ops.MatrixExp: matrixExpKernel, ops.LstsqSolution: lstsqKernel,
	}
}

// matrices lists the matrices of a batch.
func matrices(t *strided.Array) []linalg.Matrix {
	n := len(t.Shape)
	rows, cols := t.Shape[n-2], t.Shape[n-1]
	all := t.Float64s()
	count := strided.Product(t.Shape[:n-2])
	out := make([]linalg.Matrix, count)
	for i := range out {
		out[i] = linalg.Matrix{Rows: rows, Cols: cols, Data: all[i*rows*cols : (i+1)*rows*cols]}
	}
	return out
}

// widened broadcasts the batch of t to the given one.
func widened(t *strided.Array, batch []int) *strided.Array {
	n := len(t.Shape)
	shape := append(append([]int{}, batch...), t.Shape[n-2:]...)
	return t.Expand(shape)
}

// gather joins the data of matrices.
func gather(ms []linalg.Matrix) []float64 {
	var out []float64
	for _, m := range ms {
		out = append(out, m.Data...)
	}
	return out
}

// eachMatrix runs f for every matrix of a batch, in parallel.
func eachMatrix(ms []linalg.Matrix, f func(i int, m linalg.Matrix)) {
	work := 0
	if len(ms) > 0 {
		work = len(ms) * ms[0].Rows * ms[0].Cols * (ms[0].Cols + 1)
	}
	parallel.For(len(ms), work, func(from, to int) {
		for i := from; i < to; i++ {
			f(i, ms[i])
		}
	})
}

// batchText names the element of a batch in a message.
func batchText(ms []linalg.Matrix, x *strided.Array, i int) string {
	if len(x.Shape) > 2 {
		return "(Batch element " + strconv.Itoa(i) + "): "
	}
	return ""
}

func choleskyKernel(k *Call) {
	a := ops.In[ops.CholeskyExArgs](k.Call)
	in := matrices(k.self())
	out, info := make([]linalg.Matrix, len(in)), make([]int64, len(in))
	eachMatrix(in, func(i int, m linalg.Matrix) {
		if a.Upper.Bool() { // the upper triangle counts
			m = m.Transposed()
		}
		l, bad := linalg.Cholesky(m)
		info[i] = int64(bad)
		if a.Upper.Bool() {
			l = l.Transposed()
		}
		out[i] = l
	})
	for i, n := range info {
		if n != 0 && a.CheckErrors.Bool() {
			refusal.Fail(
				"linalg.cholesky", "LinAlgError",
				"linalg.cholesky: %sThe factorization could not be completed because the input is not positive-definite (the "+
					"leading minor of order %d is not positive-definite).",
				batchText(in, k.self(), i), n,
			)
		}
	}
	strided.Store(k.Outs[0], gather(out), ops.Float64)
	strided.Store(k.Outs[1], info, ops.Int64)
}

func invKernel(k *Call) {
	in := matrices(k.self())
	out, info := make([]linalg.Matrix, len(in)), make([]int64, len(in))
	eachMatrix(in, func(i int, m linalg.Matrix) {
		f := linalg.FactorLU(m)
		info[i] = int64(f.Singular)
		out[i] = f.Solve(linalg.Identity(m.Rows))
	})
	for i, n := range info {
		if n != 0 && ops.In[ops.InvExArgs](k.Call).CheckErrors.Bool() {
			refusal.Fail(
				"linalg.inv", "LinAlgError",
				"linalg.inv: %sThe diagonal element %d is zero, the inversion could not be completed because the input matrix is singular.",
				batchText(in, k.self(), i), n,
			)
		}
	}
	strided.Store(k.Outs[0], gather(out), ops.Float64)
	strided.Store(k.Outs[1], info, ops.Int64)
}

// rightSides reads B of a solver as matrices over the batch of the result.
func rightSides(k *Call, y *strided.Array, vector bool) []linalg.Matrix {
	if vector {
		y = y.Column()
	}
	return matrices(widened(y, solvedBatch(k, vector)))
}

// solvedBatch is the batch of a solution.
func solvedBatch(k *Call, vector bool) []int {
	n := len(k.Outs[0].Shape) - 2
	if vector {
		n++
	}
	return k.Outs[0].Shape[:n]
}

func solveKernel(k *Call) {
	args := ops.In[ops.SolveExArgs](k.Call)
	a, y := array(args.Self), array(args.Other)
	vector := len(y.Shape) == 1 || len(a.Shape)-1 == len(y.Shape) && slices.Equal(a.Shape[:len(a.Shape)-1], y.Shape)
	right := rightSides(k, y, vector)
	own := matrices(a)
	info := make([]int64, len(own))
	wide := matrices(widened(a, solvedBatch(k, vector)))
	out := make([]linalg.Matrix, len(wide))
	left := args.Left.Bool()
	shared := left && len(own) == len(wide) // one factorization solves and tells what is singular
	eachMatrix(wide, func(i int, m linalg.Matrix) {
		if left {
			f := linalg.FactorLU(m)
			if shared {
				info[i] = int64(f.Singular)
			}
			out[i] = f.Solve(right[i])
			return
		}
		out[i] = linalg.FactorLU(m.Transposed()).Solve(right[i].Transposed()).Transposed()
	})
	if !shared {
		eachMatrix(own, func(i int, m linalg.Matrix) { info[i] = int64(linalg.FactorLU(m).Singular) })
	}
	for i, n := range info {
		if n != 0 && args.CheckErrors.Bool() {
			refusal.Fail(
				"linalg.solve", "LinAlgError",
				"torch.linalg.solve: %sThe solver failed because the input matrix is singular.", batchText(own, a, i),
			)
		}
	}
	strided.Store(k.Outs[0], gather(out), ops.Float64)
	strided.Store(k.Outs[1], info, ops.Int64)
}

func solveTriangularKernel(k *Call) {
	a := ops.In[ops.SolveTriangularArgs](k.Call)
	upper, left, unit := a.Upper.Bool(), a.Left.Bool(), a.Unitriangular.Bool()
	right := rightSides(k, array(a.Other), false)
	wide := matrices(widened(k.self(), k.Outs[0].Shape[:len(k.Outs[0].Shape)-2]))
	out := make([]linalg.Matrix, len(wide))
	eachMatrix(wide, func(i int, m linalg.Matrix) {
		x := right[i].Clone()
		if left {
			linalg.Substitute(m, x, upper, unit)
		} else { // XA = B is A^T X^T = B^T
			x = x.Transposed()
			linalg.Substitute(m.Transposed(), x, !upper, unit)
			x = x.Transposed()
		}
		out[i] = x
	})
	strided.Store(k.Outs[0], gather(out), ops.Float64)
}

func detKernel(k *Call) {
	in := matrices(k.self())
	out := make([]float64, len(in))
	eachMatrix(in, func(i int, m linalg.Matrix) {
		out[i] = linalg.FactorLU(m).Det()
	})
	strided.Store(k.out(), out, ops.Float64)
}

func slogdetKernel(k *Call) {
	in := matrices(k.self())
	sign, log := make([]float64, len(in)), make([]float64, len(in))
	eachMatrix(in, func(i int, m linalg.Matrix) { sign[i], log[i] = linalg.FactorLU(m).LogDet() })
	strided.Store(k.Outs[0], sign, ops.Float64)
	strided.Store(k.Outs[1], log, ops.Float64)
}

func qrKernel(k *Call) {
	in := matrices(k.self())
	qs, rs := make([]linalg.Matrix, len(in)), make([]linalg.Matrix, len(in))
	mode := ops.In[ops.LinalgQrArgs](k.Call).Mode.Str()
	eachMatrix(in, func(i int, m linalg.Matrix) {
		f, tau := linalg.QR(m)
		size := min(m.Rows, m.Cols)
		if mode == "complete" {
			size = m.Rows
		}
		if mode != "r" {
			qs[i] = linalg.Reflections(f, tau, size)
		}
		r := linalg.New(size, m.Cols)
		for row := range size {
			for col := row; col < m.Cols; col++ {
				r.Set(row, col, f.At(row, col))
			}
		}
		rs[i] = r
	})
	strided.Store(k.Outs[0], gather(qs), ops.Float64)
	strided.Store(k.Outs[1], gather(rs), ops.Float64)
}

func householderKernel(k *Call) {
	in := matrices(k.self())
	tau := array(ops.In[ops.HouseholderProductArgs](k.Call).Tau).Float64s()
	per := 0
	if len(in) > 0 {
		per = len(tau) / len(in)
	}
	out := make([]linalg.Matrix, len(in))
	eachMatrix(in, func(i int, m linalg.Matrix) { out[i] = linalg.Reflections(m, tau[i*per:(i+1)*per], m.Cols) })
	strided.Store(k.out(), gather(out), ops.Float64)
}

func eighKernel(k *Call) {
	in := matrices(k.self())
	uplo := ops.In[ops.LinalgEighArgs](k.Call).UPLO.Str()
	upper := uplo == "U" || uplo == "u"
	values, vectors := make([][]float64, len(in)), make([]linalg.Matrix, len(in))
	eachMatrix(in, func(i int, m linalg.Matrix) { values[i], vectors[i] = linalg.SymmetricEigen(m, upper) })
	var all []float64
	for _, v := range values {
		all = append(all, v...)
	}
	strided.Store(k.Outs[0], all, ops.Float64)
	strided.Store(k.Outs[1], gather(vectors), ops.Float64)
}

func svdKernel(k *Call) {
	full := ops.In[ops.LinalgSvdArgs](k.Call).FullMatrices.Bool()
	in := matrices(k.self())
	us, vs, values := make([]linalg.Matrix, len(in)), make([]linalg.Matrix, len(in)), make([][]float64, len(in))
	eachMatrix(in, func(i int, m linalg.Matrix) {
		u, s, v := linalg.SVD(m)
		if full {
			u, v = linalg.Completed(u, m.Rows), linalg.Completed(v, m.Cols)
		}
		us[i], values[i], vs[i] = u, s, v.Transposed()
	})
	var all []float64
	for _, v := range values {
		all = append(all, v...)
	}
	strided.Store(k.Outs[0], gather(us), ops.Float64)
	strided.Store(k.Outs[1], all, ops.Float64)
	strided.Store(k.Outs[2], gather(vs), ops.Float64)
}

// lstsqKernel solves by singular values: those below the bound do not count.
func lstsqKernel(k *Call) {
	a := ops.In[ops.LstsqSolutionArgs](k.Call)
	right := rightSides(k, array(a.B), false)
	own := matrices(k.self())
	wide := matrices(widened(k.self(), k.Outs[0].Shape[:len(k.Outs[0].Shape)-2]))
	eps := 2.220446049250313e-16
	if k.self().DType == ops.Float32 {
		eps = 1.1920928955078125e-07
	}
	bound := func(m linalg.Matrix, s []float64) float64 {
		rcond := eps * float64(max(m.Rows, m.Cols))
		if !a.Rcond.IsNone() {
			rcond = a.Rcond.Float()
		}
		if len(s) == 0 {
			return 0
		}
		return rcond * s[0]
	}
	out := make([]linalg.Matrix, len(wide))
	eachMatrix(wide, func(i int, m linalg.Matrix) {
		u, s, v := linalg.SVD(m)
		limit := bound(m, s)
		c := u.Transposed().Times(right[i])
		for j := range s {
			for col := range c.Cols {
				if s[j] > limit {
					c.Set(j, col, c.At(j, col)/s[j])
				} else {
					c.Set(j, col, 0)
				}
			}
		}
		out[i] = v.Times(c)
	})
	rank := make([]int64, len(own))
	values := make([][]float64, len(own))
	eachMatrix(own, func(i int, m linalg.Matrix) {
		_, s, _ := linalg.SVD(m)
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
	strided.Store(k.Outs[0], gather(out), ops.Float64)
	strided.Store(k.Outs[1], rank, ops.Int64)
	strided.Store(k.Outs[2], all, ops.Float64)
}

func matrixExpKernel(k *Call) {
	in := matrices(k.self())
	out := make([]linalg.Matrix, len(in))
	eachMatrix(in, func(i int, m linalg.Matrix) { out[i] = linalg.Exp(m) })
	strided.Store(k.out(), gather(out), ops.Float64)
}
