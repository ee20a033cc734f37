package torch

import (
	"tcdbg/ops"
	"tcdbg/torch/internal/parallel"
)

// This file holds convolution over any number of dimensions: columns of
// windows (im2col) and the matrix product.

func convKernels() map[ops.ID]kernel {
	return map[ops.ID]kernel{ops.Convolution: convolutionKernel, ops.ConvolutionBackward: convolutionBackKernel}
}

// geometry is one convolution, seen from the image that is cut in windows.
type geometry struct {
	channels              int   // of one group
	image, kernel, window []int // sizes: image, kernel, and number of windows
	stride, pad, dilation []int
}

func (g *geometry) rows() int { return g.channels * product(g.kernel) }

func (g *geometry) cols() int { return product(g.window) }

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
		eachIndex(g.kernel, func(kx []int) {
			row := c*product(g.kernel) + k
			k++
			col := 0
			eachIndex(outer, func(ox []int) {
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
func columns[T number](dst, x []T, g *geometry) {
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
func uncolumns[T number](x, src []T, g *geometry) {
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

// convCall is the arguments of a convolution in one compute type.
type convCall struct {
	x, w                       *Tensor
	stride, pad, dilation      []int
	transposed                 bool
	groups, batch, inCh, outCh int
	inSize, outSize, kernel    []int
	inPer, outPer              int   // channels of one group
	half                       DType // of the tensors, before they were widened
}

func newConvCall(k *kernelCall, xi int, d DType, outShape []int) *convCall {
	// The weight follows the input; the backward operator has no bias.
	x, w := dense(k.in(xi), d), dense(k.in(xi+1), d)
	base := xi + 2
	if xi == 0 {
		base = 3
	}
	c := &convCall{
		x: x, w: w, stride: k.nums(base), pad: k.nums(base + 1), dilation: k.nums(base + 2),
		transposed: k.Bool(base + 3), groups: k.num(base + 5),
		batch: x.shape[0], inCh: x.shape[1], outCh: outShape[1], inSize: x.shape[2:], outSize: outShape[2:], kernel: w.shape[2:],
	}
	c.inPer, c.outPer = c.inCh/c.groups, c.outCh/c.groups
	c.half = k.in(xi).dtype
	return c
}

// geometry of the side that is cut in windows: the input, or the output of a
// transposed convolution.
func (c *convCall) geometry() *geometry {
	g := &geometry{channels: c.inPer, image: c.inSize, kernel: c.kernel, window: c.outSize, stride: c.stride, pad: c.pad, dilation: c.dilation}
	if c.transposed {
		g.channels, g.image, g.window = c.outPer, c.outSize, c.inSize
	}
	return g
}

func computeType(d DType) DType {
	if d.IsFloat() {
		return ops.OpMath(d)
	}
	return ops.Int64
}

func convolutionKernel(k *kernelCall) {
	out := k.out()
	d := computeType(out.dtype)
	c := newConvCall(k, 0, d, out.shape)
	res := out
	if out.dtype != d || !out.IsContiguous() {
		res = newTensor(d, out.shape)
	}
	switch d {
	case ops.Float32:
		if c.implicit() {
			convImplicit(c, slice[float32](res))
		} else {
			convForward(c, slice[float32](res), gemm32)
		}
	case ops.Float64:
		convForward(c, slice[float64](res), gemmPlain[float64])
	default:
		convForward(c, slice[int64](res), gemmPlain[int64])
	}
	if c.transposed && out.dtype != d && d == ops.Float32 { // the bias is added to what was rounded
		copyInto(out, res)
		copyInto(res, out)
	}
	if b := k.in(2); b != nil && res.Numel() > 0 {
		shape := make([]int, len(res.shape))
		stride := make([]int, len(res.shape))
		for i := range shape {
			shape[i] = 1
		}
		shape[1], stride[1] = b.shape[0], b.stride[0]
		bias := FromStorage(b.storage, b.dtype, shape, stride, b.offset)
		writeInPlace(&ops.Call{Op: ops.Get(ops.Add), Args: []ops.Arg{res, bias, oneArg}}, res)
	}
	if res != out {
		copyInto(out, res)
	}
}

func rowMajor[T any](data []T, cols int) matrix[T] { return matrix[T]{data: data, rs: cols, cs: 1} }

func turned[T any](m matrix[T]) matrix[T] { return matrix[T]{data: m.data, rs: m.cs, cs: m.rs} }

// eachGroup calls f for every image and group.
func (c *convCall) eachGroup(f func(n, g int)) {
	for n := range c.batch {
		for g := range c.groups {
			f(n, g)
		}
	}
}

func convForward[T number](c *convCall, out []T, gemm gemmFunc[T]) {
	if len(out) == 0 {
		return
	}
	x, w := slice[T](c.x), slice[T](c.w)
	g := c.geometry()
	rows, cols := g.rows(), g.cols()
	in, to := c.inPer*product(c.inSize), c.outPer*product(c.outSize)
	buf := make([]T, rows*cols)
	threads := parallel.Threads()
	clear(out)
	c.eachGroup(func(n, i int) {
		src := x[(n*c.groups+i)*in:][:in]
		dst := out[(n*c.groups+i)*to:][:to]
		if c.transposed {
			// columns of the output = W^T x
			wg := rowMajor(w[i*c.inPer*rows:][:c.inPer*rows], rows)
			gemm(buf, cols, turned(wg), rowMajor(src, cols), rows, cols, c.inPer, threads)
			putBack(c, dst, buf, g)
			return
		}
		columns(buf, src, g)
		wg := rowMajor(w[i*c.outPer*rows:][:c.outPer*rows], rows)
		gemm(dst, cols, wg, rowMajor(buf, cols), c.outPer, cols, rows, threads)
	})
}

func convolutionBackKernel(k *kernelCall) {
	d := ops.OpMath(k.outs[0].dtype)
	grad := dense(k.in(0), d)
	c := newConvCall(k, 1, d, grad.shape)
	mask := k.Args[9].([]bool)
	gx, gw := k.outs[0], k.outs[1]
	x, w := gx, gw
	if gx.dtype != d || !gx.IsContiguous() {
		x = newTensor(d, gx.shape)
	}
	if gw.dtype != d || !gw.IsContiguous() {
		w = newTensor(d, gw.shape)
	}
	switch {
	case d == ops.Float64:
		convBackward(c, slice[float64](grad), slice[float64](x), slice[float64](w), mask, gemmPlain[float64])
	case c.implicit() && grad.Numel() > 0:
		convBackward32(c, slice[float32](grad), slice[float32](x), slice[float32](w), mask)
	default:
		convBackward(c, slice[float32](grad), slice[float32](x), slice[float32](w), mask, gemm32)
	}
	if x != gx {
		copyInto(gx, x)
	}
	if w != gw {
		copyInto(gw, w)
	}
}

// convBackward32 takes the ways of planes where there is one.
func convBackward32(c *convCall, grad, gx, gw []float32, mask []bool) {
	switch {
	case !mask[0]:
		clear(gx)
	case c.gradIsConvolution():
		c.gradInput(grad, gx)
	default:
		convBackward(c, grad, gx, gw, []bool{true, false, false}, gemm32)
	}
	if mask[1] {
		c.gradWeight(grad, gw)
	} else {
		clear(gw)
	}
}

func convBackward[T number](c *convCall, grad, gx, gw []T, mask []bool, gemm gemmFunc[T]) {
	clear(gx)
	clear(gw)
	if len(grad) == 0 {
		return
	}
	x, w := slice[T](c.x), slice[T](c.w)
	g := c.geometry()
	rows, cols := g.rows(), g.cols()
	in, to := c.inPer*product(c.inSize), c.outPer*product(c.outSize)
	buf := make([]T, rows*cols)
	threads := parallel.Threads()
	per := c.outPer // rows of the weight of one group
	if c.transposed {
		per = c.inPer
	}
	part := make([]T, per*rows)
	c.eachGroup(func(n, i int) {
		src, gs := x[(n*c.groups+i)*in:][:in], grad[(n*c.groups+i)*to:][:to]
		wg := rowMajor(w[i*per*rows:][:per*rows], rows)
		// small is the side of the windows, image the side that is cut.
		small, image := gs, src
		if c.transposed {
			small, image = src, gs
		}
		if mask[0] && c.transposed {
			columns(buf, gs, g)
			gemm(gx[(n*c.groups+i)*in:][:in], cols, wg, rowMajor(buf, cols), per, cols, rows, threads)
		} else if mask[0] {
			gemm(buf, cols, turned(wg), rowMajor(gs, cols), rows, cols, per, threads)
			putBack(c, gx[(n*c.groups+i)*in:][:in], buf, g)
		}
		if mask[1] {
			columns(buf, image, g)
			gemm(part, rows, rowMajor(small, cols), turned(rowMajor(buf, cols)), per, rows, cols, threads)
			dst := gw[i*per*rows:][:per*rows]
			for j, v := range part {
				dst[j] += v
			}
		}
	})
}
