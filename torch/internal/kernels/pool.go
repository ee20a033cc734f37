package kernels

import (
	"math"

	"tcdbg/ops"
	"tcdbg/torch/internal/parallel"
	"tcdbg/torch/internal/simd"
	"tcdbg/torch/internal/strided"
)

// This file holds the poolings: windows are given as start and end by
// dimension, so that one walk serves plain and adaptive pooling.

func poolKernels() map[ops.ID]Kernel {
	return map[ops.ID]Kernel{
		ops.MaxPool1dIndices: maxPoolKernel(1), ops.MaxPool2dIndices: maxPoolKernel(2), ops.MaxPool3dIndices: maxPoolKernel(3),
		ops.AvgPool1d: avgPoolKernel(1), ops.AvgPool2d: avgPoolKernel(2), ops.AvgPool3d: avgPoolKernel(3), ops.AvgPoolBackward: avgPoolBack,
		ops.AdaptiveAvgPool1d: adaptiveAvg(1), ops.AdaptiveAvgPool2d: adaptiveAvg(2), ops.AdaptiveAvgPool3d: adaptiveAvg(3),
		ops.AdaptiveAvgPoolBackward:  adaptiveAvgBack,
		ops.AdaptiveMaxPool1dIndices: adaptiveMax(1), ops.AdaptiveMaxPool2dIndices: adaptiveMax(2),
		ops.AdaptiveMaxPool3dIndices: adaptiveMax(3),
	}
}

// Span is the window of one output position along one dimension.
type Span struct {
	From, To, Step int // to is exclusive
	full           int // elements with padding, for the divisor
}

// Windows lists the spans of every output position by dimension.
type Windows struct {
	Image, Out []int
	Spans      [][]Span
	Along      *slide // of the last dimension; nil where windows differ in more than their place
}

func newWindows(image, out []int) *Windows {
	return &Windows{Image: image, Out: out, Spans: make([][]Span, len(image))}
}

func SlidingWindows(image, out, kernel, stride, pad, dilation []int) *Windows {
	w := newWindows(image, out)
	for d := range image {
		for o := range out[d] {
			start := o*stride[d] - pad[d]
			end := start + (kernel[d]-1)*dilation[d] + 1
			full := min(end, image[d]+pad[d]) - start
			for start < 0 {
				start += dilation[d]
			}
			w.Spans[d] = append(w.Spans[d], Span{start, min(end, image[d]), dilation[d], full})
		}
	}
	w.Along = newSlide(w, kernel, stride, pad, dilation)
	return w
}

func AdaptiveWindows(image, out []int) *Windows {
	w := newWindows(image, out)
	for d := range image {
		for o := range out[d] {
			from, to := o*image[d]/out[d], ((o+1)*image[d]+out[d]-1)/out[d]
			w.Spans[d] = append(w.Spans[d], Span{from, to, 1, to - from})
		}
	}
	return w
}

// Each calls f for every window with its output position and spans.
func (w *Windows) Each(f func(o int, s []Span)) {
	n := 0
	s := make([]Span, len(w.Image))
	strided.EachIndex(w.Out, func(ix []int) {
		for d, i := range ix {
			s[d] = w.Spans[d][i]
		}
		f(n, s)
		n++
	})
}

// elements calls f with the position of every element of a window.
func (w *Windows) elements(s []Span, f func(at int)) {
	w.Runs(s, func(from, to, step int) {
		for at := from; at < to; at += step {
			f(at)
		}
	})
}

// Runs calls f for every stretch of a window: the positions from one to below another.
func (w *Windows) Runs(s []Span, f func(from, to, step int)) { w.walk(s, 0, 0, f) }

func (w *Windows) walk(s []Span, d, base int, f func(from, to, step int)) {
	base *= w.Image[d]
	if size, ok := w.whole(s, d+1); ok && (size == 1 || s[d].Step == 1) {
		f((base+s[d].From)*size, (base+s[d].To)*size, s[d].Step)
		return
	}
	for i := s[d].From; i < s[d].To; i += s[d].Step {
		w.walk(s, d+1, base+i, f)
	}
}

// whole is the size of the image along the dimensions from d on; ok says that the
// window covers them, so that what it sees is contiguous.
func (w *Windows) whole(s []Span, d int) (size int, ok bool) {
	size = 1
	for ; d < len(s); d++ {
		if s[d].Step != 1 || s[d].From != 0 || s[d].To != w.Image[d] {
			return 0, false
		}
		size *= w.Image[d]
	}
	return size, true
}

// plane applies f to the spatial planes of x and the result.
func planes(n int, x, out *strided.Array, f func(i int)) {
	lead := strided.Product(x.Shape[:len(x.Shape)-n])
	parallel.For(lead, max(x.Numel(), out.Numel())*4, func(from, to int) {
		for i := from; i < to; i++ {
			f(i)
		}
	})
}

func maxPoolKernel(n int) Kernel {
	return func(k *Call) {
		x := k.self()
		kernel, stride, pad, dil := ops.PoolGeometry(k.Call, n, true)
		at := len(x.Shape) - n
		maxOver(k, n, SlidingWindows(x.Shape[at:], k.out().Shape[at:], strided.Plain(kernel), strided.Plain(stride),
			strided.Plain(pad), strided.Plain(dil)))
	}
}

func adaptiveMax(n int) Kernel {
	return func(k *Call) {
		x := k.self()
		at := len(x.Shape) - n
		maxOver(k, n, AdaptiveWindows(x.Shape[at:], k.out().Shape[at:]))
	}
}

func maxOver(k *Call, n int, w *Windows) {
	x := k.self()
	switch d := computeType(x.DType); d {
	case ops.Float32:
		maxPlanes[float32](k, n, w, d)
	case ops.Float64:
		maxPlanes[float64](k, n, w, d)
	default:
		maxPlanes[int64](k, n, w, d)
	}
}

func maxPlanes[T strided.Number](k *Call, n int, w *Windows, d ops.DType) {
	x := strided.Dense(k.self(), d)
	out, where := k.Outs[0], k.Outs[1]
	direct := out.DType == d && out.IsContiguous() && where.DType == ops.Int64 && where.IsContiguous() && !strided.Overlapping(out, x)
	if !direct {
		out, where = strided.New(d, out.Shape), strided.New(ops.Int64, where.Shape)
	}
	val, idx := strided.Slice[T](out), strided.Slice[int64](where)
	src := strided.Slice[T](x)
	image, cells := strided.Product(w.Image), strided.Product(w.Out)
	w = w.three()
	planes(n, x, k.out(), func(i int) {
		MaxPlane(val[i*cells:], idx[i*cells:], src[i*image:(i+1)*image], w)
	})
	if !direct {
		strided.Copy(k.Outs[0], out)
		strided.Copy(k.Outs[1], where)
	}
}

// three is the same windows in three dimensions.
func (w *Windows) three() *Windows {
	missing := 3 - len(w.Image)
	out := &Windows{}
	for range missing {
		out.Image, out.Out = append(out.Image, 1), append(out.Out, 1)
		out.Spans = append(out.Spans, []Span{{0, 1, 1, 1}})
	}
	out.Image, out.Out = append(out.Image, w.Image...), append(out.Out, w.Out...)
	out.Spans, out.Along = append(out.Spans, w.Spans...), w.Along
	return out
}

// MaxPlane finds the first largest element of every window; NaN is largest, and
// the last one counts.
func MaxPlane[T strided.Number](val []T, idx []int64, plane []T, w *Windows) {
	if f, ok := any(MaxRows).(func([]T, []int64, []T, *Windows)); ok && w.Along != nil {
		f(val, idx, plane, w)
		return
	}
	o := 0
	for _, a := range w.Spans[0] {
		for _, b := range w.Spans[1] {
			for _, c := range w.Spans[2] {
				val[o], idx[o] = maxWindow(plane, w.Image, a, b, c)
				o++
			}
		}
	}
}

func maxWindow[T strided.Number](plane []T, image []int, a, b, c Span) (T, int64) {
	best, where := T(0), -1
	for i := a.From; i < a.To; i += a.Step {
		for j := b.From; j < b.To; j += b.Step {
			row := (i*image[1] + j) * image[2]
			for q := c.From; q < c.To; q += c.Step {
				if v := plane[row+q]; where < 0 || v > best || v != v {
					best, where = v, row+q
				}
			}
		}
	}
	return best, int64(where)
}

// divisors are the numbers by which the sums of the windows are divided.
func (w *Windows) divisors(includePad bool, override int) []float64 {
	out := make([]float64, strided.Product(w.Out))
	w.Each(func(o int, s []Span) {
		n := 1
		for _, p := range s {
			if includePad {
				n *= p.full
			} else {
				n *= (p.To - p.From + p.Step - 1) / p.Step
			}
		}
		if override != 0 {
			n = override
		}
		out[o] = float64(n)
	})
	return out
}

func avgPoolKernel(n int) Kernel {
	return func(k *Call) {
		a := ops.In[ops.AvgPoolArgs](k.Call)
		x := array(a.Input)
		kernel, stride, pad, dil := ops.PoolGeometry(k.Call, n, false)
		at := len(x.Shape) - n
		w := SlidingWindows(
			x.Shape[at:], k.out().Shape[at:], strided.Plain(kernel), strided.Plain(stride), strided.Plain(pad),
			strided.Plain(dil),
		)
		meanOver(k.out(), x, n, w, w.divisors(a.CountIncludePad.Bool(), whole(a.DivisorOverride)))
	}
}

func adaptiveAvg(n int) Kernel {
	return func(k *Call) {
		x := k.self()
		at := len(x.Shape) - n
		w := AdaptiveWindows(x.Shape[at:], k.out().Shape[at:])
		if n == 3 && x.DType.Size() == 2 && strided.Product(w.Out) > 1 { // one cell is a mean to PyTorch
			halfMeans(k.out(), x, w)
			return
		}
		meanOver(k.out(), x, n, w, w.divisors(false, 0))
	}
}

func meanOver(out, x *strided.Array, n int, w *Windows, div []float64) {
	integral := !x.DType.IsFloat()
	if x.DType == ops.Float64 || integral {
		meanPlanes[float64](out, strided.Dense(x, ops.Float64), n, w, div, integral)
		return
	}
	meanPlanes[float32](out, strided.Dense(x, ops.Float32), n, w, div, false)
}

func meanPlanes[T float32 | float64](out, x *strided.Array, n int, w *Windows, div []float64, trunc bool) {
	src, res := strided.Slice[T](x), make([]float64, out.Numel())
	image, cells := strided.Product(w.Image), strided.Product(w.Out)
	planes(n, x, out, func(i int) {
		plane := src[i*image : (i+1)*image]
		w.Each(func(o int, s []Span) {
			sum := 0.0
			w.Runs(s, func(from, to, step int) { sum += sumOf(plane, from, to, step) })
			v := sum / div[o]
			if trunc {
				v = math.Trunc(v)
			}
			res[i*cells+o] = v
		})
	})
	strided.Store(out, res, ops.Float64)
}

// sumOf adds the numbers at every step-th position.
func sumOf[T float32 | float64](x []T, from, to, step int) float64 {
	const few = 8 // which no vector adds up faster
	if to-from > few && step == 1 {
		if f, ok := any(x).([]float32); ok {
			return simd.Active().Sum(f[from:to])
		}
	}
	sum := 0.0
	for i := from; i < to; i += step {
		sum += float64(x[i])
	}
	return sum
}

// spreadBack adds the share of each window to its elements.
func spreadBack(out, grad *strided.Array, w *Windows, div []float64) {
	d := ops.OpMath(out.DType)
	res := out
	if out.DType != d || !out.IsContiguous() || strided.Overlapping(out, grad) {
		res = strided.New(d, out.Shape)
	}
	switch grad = strided.Dense(grad, d); {
	case res.Numel() == 0:
	case d == ops.Float64:
		spreadPlanes(strided.Slice[float64](res), strided.Slice[float64](grad), w, div)
	default:
		spreadPlanes(strided.Slice[float32](res), strided.Slice[float32](grad), w, div)
	}
	if res != out {
		strided.Copy(out, res)
	}
}

// spreadPlanes is spreadBack for planes that follow each other.
func spreadPlanes[T float32 | float64](res, grad []T, w *Windows, div []float64) {
	image, cells := strided.Product(w.Image), strided.Product(w.Out)
	parallel.For(len(res)/image, len(res)*4, func(from, to int) {
		plane := make([]float64, image)
		for i := from; i < to; i++ {
			clear(plane)
			w.Each(func(o int, s []Span) {
				v := float64(grad[i*cells+o]) / div[o]
				w.Runs(s, func(from, to, step int) {
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

func avgPoolBack(k *Call) {
	a := ops.In[ops.AvgPoolBackwardArgs](k.Call)
	grad, x := array(a.Grad), array(a.Self)
	n := len(a.KernelSize.Ints())
	at := len(x.Shape) - n
	ones := make([]int, n)
	for i := range ones {
		ones[i] = 1
	}
	w := SlidingWindows(x.Shape[at:], grad.Shape[at:], wholes(a.KernelSize), wholes(a.Stride), wholes(a.Padding), ones)
	div := w.divisors(a.CountIncludePad.Bool(), whole(a.DivisorOverride))
	if d := x.DType; d.IsFloat() && d.Size() == 2 {
		halfSpread(k.out(), grad, n, w, func(v float32, o int, _ []Span) float32 { return strided.RoundTo(d, v/float32(div[o])) })
		return
	}
	spreadBack(k.out(), grad, w, div)
}

func adaptiveAvgBack(k *Call) {
	a := ops.In[ops.AdaptiveAvgPoolBackwardArgs](k.Call)
	grad, x := array(a.Grad), array(a.Self)
	n := whole(a.Dims)
	at := len(x.Shape) - n
	w := AdaptiveWindows(x.Shape[at:], grad.Shape[at:])
	if d := x.DType; d.IsFloat() && d.Size() == 2 {
		halfSpread(k.out(), grad, n, w, func(v float32, _ int, s []Span) float32 { return shared(d, v, s) })
		return
	}
	spreadBack(k.out(), grad, w, w.divisors(false, 0))
}
