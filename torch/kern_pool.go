package torch

import (
	"math"

	"tcdbg/ops"
	"tcdbg/torch/internal/parallel"
	"tcdbg/torch/internal/simd"
)

// This file holds the poolings: windows are given as start and end by
// dimension, so that one walk serves plain and adaptive pooling.

func poolKernels() map[ops.ID]kernel {
	return map[ops.ID]kernel{
		ops.MaxPool1dIndices: maxPoolKernel(1), ops.MaxPool2dIndices: maxPoolKernel(2), ops.MaxPool3dIndices: maxPoolKernel(3),
		ops.AvgPool1d: avgPoolKernel(1), ops.AvgPool2d: avgPoolKernel(2), ops.AvgPool3d: avgPoolKernel(3), ops.AvgPoolBackward: avgPoolBack,
		ops.AdaptiveAvgPool1d: adaptiveAvg(1), ops.AdaptiveAvgPool2d: adaptiveAvg(2), ops.AdaptiveAvgPool3d: adaptiveAvg(3), ops.AdaptiveAvgPoolBackward: adaptiveAvgBack,
		ops.AdaptiveMaxPool1dIndices: adaptiveMax(1), ops.AdaptiveMaxPool2dIndices: adaptiveMax(2), ops.AdaptiveMaxPool3dIndices: adaptiveMax(3),
	}
}

// span is the window of one output position along one dimension.
type span struct {
	from, to, step int // to is exclusive
	full           int // elements with padding, for the divisor
}

// windows lists the spans of every output position by dimension.
type windows struct {
	image, out []int
	spans      [][]span
	along      *slide // of the last dimension; nil where windows differ in more than their place
}

func newWindows(image, out []int) *windows {
	return &windows{image: image, out: out, spans: make([][]span, len(image))}
}

func slidingWindows(image, out, kernel, stride, pad, dilation []int) *windows {
	w := newWindows(image, out)
	for d := range image {
		for o := range out[d] {
			start := o*stride[d] - pad[d]
			end := start + (kernel[d]-1)*dilation[d] + 1
			full := min(end, image[d]+pad[d]) - start
			for start < 0 {
				start += dilation[d]
			}
			w.spans[d] = append(w.spans[d], span{start, min(end, image[d]), dilation[d], full})
		}
	}
	w.along = newSlide(w, kernel, stride, pad, dilation)
	return w
}

func adaptiveWindows(image, out []int) *windows {
	w := newWindows(image, out)
	for d := range image {
		for o := range out[d] {
			from, to := o*image[d]/out[d], ((o+1)*image[d]+out[d]-1)/out[d]
			w.spans[d] = append(w.spans[d], span{from, to, 1, to - from})
		}
	}
	return w
}

// each calls f for every window with its output position and spans.
func (w *windows) each(f func(o int, s []span)) {
	n := 0
	s := make([]span, len(w.image))
	eachIndex(w.out, func(ix []int) {
		for d, i := range ix {
			s[d] = w.spans[d][i]
		}
		f(n, s)
		n++
	})
}

// elements calls f with the position of every element of a window.
func (w *windows) elements(s []span, f func(at int)) {
	w.runs(s, func(from, to, step int) {
		for at := from; at < to; at += step {
			f(at)
		}
	})
}

// runs calls f for every stretch of a window: the positions from one to below another.
func (w *windows) runs(s []span, f func(from, to, step int)) { w.walk(s, 0, 0, f) }

func (w *windows) walk(s []span, d, base int, f func(from, to, step int)) {
	base *= w.image[d]
	if size, ok := w.whole(s, d+1); ok && (size == 1 || s[d].step == 1) {
		f((base+s[d].from)*size, (base+s[d].to)*size, s[d].step)
		return
	}
	for i := s[d].from; i < s[d].to; i += s[d].step {
		w.walk(s, d+1, base+i, f)
	}
}

// whole is the size of the image along the dimensions from d on; ok says that the
// window covers them, so that what it sees is contiguous.
func (w *windows) whole(s []span, d int) (size int, ok bool) {
	size = 1
	for ; d < len(s); d++ {
		if s[d].step != 1 || s[d].from != 0 || s[d].to != w.image[d] {
			return 0, false
		}
		size *= w.image[d]
	}
	return size, true
}

// plane applies f to the spatial planes of x and the result.
func planes(n int, x, out *Tensor, f func(i int)) {
	lead := product(x.shape[:len(x.shape)-n])
	parallel.For(lead, max(x.Numel(), out.Numel())*4, func(from, to int) {
		for i := from; i < to; i++ {
			f(i)
		}
	})
}

func maxPoolKernel(n int) kernel {
	return func(k *kernelCall) {
		x := k.in(0)
		kernel, stride, pad, dil := ops.PoolGeometry(k.Call, n, true)
		at := len(x.shape) - n
		maxOver(k, n, slidingWindows(x.shape[at:], k.out().shape[at:], plain(kernel), plain(stride), plain(pad), plain(dil)))
	}
}

func adaptiveMax(n int) kernel {
	return func(k *kernelCall) {
		x := k.in(0)
		at := len(x.shape) - n
		maxOver(k, n, adaptiveWindows(x.shape[at:], k.out().shape[at:]))
	}
}

func maxOver(k *kernelCall, n int, w *windows) {
	x := k.in(0)
	switch d := computeType(x.dtype); d {
	case ops.Float32:
		maxPlanes[float32](k, n, w, d)
	case ops.Float64:
		maxPlanes[float64](k, n, w, d)
	default:
		maxPlanes[int64](k, n, w, d)
	}
}

func maxPlanes[T number](k *kernelCall, n int, w *windows, d DType) {
	x := dense(k.in(0), d)
	out, where := k.outs[0], k.outs[1]
	direct := out.dtype == d && out.IsContiguous() && where.dtype == ops.Int64 && where.IsContiguous() && !overlapping(out, x)
	if !direct {
		out, where = newTensor(d, out.shape), newTensor(ops.Int64, where.shape)
	}
	val, idx := slice[T](out), slice[int64](where)
	src := slice[T](x)
	image, cells := product(w.image), product(w.out)
	w = w.three()
	planes(n, x, k.out(), func(i int) {
		maxPlane(val[i*cells:], idx[i*cells:], src[i*image:(i+1)*image], w)
	})
	if !direct {
		copyInto(k.outs[0], out)
		copyInto(k.outs[1], where)
	}
}

// three is the same windows in three dimensions.
func (w *windows) three() *windows {
	missing := 3 - len(w.image)
	out := &windows{}
	for range missing {
		out.image, out.out = append(out.image, 1), append(out.out, 1)
		out.spans = append(out.spans, []span{{0, 1, 1, 1}})
	}
	out.image, out.out = append(out.image, w.image...), append(out.out, w.out...)
	out.spans, out.along = append(out.spans, w.spans...), w.along
	return out
}

// maxPlane finds the first largest element of every window; NaN is largest, and
// the last one counts.
func maxPlane[T number](val []T, idx []int64, plane []T, w *windows) {
	if f, ok := any(maxRows).(func([]T, []int64, []T, *windows)); ok && w.along != nil {
		f(val, idx, plane, w)
		return
	}
	o := 0
	for _, a := range w.spans[0] {
		for _, b := range w.spans[1] {
			for _, c := range w.spans[2] {
				val[o], idx[o] = maxWindow(plane, w.image, a, b, c)
				o++
			}
		}
	}
}

func maxWindow[T number](plane []T, image []int, a, b, c span) (T, int64) {
	best, where := T(0), -1
	for i := a.from; i < a.to; i += a.step {
		for j := b.from; j < b.to; j += b.step {
			row := (i*image[1] + j) * image[2]
			for q := c.from; q < c.to; q += c.step {
				if v := plane[row+q]; where < 0 || v > best || v != v {
					best, where = v, row+q
				}
			}
		}
	}
	return best, int64(where)
}

// divisors are the numbers by which the sums of the windows are divided.
func (w *windows) divisors(includePad bool, override int) []float64 {
	out := make([]float64, product(w.out))
	w.each(func(o int, s []span) {
		n := 1
		for _, p := range s {
			if includePad {
				n *= p.full
			} else {
				n *= (p.to - p.from + p.step - 1) / p.step
			}
		}
		if override != 0 {
			n = override
		}
		out[o] = float64(n)
	})
	return out
}

func avgPoolKernel(n int) kernel {
	return func(k *kernelCall) {
		x := k.in(0)
		kernel, stride, pad, dil := ops.PoolGeometry(k.Call, n, false)
		at := len(x.shape) - n
		w := slidingWindows(x.shape[at:], k.out().shape[at:], plain(kernel), plain(stride), plain(pad), plain(dil))
		meanOver(k.out(), x, n, w, w.divisors(k.Bool(5), int(k.Int(6).Hint())))
	}
}

func adaptiveAvg(n int) kernel {
	return func(k *kernelCall) {
		x := k.in(0)
		at := len(x.shape) - n
		w := adaptiveWindows(x.shape[at:], k.out().shape[at:])
		if n == 3 && x.dtype.Size() == 2 && product(w.out) > 1 { // one cell is a mean to PyTorch
			halfMeans(k.out(), x, w)
			return
		}
		meanOver(k.out(), x, n, w, w.divisors(false, 0))
	}
}

func meanOver(out, x *Tensor, n int, w *windows, div []float64) {
	integral := !x.dtype.IsFloat()
	if x.dtype == ops.Float64 || integral {
		meanPlanes[float64](out, dense(x, ops.Float64), n, w, div, integral)
		return
	}
	meanPlanes[float32](out, dense(x, ops.Float32), n, w, div, false)
}

func meanPlanes[T float32 | float64](out, x *Tensor, n int, w *windows, div []float64, trunc bool) {
	src, res := slice[T](x), make([]float64, out.Numel())
	image, cells := product(w.image), product(w.out)
	planes(n, x, out, func(i int) {
		plane := src[i*image : (i+1)*image]
		w.each(func(o int, s []span) {
			sum := 0.0
			w.runs(s, func(from, to, step int) { sum += sumOf(plane, from, to, step) })
			v := sum / div[o]
			if trunc {
				v = math.Trunc(v)
			}
			res[i*cells+o] = v
		})
	})
	finish(out, res, ops.Float64)
}

// sumOf adds the numbers at every step-th position.
func sumOf[T float32 | float64](x []T, from, to, step int) float64 {
	if f, ok := any(x).([]float32); ok && step == 1 && from < to {
		return simd.Active().Sum(f[from:to])
	}
	sum := 0.0
	for i := from; i < to; i += step {
		sum += float64(x[i])
	}
	return sum
}

// spreadBack adds the share of each window to its elements.
func spreadBack(out, grad *Tensor, w *windows, div []float64) {
	d := ops.OpMath(out.dtype)
	res := out
	if out.dtype != d || !out.IsContiguous() || overlapping(out, grad) {
		res = newTensor(d, out.shape)
	}
	switch grad = dense(grad, d); {
	case res.Numel() == 0:
	case d == ops.Float64:
		spreadPlanes(slice[float64](res), slice[float64](grad), w, div)
	default:
		spreadPlanes(slice[float32](res), slice[float32](grad), w, div)
	}
	if res != out {
		copyInto(out, res)
	}
}

// spreadPlanes is spreadBack for planes that follow each other.
func spreadPlanes[T float32 | float64](res, grad []T, w *windows, div []float64) {
	image, cells := product(w.image), product(w.out)
	parallel.For(len(res)/image, len(res)*4, func(from, to int) {
		plane := make([]float64, image)
		for i := from; i < to; i++ {
			clear(plane)
			w.each(func(o int, s []span) {
				v := float64(grad[i*cells+o]) / div[o]
				w.runs(s, func(from, to, step int) {
					for at := from; at < to; at += step {
						plane[at] += v
					}
				})
			})
			for j, v := range plane {
				res[i*image+j] = T(v)
			}
		}
	})
}

func avgPoolBack(k *kernelCall) {
	grad, x := k.in(0), k.in(1)
	n := len(k.Ints(2))
	at := len(x.shape) - n
	ones := make([]int, n)
	for i := range ones {
		ones[i] = 1
	}
	w := slidingWindows(x.shape[at:], grad.shape[at:], k.nums(2), k.nums(3), k.nums(4), ones)
	div := w.divisors(k.Bool(6), int(k.Int(7).Hint()))
	if d := x.dtype; d.IsFloat() && d.Size() == 2 {
		halfSpread(k.out(), grad, n, w, func(v float32, o int, _ []span) float32 { return roundTo(d, v/float32(div[o])) })
		return
	}
	spreadBack(k.out(), grad, w, div)
}

func adaptiveAvgBack(k *kernelCall) {
	grad, x := k.in(0), k.in(1)
	n := k.num(2)
	at := len(x.shape) - n
	w := adaptiveWindows(x.shape[at:], grad.shape[at:])
	if d := x.dtype; d.IsFloat() && d.Size() == 2 {
		halfSpread(k.out(), grad, n, w, func(v float32, _ int, s []span) float32 { return shared(d, v, s) })
		return
	}
	spreadBack(k.out(), grad, w, w.divisors(false, 0))
}
