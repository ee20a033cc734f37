package torch

import (
	"math"

	"tcdbg/ops"
	"tcdbg/torch/internal/memory"
	"tcdbg/torch/internal/parallel"
	"tcdbg/torch/internal/simd"
)

// This file holds softmax and layer_norm over contiguous rows.

func normKernels() map[ops.ID]kernel {
	return map[ops.ID]kernel{
		ops.Softmax:    func(k *kernelCall) { softmaxKernel(k, false) },
		ops.LogSoftmax: func(k *kernelCall) { softmaxKernel(k, true) },
		ops.LayerNorm:  layerNormKernel,
		ops.BatchNorm:  batchNormKernel,
	}
}

func softmaxKernel(k *kernelCall, log bool) {
	out := k.out()
	d := ops.OpMath(out.dtype)
	n, inner := 1, 1
	if shape := k.in(0).shape; len(shape) > 0 {
		dim := k.dim(1)
		n, inner = shape[dim], product(shape[dim+1:])
	}
	if product(out.shape) == 0 || inner == 1 && softmaxHalfRows(out, k.in(0), n, log) {
		return
	}
	x := dense(k.in(0), d)
	res := out
	if out.dtype != d || !out.IsContiguous() {
		res = newTensor(d, out.shape)
	}
	switch {
	case d == ops.Float64:
		softmaxRows(slice[float64](res), slice[float64](x), n, inner, log)
	case log && inner == 1 && out.dtype != d:
		halfLogSoftmax(out.dtype, slice[float32](res), slice[float32](x), n)
	default:
		softmax32(slice[float32](res), slice[float32](x), n, inner, log)
	}
	if res != out {
		copyInto(out, res)
	}
}

func softmaxHalfRows(out, x *Tensor, n int, log bool) bool {
	const work = 4
	return halfRows(out, x, n, work, func(rows []float32) {
		if log {
			halfLogSoftmaxRows(out.dtype, rows, rows, n)
			return
		}
		softmaxSpan(&rowWriter{level: simd.Active()}, rows, rows, n, 0, len(rows)/n, false)
	})
}

func softmaxRows[T float32 | float64](dst, src []T, n, inner int, log bool) {
	parallel.For(len(src)/n, len(src)*4, func(from, to int) {
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
	parallel.For(len(src)/n, len(src)*4, func(from, to int) {
		w := newRowWriter(l, len(dst), n)
		defer w.close()
		softmaxSpan(&w, dst, src, n, from, to, log)
	})
}

// softmaxSpan computes the rows from..to; dst may be src.
func softmaxSpan(w *rowWriter, dst, src []float32, n, from, to int, log bool) {
	l := w.level
	for r := from; r < to; r++ {
		row, at := src[r*n:(r+1)*n], dst[r*n:(r+1)*n]
		o := w.row(at)
		high := l.Largest(row)
		w.fetch(src[r*n:], n)
		if log {
			sum := l.ExpSum(o, row, high)
			l.Normalize(o, row, high, 1)
			l.WithScalar(simd.Sub, o, o, float32(math.Log(sum)))
			w.put(at)
			continue
		}
		sum := l.ExpSum(o, row, high)
		if n > shortRow {
			w.putTimes(at, float32(1/sum))
			continue
		}
		short := lanesSum(o)
		for i := range o {
			o[i] /= short
		}
		w.put(at)
	}
}

// shortRow is the length up to which weights are PyTorch's to the last bit, which
// large scores make visible in gradients.
const shortRow = 32

// lanesSum adds up numbers as PyTorch does: one after the other where they do not
// fill a vector of eight, else lane by lane and then the lanes by halves.
func lanesSum(x []float32) float32 {
	if len(x) < 8 {
		sum := float32(0)
		for _, v := range x {
			sum += v
		}
		return sum
	}
	var lanes [8]float32
	for i, v := range x {
		lanes[i%8] += v
	}
	for half := 4; half > 0; half /= 2 {
		for i := range half {
			lanes[i] += lanes[i+half]
		}
	}
	return lanes[0]
}

// halfLogSoftmax is log_softmax of half precision along rows: PyTorch keeps the
// sum and its logarithm in half precision.
func halfLogSoftmax(half DType, dst, src []float32, n int) {
	parallel.For(len(src)/n, len(src)*4, func(from, to int) {
		halfLogSoftmaxRows(half, dst[from*n:to*n], src[from*n:to*n], n)
	})
}

// halfLogSoftmaxRows computes some of the rows; dst may be src.
func halfLogSoftmaxRows(half DType, dst, src []float32, n int) {
	l, exps := simd.Active(), memory.Borrow(n)
	defer exps.GiveBack()
	for at := 0; at < len(src); at += n {
		row, o := src[at:at+n], dst[at:at+n]
		high := l.Largest(row)
		sum := l.ExpSum(exps.Floats, row, high)
		log := roundTo(half, float32(math.Log(float64(roundTo(half, float32(sum))))))
		l.WithScalar(simd.Sub, o, row, high)
		l.WithScalar(simd.Sub, o, o, log)
	}
}

func layerNormKernel(k *kernelCall) {
	out := k.out()
	d := ops.OpMath(out.dtype)
	var w, b *Tensor
	if k.in(2) != nil {
		w = dense(k.in(2), d)
	}
	if k.in(3) != nil {
		b = dense(k.in(3), d)
	}
	n := product(k.nums(1))
	if layerNormHalfRows(out, k.in(0), w, b, n, k.Float(4)) {
		return
	}
	x := dense(k.in(0), d)
	res := out
	if out.dtype != d || !out.IsContiguous() {
		res = newTensor(d, out.shape)
	}
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
	p := newRowNorm(w, b, n, eps)
	parallel.For(len(src)/n, len(src)*2, func(from, to int) {
		rows := newRowWriter(simd.Active(), len(dst), n)
		defer rows.close()
		p.span(&rows, dst, src, from, to)
	})
}

func layerNormHalfRows(out, x, w, b *Tensor, n int, eps float64) bool {
	if x.dtype.Size() != 2 {
		return false
	}
	const work = 2
	p := newRowNorm(w, b, n, eps)
	return halfRows(out, x, n, work, func(rows []float32) {
		p.span(&rowWriter{level: simd.Active()}, rows, rows, 0, len(rows)/n)
	})
}

// rowNorm normalizes rows of n numbers.
type rowNorm struct {
	n            int
	eps          float64
	scale, shift []float32 // of each number; none: as it is
}

func newRowNorm(w, b *Tensor, n int, eps float64) *rowNorm {
	p := &rowNorm{n: n, eps: eps}
	if w != nil || b != nil {
		p.scale, p.shift = affine(w, n, 1), affine(b, n, 0)
	}
	return p
}

// span normalizes the rows from..to; dst may be src.
func (p *rowNorm) span(rows *rowWriter, dst, src []float32, from, to int) {
	l, n := rows.level, p.n
	for r := from; r < to; r++ {
		row, at := src[r*n:(r+1)*n], dst[r*n:(r+1)*n]
		o := rows.row(at)
		mean := l.Sum(row) / float64(n)
		rows.fetch(src[r*n:], n)
		rstd := 1 / math.Sqrt(l.Deviation(row, mean)/float64(n)+p.eps)
		l.Normalize(o, row, float32(mean), float32(rstd))
		if p.scale != nil {
			l.ScaleShift(o, p.scale, p.shift)
		}
		rows.put(at)
	}
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
	parallel.For(len(src)/n, len(src)*2, func(from, to int) {
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

// batchNormKernel normalizes with running statistics in one pass; with those of
// the batch, which also moves the running ones, it is the decomposition.
func batchNormKernel(k *kernelCall) {
	x, out := k.in(0), k.out()
	if k.Bool(5) || x.dtype != ops.Float32 || len(x.shape) < 2 {
		copyInto(out, decompose(k.Call, false)[0].(*Tensor))
		return
	}
	x = dense(x, ops.Float32)
	res := out
	if !out.IsContiguous() {
		res = newTensor(ops.Float32, out.shape)
	}
	channels, area := x.shape[1], product(x.shape[2:])
	mean, va := dense(k.in(1), ops.Float32), dense(k.in(2), ops.Float32)
	param := func(i int, v float32) []float32 {
		if k.in(i) == nil {
			return affine(nil, channels, v)
		}
		return slice[float32](dense(k.in(i), ops.Float32))
	}
	batchNorm32(res, x, channels, area, slice[float32](mean), slice[float32](va), param(3, 1), param(4, 0), k.Float(7))
	if res != out {
		copyInto(out, res)
	}
}

func batchNorm32(res, x *Tensor, channels, area int, mean, va, weight, bias []float32, eps float64) {
	dst, src := slice[float32](res), slice[float32](x)
	if len(src) == 0 {
		return
	}
	l := simd.Active()
	parallel.For(len(src)/area, len(src), func(from, to int) {
		for i := from; i < to; i++ {
			c := i % channels
			scale := float32(1/math.Sqrt(float64(va[c])+eps)) * weight[c]
			row := dst[i*area : (i+1)*area]
			l.Normalize(row, src[i*area:(i+1)*area], mean[c], scale)
			l.WithScalar(simd.Add, row, row, bias[c])
		}
	})
}
