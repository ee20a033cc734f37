package conv

import (
	"tcdbg/torch/internal/gemm"
	"tcdbg/torch/internal/parallel"
	"tcdbg/torch/internal/strided"
)

// This file is a convolution over any number of dimensions as products of columns of
// windows.

// Call is the arguments of a convolution in one compute type.
type Call struct {
	Stride, Pad, Dilation      []int
	Transposed                 bool
	Groups, Batch, InCh, OutCh int
	InSize, OutSize, Kernel    []int
	InPer, OutPer              int                   // channels of one group
	Half                       bool                  // the numbers had half precision before they were widened
	Round                      func(float32) float32 // to that precision
}

// geometry of the side that is cut in windows: the input, or the output of a
// transposed convolution.
func (c *Call) geometry() *geometry {
	g := &geometry{
		channels: c.InPer, image: c.InSize, kernel: c.Kernel, window: c.OutSize, stride: c.Stride, pad: c.Pad,
		dilation: c.Dilation,
	}
	if c.Transposed {
		g.channels, g.image, g.window = c.OutPer, c.OutSize, c.InSize
	}
	return g
}

// eachGroup calls f for every image and group.
func (c *Call) eachGroup(f func(n, g int)) {
	for n := range c.Batch {
		for g := range c.Groups {
			f(n, g)
		}
	}
}

// Forward computes a convolution by columns of windows.
func Forward[T strided.Number](c *Call, x, w, out []T, multiply gemm.Func[T]) {
	if len(out) == 0 {
		return
	}
	g := c.geometry()
	rows, cols := g.rows(), g.cols()
	in, to := c.InPer*strided.Product(c.InSize), c.OutPer*strided.Product(c.OutSize)
	buf := make([]T, rows*cols)
	threads := parallel.Threads()
	clear(out)
	c.eachGroup(func(n, i int) {
		src := x[(n*c.Groups+i)*in:][:in]
		dst := out[(n*c.Groups+i)*to:][:to]
		if c.Transposed {
			// columns of the output = W^T x
			wg := gemm.RowMajor(w[i*c.InPer*rows:][:c.InPer*rows], rows)
			multiply(buf, cols, gemm.Transposed(wg), gemm.RowMajor(src, cols), rows, cols, c.InPer, threads)
			putBack(c, dst, buf, g)
			return
		}
		columns(buf, src, g)
		wg := gemm.RowMajor(w[i*c.OutPer*rows:][:c.OutPer*rows], rows)
		multiply(dst, cols, wg, gemm.RowMajor(buf, cols), c.OutPer, cols, rows, threads)
	})
}

// BackwardFloat32 takes the ways of planes where there is one.
func BackwardFloat32(c *Call, x, w, grad, gx, gw []float32, mask []bool) {
	switch {
	case !mask[0]:
		clear(gx)
	case c.gradIsConvolution():
		c.gradInput(w, grad, gx)
	default:
		Backward(c, x, w, grad, gx, gw, []bool{true, false, false}, gemm.Float32)
	}
	if mask[1] {
		c.gradWeight(x, grad, gw)
	} else {
		clear(gw)
	}
}

// Backward computes the gradients of input and weight that mask asks for.
func Backward[T strided.Number](c *Call, x, w, grad, gx, gw []T, mask []bool, multiply gemm.Func[T]) {
	clear(gx)
	clear(gw)
	if len(grad) == 0 {
		return
	}
	g := c.geometry()
	rows, cols := g.rows(), g.cols()
	in, to := c.InPer*strided.Product(c.InSize), c.OutPer*strided.Product(c.OutSize)
	buf := make([]T, rows*cols)
	threads := parallel.Threads()
	per := c.OutPer // rows of the weight of one group
	if c.Transposed {
		per = c.InPer
	}
	part := make([]T, per*rows)
	c.eachGroup(func(n, i int) {
		src, gs := x[(n*c.Groups+i)*in:][:in], grad[(n*c.Groups+i)*to:][:to]
		wg := gemm.RowMajor(w[i*per*rows:][:per*rows], rows)
		// small is the side of the windows, image the side that is cut.
		small, image := gs, src
		if c.Transposed {
			small, image = src, gs
		}
		if mask[0] && c.Transposed {
			columns(buf, gs, g)
			multiply(gx[(n*c.Groups+i)*in:][:in], cols, wg, gemm.RowMajor(buf, cols), per, cols, rows, threads)
		} else if mask[0] {
			multiply(buf, cols, gemm.Transposed(wg), gemm.RowMajor(gs, cols), rows, cols, per, threads)
			putBack(c, gx[(n*c.Groups+i)*in:][:in], buf, g)
		}
		if mask[1] {
			columns(buf, image, g)
			multiply(part, rows, gemm.RowMajor(small, cols), gemm.Transposed(gemm.RowMajor(buf, cols)), per, rows, cols, threads)
			dst := gw[i*per*rows:][:per*rows]
			for j, v := range part {
				dst[j] += v
			}
		}
	})
}
