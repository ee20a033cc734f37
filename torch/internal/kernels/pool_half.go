package kernels

import (
	"tcdbg/ops"
	"tcdbg/torch/internal/strided"
)

// This file keeps average pooling of half precision with PyTorch's, which rounds
// after every step: each sum, and the division by a window's divisor or, where
// windows are adaptive, by each of its extents.

// shared divides by the extents of a window, dimension by dimension.
func shared(d ops.DType, v float32, s []Span) float32 {
	for _, p := range s {
		v = strided.RoundTo(d, v/float32(p.To-p.From))
	}
	return v
}

// halfMeans averages the windows of three-dimensional planes.
func halfMeans(out, x *strided.Array, w *Windows) {
	src, res := strided.Slice[float32](strided.Dense(x, ops.Float32)), make([]float32, out.Numel())
	image, cells := strided.Product(w.Image), strided.Product(w.Out)
	planes(3, x, out, func(i int) {
		plane := src[i*image : (i+1)*image]
		w.Each(func(o int, s []Span) {
			sum := float32(0)
			w.elements(s, func(at int) { sum = strided.RoundTo(x.DType, sum+plane[at]) })
			res[i*cells+o] = shared(x.DType, sum, s)
		})
	})
	strided.Store(out, res, ops.Float32)
}

// halfSpread adds the share of each window to its elements: part is that share of
// the window's gradient.
func halfSpread(out, grad *strided.Array, n int, w *Windows, part func(v float32, o int, s []Span) float32) {
	g, res := strided.Slice[float32](strided.Dense(grad, ops.Float32)), make([]float32, out.Numel())
	image, cells := strided.Product(w.Image), strided.Product(w.Out)
	planes(n, out, grad, func(i int) {
		plane := res[i*image : (i+1)*image]
		w.Each(func(o int, s []Span) {
			v := part(g[i*cells+o], o, s)
			w.elements(s, func(at int) { plane[at] = strided.RoundTo(out.DType, plane[at]+v) })
		})
	})
	strided.Store(out, res, ops.Float32)
}
