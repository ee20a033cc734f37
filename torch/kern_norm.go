package torch

import (
	"math"

	"tcdbg/internal/ops"
	"tcdbg/torch/internal/simd"
)

// This file holds softmax and layer_norm over contiguous rows.

func normKernels() map[ops.ID]kernel {
	return map[ops.ID]kernel{
		ops.Softmax:    func(k *kernelCall) { softmaxKernel(k, false) },
		ops.LogSoftmax: func(k *kernelCall) { softmaxKernel(k, true) },
		ops.LayerNorm:  layerNormKernel,
	}
}

func softmaxKernel(k *kernelCall, log bool) {
	out := k.out()
	d := ops.OpMath(out.dtype)
	x := dense(k.in(0), d)
	res := out
	if out.dtype != d || !out.IsContiguous() {
		res = newTensor(d, out.shape)
	}
	n, inner := 1, 1
	if len(x.shape) > 0 {
		dim := k.dim(1)
		n, inner = x.shape[dim], product(x.shape[dim+1:])
	}
	if product(x.shape) > 0 {
		if d == ops.Float64 {
			softmaxRows(slice[float64](res), slice[float64](x), n, inner, log)
		} else {
			softmax32(slice[float32](res), slice[float32](x), n, inner, log)
		}
	}
	if res != out {
		copyInto(out, res)
	}
}

func softmaxRows[T float32 | float64](dst, src []T, n, inner int, log bool) {
	parallel(len(src)/n, len(src)*4, func(from, to int) {
		for o := from; o < to; o++ {
			at := o/inner*n*inner + o%inner
			high := math.Inf(-1)
			for i := range n {
				v := float64(src[at+i*inner])
				if v > high || v != v {
					high = v
				}
			}
			sum := 0.0
			for i := range n {
				e := math.Exp(float64(src[at+i*inner]) - high)
				sum += e
				if !log {
					dst[at+i*inner] = T(e)
				}
			}
			if log {
				ls := math.Log(sum)
				for i := range n {
					dst[at+i*inner] = T(float64(src[at+i*inner]) - high - ls)
				}
				continue
			}
			inv := 1 / sum
			for i := range n {
				dst[at+i*inner] = T(float64(dst[at+i*inner]) * inv)
			}
		}
	})
}

// softmax32 is softmaxRows on vectors: along rows, or on many rows' columns at
// once where the dimension is not the last.
func softmax32(dst, src []float32, n, inner int, log bool) {
	if inner > 1 {
		softmaxRows(dst, src, n, inner, log)
		return
	}
	l := simd.Active()
	parallel(len(src)/n, len(src)*4, func(from, to int) {
		for r := from; r < to; r++ {
			row, o := src[r*n:(r+1)*n], dst[r*n:(r+1)*n]
			high := l.Largest(row)
			sum := l.ExpSum(o, row, high)
			if log {
				l.Normalize(o, row, high, 1)
				l.AddScalar(o, o, float32(-math.Log(sum)))
			} else {
				l.MulScalar(o, o, float32(1/sum))
			}
		}
	})
}

func layerNormKernel(k *kernelCall) {
	out := k.out()
	d := ops.OpMath(out.dtype)
	x := dense(k.in(0), d)
	var w, b *Tensor
	if k.in(2) != nil {
		w = dense(k.in(2), d)
	}
	if k.in(3) != nil {
		b = dense(k.in(3), d)
	}
	res := out
	if out.dtype != d || !out.IsContiguous() {
		res = newTensor(d, out.shape)
	}
	n := product(k.nums(1))
	if product(x.shape) > 0 {
		if d == ops.Float64 {
			layerNormRows[float64](res, x, w, b, n, k.Float(4))
		} else {
			layerNorm32(res, x, w, b, n, k.Float(4))
		}
	}
	if res != out {
		copyInto(out, res)
	}
}

// layerNorm32 is layerNormRows on vectors.
func layerNorm32(res, x, w, b *Tensor, n int, eps float64) {
	dst, src := slice[float32](res), slice[float32](x)
	scale, shift := affine(w, n, 1), affine(b, n, 0)
	l := simd.Active()
	parallel(len(src)/n, len(src)*2, func(from, to int) {
		for r := from; r < to; r++ {
			row, o := src[r*n:(r+1)*n], dst[r*n:(r+1)*n]
			mean := l.Sum(row) / float64(n)
			rstd := 1 / math.Sqrt(l.Deviation(row, mean)/float64(n)+eps)
			l.Normalize(o, row, float32(mean), float32(rstd))
			if w != nil || b != nil {
				l.ScaleShift(o, scale, shift)
			}
		}
	})
}

// affine is the elements of t, n times v where there is none.
func affine(t *Tensor, n int, v float32) []float32 {
	if t != nil {
		return slice[float32](t)
	}
	out := make([]float32, n)
	for i := range out {
		out[i] = v
	}
	return out
}

func layerNormRows[T float32 | float64](res, x, w, b *Tensor, n int, eps float64) {
	dst, src := slice[T](res), slice[T](x)
	var ws, bs []T
	if w != nil {
		ws = slice[T](w)
	}
	if b != nil {
		bs = slice[T](b)
	}
	parallel(len(src)/n, len(src)*2, func(from, to int) {
		for r := from; r < to; r++ {
			row, o := src[r*n:(r+1)*n], dst[r*n:(r+1)*n]
			mean := 0.0
			for _, v := range row {
				mean += float64(v)
			}
			mean /= float64(n)
			va := 0.0
			for _, v := range row {
				va += (float64(v) - mean) * (float64(v) - mean)
			}
			rstd := 1 / math.Sqrt(va/float64(n)+eps)
			for i, v := range row {
				y := (float64(v) - mean) * rstd
				if ws != nil {
					y *= float64(ws[i])
				}
				if bs != nil {
					y += float64(bs[i])
				}
				o[i] = T(y)
			}
		}
	})
}
