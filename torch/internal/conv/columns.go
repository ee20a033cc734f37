package conv

import (
	"tcdbg/torch/internal/parallel"
	"tcdbg/torch/internal/strided"
)

// This file cuts an image in columns of windows (im2col) and adds them back.

// geometry is one convolution, seen from the image that is cut in windows.
type geometry struct {
	channels              int   // of one group
	image, kernel, window []int // sizes: image, kernel, and number of windows
	stride, pad, dilation []int
}

func (g *geometry) rows() int { return g.channels * strided.Product(g.kernel) }

func (g *geometry) cols() int { return strided.Product(g.window) }

// visit calls f for every run of the column matrix that steps through one line
// of the image: the line starts at base (-1: it lies in the padding), and
// column col+j of the row stands for element j*step+shift of it. Channels, which have
// rows and image to themselves, are shared out among threads.
func (g *geometry) visit(f func(row, col, base, shift, step int)) {
	parallel.For(g.channels, g.rows()*g.cols(), func(from, to int) { g.visitChannels(from, to, f) })
}

func (g *geometry) visitChannels(from, to int, f func(row, col, base, shift, step int)) {
	last := len(g.image) - 1
	outer := g.window[:last]
	for c := from; c < to; c++ {
		k := 0
		strided.EachIndex(g.kernel, func(kx []int) {
			row := c*strided.Product(g.kernel) + k
			k++
			col := 0
			strided.EachIndex(outer, func(ox []int) {
				at := c
				inside := true
				for d, o := range ox {
					i := o*g.stride[d] - g.pad[d] + kx[d]*g.dilation[d]
					inside = inside && i >= 0 && i < g.image[d]
					at = at*g.image[d] + i
				}
				from := -1
				if inside {
					from = at * g.image[last]
				}
				f(row, col, from, kx[last]*g.dilation[last]-g.pad[last], g.stride[last])
				col += g.window[last]
			})
		})
	}
}

// columns writes the windows of image x as a rows x cols matrix.
func columns[T strided.Number](dst, x []T, g *geometry) {
	n, w := g.window[len(g.window)-1], g.image[len(g.image)-1]
	cols := g.cols()
	g.visit(func(row, col, base, shift, step int) {
		d := dst[row*cols+col:][:n]
		if base < 0 {
			clear(d)
			return
		}
		src := x[base : base+w]
		first, end := inside(n, w, shift, step)
		clear(d[:first])
		for j := first; j < end; j++ {
			d[j] = src[j*step+shift]
		}
		clear(d[end:])
	})
}

// uncolumns adds a matrix of windows back to the image.
func uncolumns[T strided.Number](x, src []T, g *geometry) {
	n, w := g.window[len(g.window)-1], g.image[len(g.image)-1]
	cols := g.cols()
	g.visit(func(row, col, base, shift, step int) {
		if base < 0 {
			return
		}
		s, dst := src[row*cols+col:][:n], x[base:base+w]
		first, end := inside(n, w, shift, step)
		for j := first; j < end; j++ {
			dst[j*step+shift] += s[j]
		}
	})
}

// inside are the first of n columns whose element j*step+shift lies in a line of w, and
// the first after them.
func inside(n, w, shift, step int) (first, end int) {
	if shift < 0 {
		first = min((step-1-shift)/step, n)
	}
	end = first
	if w > shift {
		end = max(min((w-1-shift)/step+1, n), first)
	}
	return first, end
}
