package torch

import (
	"tcdbg/ops"
	"tcdbg/torch/internal/parallel"
	"tcdbg/torch/internal/simd"
)

// This file holds the matrix products over the tiles of gemm.go.

// matrix is one operand of a product: element (i, j) is at i*rs + j*cs.
type matrix[T any] struct {
	data   []T
	rs, cs int
}

func matmulKernels() map[ops.ID]kernel {
	return map[ops.ID]kernel{
		ops.Mm:      func(k *kernelCall) { productInto(k.out(), k.in(0), k.in(1), 1, nil, 0) },
		ops.Bmm:     bmmKernel,
		ops.Addmm:   addmmKernel,
		ops.Baddbmm: addmmKernel,
		ops.Sdpa:    attentionKernel,

		ops.FlashAttention: flashKernel,
	}
}

// bmmKernel adds the products of small matrices as PyTorch does, one after the
// other without fusing them.
func bmmKernel(k *kernelCall) {
	out, x, y := k.out(), k.in(0), k.in(1)
	if steps := out.shape[1] * out.shape[2] * x.shape[2]; steps >= ops.SmallProduct || out.dtype.Size() != 4 || !out.dtype.IsFloat() {
		productInto(out, x, y, 1, nil, 0)
		return
	}
	batched[float32](out, x, y, 1, nil, 0, gemmPlain[float32])
}

func addmmKernel(k *kernelCall) {
	if out := k.out(); out.dtype.IsComplex() {
		complexProduct(out, k.in(1), k.in(2), complex64(complexNumber(k.Args[4])), k.in(0), complex64(complexNumber(k.Args[3])))
		return
	}
	productInto(k.out(), k.in(1), k.in(2), k.Float(4), k.in(0), k.Float(3))
}

// productInto stores alpha*x@y + beta*c in out; the operands have two
// dimensions or three, of which the first is the batch.
func productInto(out, x, y *Tensor, alpha float64, c *Tensor, beta float64) {
	d := out.dtype
	switch d {
	case ops.Float32:
		batched[float32](out, x, y, alpha, c, beta, gemm32)
	case ops.Float64:
		batched[float64](out, x, y, alpha, c, beta, gemmPlain[float64])
	case ops.Float16, ops.BFloat16:
		wide := newTensor(ops.Float32, out.shape)
		productInto(wide, dense(x, ops.Float32), dense(y, ops.Float32), alpha, c, beta)
		copyInto(out, wide)
	case ops.Complex64:
		complexProduct(out, x, y, complex64(complex(alpha, 0)), c, complex64(complex(beta, 0)))
	case ops.Bool:
		fail("mm", "NotImplementedError", "\"addmm_impl_cpu_\" not implemented for 'Bool'")
	default:
		wide := newTensor(ops.Int64, out.shape)
		batched[int64](wide, dense(x, ops.Int64), dense(y, ops.Int64), alpha, c, beta, gemmPlain[int64])
		copyInto(out, wide)
	}
}

// gemmFunc computes c = a@b on so many threads.
type gemmFunc[T any] func(c []T, ldc int, a, b matrix[T], m, n, k, threads int)

func batched[T float32 | float64 | int64](out, x, y *Tensor, alpha float64, c *Tensor, beta float64, gemm gemmFunc[T]) {
	res := out
	if !out.IsContiguous() || overlapping(out, x) || overlapping(out, y) || out.storage == x.storage || out.storage == y.storage {
		res = newTensor(out.dtype, out.shape)
	}
	last := len(out.shape) - 2
	m, n, k := out.shape[last], out.shape[last+1], x.shape[last+1]
	count := product(out.shape[:last])
	x, y = strided(x), strided(y)
	dst := slice[T](res)
	body := func(i, threads int) {
		a, b := view2d[T](x, i), view2d[T](y, i)
		gemm(dst[i*m*n:(i+1)*m*n], n, a, b, m, n, k, threads)
	}
	if product(out.shape) > 0 {
		if threads := parallel.Threads(); count >= 2*threads {
			parallel.For(count, count*m*n*max(k/8, 1), func(from, to int) {
				for i := from; i < to; i++ {
					body(i, 1)
				}
			})
		} else {
			for i := range count {
				body(i, threads)
			}
		}
	}
	if alpha != 1 {
		a := T(alpha)
		for i := range dst {
			dst[i] *= a
		}
	}
	if c != nil && beta != 0 {
		if beta == 1 {
			pointwise("add", res, []ops.Arg{res, c}, res.dtype, false, &plusSet)
		} else {
			pointwise("add", res, []ops.Arg{res, c, beta}, res.dtype, false, &axpySet)
		}
	}
	if res != out {
		copyInto(out, res)
	}
}

var plusSet = loopSet{ops.Float32: run2(addFloats), ops.Float64: run2(addLoop[float64]), ops.Int64: run2(addLoop[int64])}

func addFloats(o, a, b []float32) { simd.Active().Binary(simd.Add, o, a, b) }

var axpySet = loopSet{ops.Float32: axpy[float32](1), ops.Float64: axpy[float64](1), ops.Int64: axpy[int64](1)}

// strided returns t, or a dense copy where neither matrix dimension has step 1.
func strided(t *Tensor) *Tensor {
	n := len(t.shape)
	if t.stride[n-1] == 1 || t.stride[n-2] == 1 || product(t.shape) == 0 {
		return t
	}
	return dense(t, t.dtype)
}

// view2d is matrix i of a batch.
func view2d[T any](t *Tensor, i int) matrix[T] {
	n := len(t.shape)
	m := matrix[T]{rs: t.stride[n-2], cs: t.stride[n-1]}
	if product(t.shape) == 0 {
		return m
	}
	at := 0
	if n == 3 {
		at = i * t.stride[0]
	}
	end := at + (t.shape[n-2]-1)*m.rs + (t.shape[n-1]-1)*m.cs + 1
	m.data = sliceFrom[T](t, at, end)
	return m
}

// complexProduct is productInto for complex64: dot products in complex128.
func complexProduct(out, x, y *Tensor, alpha complex64, c *Tensor, beta complex64) {
	last := len(out.shape) - 2
	m, n, k := out.shape[last], out.shape[last+1], x.shape[last+1]
	x, y = dense(x, ops.Complex64), dense(y, ops.Complex64)
	res := newTensor(ops.Complex64, out.shape)
	if c != nil && beta != 0 {
		copyInto(res, c)
	}
	a, b, dst := slice[complex64](x), slice[complex64](y), slice[complex64](res)
	parallel.For(product(out.shape[:last])*m, len(dst)*k, func(from, to int) {
		sums := make([]complex128, n)
		for row := from; row < to; row++ {
			clear(sums)
			for p, v := range a[row*k : (row+1)*k] {
				at := (row/m*k + p) * n
				for q, w := range b[at : at+n] {
					sums[q] += complex128(v) * complex128(w)
				}
			}
			for q, s := range sums {
				dst[row*n+q] = beta*dst[row*n+q] + alpha*complex64(s)
			}
		}
	})
	copyInto(out, res)
}
