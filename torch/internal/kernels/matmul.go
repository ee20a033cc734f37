package kernels

import (
	"tcdbg/ops"
	"tcdbg/torch/internal/gemm"
	"tcdbg/torch/internal/parallel"
	"tcdbg/torch/internal/refusal"
	"tcdbg/torch/internal/simd"
	"tcdbg/torch/internal/strided"
)

func matmulKernels() map[ops.ID]Kernel {
	return map[ops.ID]Kernel{
		ops.Mm:      mmKernel,
		ops.Bmm:     bmmKernel,
		ops.Addmm:   addmmKernel,
		ops.Baddbmm: baddbmmKernel,
		ops.Sdpa:    attentionKernel,

		ops.FlashAttention: flashKernel,
	}
}

func mmKernel(k *Call) {
	a := ops.In[ops.MmArgs](k.Call)
	productInto(k.out(), array(a.Self), array(a.Mat2), 1, nil, 0)
}

// bmmKernel adds the products of small matrices as PyTorch does, one after the
// other without fusing them.
func bmmKernel(k *Call) {
	a := ops.In[ops.BmmArgs](k.Call)
	out, x, y := k.out(), array(a.Self), array(a.Mat2)
	if steps := out.Shape[1] * out.Shape[2] * x.Shape[2]; steps >= ops.SmallProduct || out.DType.Size() != 4 || !out.DType.IsFloat() {
		productInto(out, x, y, 1, nil, 0)
		return
	}
	batched[float32](out, x, y, 1, nil, 0, gemm.Plain[float32])
}

func addmmKernel(k *Call) {
	a := ops.In[ops.AddmmArgs](k.Call)
	addProduct(k.out(), a.Mat1, a.Mat2, a.Alpha, a.Self, a.Beta)
}

func baddbmmKernel(k *Call) {
	a := ops.In[ops.BaddbmmArgs](k.Call)
	addProduct(k.out(), a.Batch1, a.Batch2, a.Alpha, a.Self, a.Beta)
}

// addProduct stores alpha*x@y + beta*c in out.
func addProduct(out *strided.Array, x, y ops.TensorArg, alpha ops.NumberArg, c ops.TensorArg, beta ops.NumberArg) {
	if out.DType.IsComplex() {
		complexProduct(
			out, array(x), array(y), complex64(complexNumber(alpha.Arg)), array(c), complex64(complexNumber(beta.Arg)),
		)
		return
	}
	productInto(out, array(x), array(y), alpha.Float(), array(c), beta.Float())
}

// productInto stores alpha*x@y + beta*c in out; the operands have two
// dimensions or three, of which the first is the batch.
func productInto(out, x, y *strided.Array, alpha float64, c *strided.Array, beta float64) {
	d := out.DType
	switch d {
	case ops.Float32:
		batched[float32](out, x, y, alpha, c, beta, gemm.Float32)
	case ops.Float64:
		batched[float64](out, x, y, alpha, c, beta, gemm.Plain[float64])
	case ops.Float16, ops.BFloat16:
		wide := strided.New(ops.Float32, out.Shape)
		productInto(wide, strided.Dense(x, ops.Float32), strided.Dense(y, ops.Float32), alpha, c, beta)
		strided.Copy(out, wide)
	case ops.Complex64:
		complexProduct(out, x, y, complex64(complex(alpha, 0)), c, complex64(complex(beta, 0)))
	case ops.Bool:
		refusal.Fail("mm", "NotImplementedError", "\"addmm_impl_cpu_\" not implemented for 'Bool'")
	default:
		wide := strided.New(ops.Int64, out.Shape)
		batched[int64](wide, strided.Dense(x, ops.Int64), strided.Dense(y, ops.Int64), alpha, c, beta, gemm.Plain[int64])
		strided.Copy(out, wide)
	}
}

func batched[T float32 | float64 | int64](out, x, y *strided.Array, alpha float64, c *strided.Array, beta float64, gemm gemm.Func[T]) {
	res := out
	if !out.IsContiguous() || strided.Overlapping(out, x) || strided.Overlapping(out, y) || out.Storage == x.Storage ||
		out.Storage == y.Storage {
		res = strided.New(out.DType, out.Shape)
	}
	last := len(out.Shape) - 2
	m, n, k := out.Shape[last], out.Shape[last+1], x.Shape[last+1]
	count := strided.Product(out.Shape[:last])
	x, y = unitStep(x), unitStep(y)
	dst := strided.Slice[T](res)
	body := func(i, threads int) {
		a, b := view2d[T](x, i), view2d[T](y, i)
		gemm(dst[i*m*n:(i+1)*m*n], n, a, b, m, n, k, threads)
	}
	if strided.Product(out.Shape) > 0 {
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
			pointwise("add", res, []ops.Arg{res, c}, res.DType, false, &plusSet)
		} else {
			pointwise("add", res, []ops.Arg{res, c, beta}, res.DType, false, &axpySet)
		}
	}
	if res != out {
		strided.Copy(out, res)
	}
}

var plusSet = loopSet{ops.Float32: run2(addFloats), ops.Float64: run2(addLoop[float64]), ops.Int64: run2(addLoop[int64])}

func addFloats(o, a, b []float32) { simd.Active().Binary(simd.Add, o, a, b) }

var axpySet = loopSet{ops.Float32: axpy[float32](1), ops.Float64: axpy[float64](1), ops.Int64: axpy[int64](1)}

// unitStep returns t, or a dense copy where neither matrix dimension has step 1.
func unitStep(t *strided.Array) *strided.Array {
	n := len(t.Shape)
	if t.Stride[n-1] == 1 || t.Stride[n-2] == 1 || strided.Product(t.Shape) == 0 {
		return t
	}
	return strided.Dense(t, t.DType)
}

// view2d is matrix i of a batch.
func view2d[T any](t *strided.Array, i int) gemm.Matrix[T] {
	n := len(t.Shape)
	m := gemm.Matrix[T]{RS: t.Stride[n-2], CS: t.Stride[n-1]}
	if strided.Product(t.Shape) == 0 {
		return m
	}
	at := 0
	if n == 3 {
		at = i * t.Stride[0]
	}
	end := at + (t.Shape[n-2]-1)*m.RS + (t.Shape[n-1]-1)*m.CS + 1
	m.Data = strided.SliceFrom[T](t, at, end)
	return m
}

// complexProduct is productInto for complex64: dot products in complex128.
func complexProduct(out, x, y *strided.Array, alpha complex64, c *strided.Array, beta complex64) {
	last := len(out.Shape) - 2
	m, n, k := out.Shape[last], out.Shape[last+1], x.Shape[last+1]
	x, y = strided.Dense(x, ops.Complex64), strided.Dense(y, ops.Complex64)
	res := strided.New(ops.Complex64, out.Shape)
	if c != nil && beta != 0 {
		strided.Copy(res, c)
	}
	a, b, dst := strided.Slice[complex64](x), strided.Slice[complex64](y), strided.Slice[complex64](res)
	parallel.For(strided.Product(out.Shape[:last])*m, len(dst)*k, func(from, to int) {
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
	strided.Copy(out, res)
}
