package torch

import "tcdbg/ops"

// This file keeps average pooling of half precision with PyTorch's, which rounds
// after every step: each sum, and the division by a window's divisor or, where
// windows are adaptive, by each of its extents.

// shared divides by the extents of a window, dimension by dimension.
func shared(d DType, v float32, s []span) float32 {
	for _, p := range s {
		v = roundTo(d, v/float32(p.to-p.from))
	}
	return v
}

// halfMeans averages the windows of three-dimensional planes.
func halfMeans(out, x *Tensor, w *windows) {
	src, res := slice[float32](dense(x, ops.Float32)), make([]float32, out.Numel())
	image, cells := product(w.image), product(w.out)
	planes(3, x, out, func(i int) {
		plane := src[i*image : (i+1)*image]
		w.each(func(o int, s []span) {
			sum := float32(0)
			w.elements(s, func(at int) { sum = roundTo(x.dtype, sum+plane[at]) })
			res[i*cells+o] = shared(x.dtype, sum, s)
		})
	})
	finish(out, res, ops.Float32)
}

// halfSpread adds the share of each window to its elements: part is that share of
// the window's gradient.
func halfSpread(out, grad *Tensor, n int, w *windows, part func(v float32, o int, s []span) float32) {
	g, res := slice[float32](dense(grad, ops.Float32)), make([]float32, out.Numel())
	image, cells := product(w.image), product(w.out)
	planes(n, out, grad, func(i int) {
		plane := res[i*image : (i+1)*image]
		w.each(func(o int, s []span) {
			v := part(g[i*cells+o], o, s)
			w.elements(s, func(at int) { plane[at] = roundTo(out.dtype, plane[at]+v) })
		})
	})
	finish(out, res, ops.Float32)
}
