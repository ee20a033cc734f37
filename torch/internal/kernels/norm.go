package kernels

import (
	"math"

	"tcdbg/ops"
	"tcdbg/torch/internal/memory"
	"tcdbg/torch/internal/parallel"
	"tcdbg/torch/internal/simd"
	"tcdbg/torch/internal/strided"
)

// This file holds softmax and layer_norm over contiguous rows.

func normKernels() map[ops.ID]Kernel {
	return map[ops.ID]Kernel{
		ops.Softmax:    func(k *Call) { softmaxKernel(k, false) },
		ops.LogSoftmax: func(k *Call) { softmaxKernel(k, true) },
		ops.LayerNorm:  layerNormKernel,
		ops.BatchNorm:  batchNormKernel,
	}
}

func softmaxKernel(k *Call, log bool) {
	out := k.out()
	d := ops.OpMath(out.DType)
	n, inner := 1, 1
	if shape := k.self().Shape; len(shape) > 0 {
		dim := k.dim()
		n, inner = shape[dim], strided.Product(shape[dim+1:])
	}
	if strided.Product(out.Shape) == 0 || inner == 1 && softmaxHalfRows(out, k.self(), n, log) {
		return
	}
	x := k.self()
	if inner > 1 { // other dimensions become rows, which are turned back at the end
		last := len(x.Shape) - 1
		x, out = moveDim(x, k.dim(), last), moveDim(out, k.dim(), last)
	}
	x = strided.Dense(x, d)
	res := out
	if out.DType != d || !out.IsContiguous() {
		res = strided.New(d, out.Shape)
	}
	switch {
	case d == ops.Float64:
		softmaxRows(strided.Slice[float64](res), strided.Slice[float64](x), n, log)
	case log && inner == 1 && out.DType != d:
		halfLogSoftmax(out.DType, strided.Slice[float32](res), strided.Slice[float32](x), n)
	default:
		softmax32(strided.Slice[float32](res), strided.Slice[float32](x), n, log)
	}
	if res != out {
		strided.Copy(out, res)
	}
}

func softmaxHalfRows(out, x *strided.Array, n int, log bool) bool {
	const work = 4
	return HalfRows(out, x, n, work, func(rows []float32) {
		if log {
			halfLogSoftmaxRows(out.DType, rows, rows, n)
			return
		}
		softmaxSpan(&rowWriter{level: simd.Active()}, rows, rows, n, 0, len(rows)/n, false)
	})
}

func softmaxRows(dst, src []float64, n int, log bool) {
	parallel.For(len(src)/n, len(src)*4, func(from, to int) {
		for at := from * n; at < to*n; at += n {
			softmaxRow(dst[at:at+n], src[at:at+n], log)
		}
	})
}

func softmaxRow(dst, src []float64, log bool) {
	high := math.Inf(-1)
	for _, v := range src {
		if v > high || v != v {
			high = v
		}
	}
	sum := 0.0
	for i, v := range src {
		e := math.Exp(v - high)
		sum += e
		if !log {
			dst[i] = e
		}
	}
	if log {
		ls := math.Log(sum)
		for i, v := range src {
			dst[i] = v - high - ls
		}
		return
	}
	inv := 1 / sum
	for i := range dst {
		dst[i] *= inv
	}
}

// softmax32 is softmaxRows on vectors.
func softmax32(dst, src []float32, n int, log bool) {
	l := simd.Active()
	parallel.For(len(src)/n, len(src)*4, func(from, to int) {
		w := NewRowWriter(l, len(dst), n)
		defer w.Close()
		softmaxSpan(&w, dst, src, n, from, to, log)
	})
}

// softmaxSpan computes the rows from..to; dst may be src.
func softmaxSpan(w *rowWriter, dst, src []float32, n, from, to int, log bool) {
	l := w.level
	for r := from; r < to; r++ {
		row, at := src[r*n:(r+1)*n], dst[r*n:(r+1)*n]
		o := w.Row(at)
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
func halfLogSoftmax(half ops.DType, dst, src []float32, n int) {
	parallel.For(len(src)/n, len(src)*4, func(from, to int) {
		halfLogSoftmaxRows(half, dst[from*n:to*n], src[from*n:to*n], n)
	})
}

// halfLogSoftmaxRows computes some of the rows; dst may be src.
func halfLogSoftmaxRows(half ops.DType, dst, src []float32, n int) {
	l, exps := simd.Active(), memory.Borrow(n)
	defer exps.GiveBack()
	for at := 0; at < len(src); at += n {
		row, o := src[at:at+n], dst[at:at+n]
		high := l.Largest(row)
		sum := l.ExpSum(exps.Floats, row, high)
		log := strided.RoundTo(half, float32(math.Log(float64(strided.RoundTo(half, float32(sum))))))
		l.WithScalar(simd.Sub, o, row, high)
		l.WithScalar(simd.Sub, o, o, log)
	}
}

func layerNormKernel(k *Call) {
	a := ops.In[ops.LayerNormArgs](k.Call)
	out := k.out()
	d := ops.OpMath(out.DType)
	var w, b *strided.Array
	if given := array(a.Weight); given != nil {
		w = strided.Dense(given, d)
	}
	if given := array(a.Bias); given != nil {
		b = strided.Dense(given, d)
	}
	n, eps := strided.Product(wholes(a.NormalizedShape)), a.Eps.Float()
	if layerNormHalfRows(out, array(a.Input), w, b, n, eps) {
		return
	}
	x := strided.Dense(array(a.Input), d)
	res := out
	if out.DType != d || !out.IsContiguous() {
		res = strided.New(d, out.Shape)
	}
	if strided.Product(x.Shape) > 0 {
		if d == ops.Float64 {
			layerNormRows[float64](res, x, w, b, n, eps)
		} else {
			layerNorm32(res, x, w, b, n, eps)
		}
	}
	if res != out {
		strided.Copy(out, res)
	}
}

// layerNorm32 is layerNormRows on vectors.
func layerNorm32(res, x, w, b *strided.Array, n int, eps float64) {
	dst, src := strided.Slice[float32](res), strided.Slice[float32](x)
	p := newRowNorm(w, b, n, eps)
	parallel.For(len(src)/n, len(src)*2, func(from, to int) {
		rows := NewRowWriter(simd.Active(), len(dst), n)
		defer rows.Close()
		p.span(&rows, dst, src, from, to)
	})
}

func layerNormHalfRows(out, x, w, b *strided.Array, n int, eps float64) bool {
	if x.DType.Size() != 2 {
		return false
	}
	const work = 2
	p := newRowNorm(w, b, n, eps)
	return HalfRows(out, x, n, work, func(rows []float32) {
		p.span(&rowWriter{level: simd.Active()}, rows, rows, 0, len(rows)/n)
	})
}

// rowNorm normalizes rows of n numbers.
type rowNorm struct {
	n            int
	eps          float64
	scale, shift []float32 // of each number; none: as it is
}

func newRowNorm(w, b *strided.Array, n int, eps float64) *rowNorm {
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
		o := rows.Row(at)
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
func affine(t *strided.Array, n int, v float32) []float32 {
	if t != nil {
		return strided.Slice[float32](t)
	}
	out := make([]float32, n)
	for i := range out {
		out[i] = v
	}
	return out
}

func layerNormRows[T float32 | float64](res, x, w, b *strided.Array, n int, eps float64) {
	dst, src := strided.Slice[T](res), strided.Slice[T](x)
	var ws, bs []T
	if w != nil {
		ws = strided.Slice[T](w)
	}
	if b != nil {
		bs = strided.Slice[T](b)
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
func batchNormKernel(k *Call) {
	a := ops.In[ops.BatchNormArgs](k.Call)
	x, out := array(a.Input), k.out()
	if a.Training.Bool() || x.DType != ops.Float32 || len(x.Shape) < 2 {
		k.Declined = true
		return
	}
	x = strided.Dense(x, ops.Float32)
	res := out
	if !out.IsContiguous() {
		res = strided.New(ops.Float32, out.Shape)
	}
	channels, area := x.Shape[1], strided.Product(x.Shape[2:])
	mean, va := strided.Dense(array(a.RunningMean), ops.Float32), strided.Dense(array(a.RunningVar), ops.Float32)
	param := func(given ops.TensorArg, v float32) []float32 {
		p := array(given)
		if p == nil {
			return affine(nil, channels, v)
		}
		return strided.Slice[float32](strided.Dense(p, ops.Float32))
	}
	batchNorm32(
		res, x, channels, area, strided.Slice[float32](mean), strided.Slice[float32](va), param(a.Weight, 1), param(a.Bias, 0),
		a.Eps.Float(),
	)
	if res != out {
		strided.Copy(out, res)
	}
}

func batchNorm32(res, x *strided.Array, channels, area int, mean, va, weight, bias []float32, eps float64) {
	dst, src := strided.Slice[float32](res), strided.Slice[float32](x)
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
