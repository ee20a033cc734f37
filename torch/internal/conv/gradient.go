package conv

import (
	"tcdbg/torch/internal/gemm"
	"tcdbg/torch/internal/memory"
	"tcdbg/torch/internal/parallel"
	"tcdbg/torch/internal/simd"
	"tcdbg/torch/internal/strided"
)

// This file is the gradients of a convolution on planes: that of the input is a
// convolution too, that of the weight a product whose right operand is the
// windows, transposed.

// gradIsConvolution reports whether the gradient of the input is a convolution
// of the result's gradient with the flipped weight: at stride one, unless more
// is padded than any window reaches.
func (c *Call) gradIsConvolution() bool {
	if c.Half { // each window rounds: see half.go
		return false
	}
	for d, k := range c.Kernel {
		if c.Stride[d] != 1 || c.Pad[d] > (k-1)*c.Dilation[d] {
			return false
		}
	}
	return c.Implicit()
}

// gradInput computes the gradient of the input.
func (c *Call) gradInput(w, grad, gx []float32) {
	pad := make([]int, len(c.Pad))
	for d, k := range c.Kernel {
		pad[d] = (k-1)*c.Dilation[d] - c.Pad[d]
	}
	back := &Call{
		Stride: c.Stride, Pad: pad, Dilation: c.Dilation, Groups: c.Groups, Batch: c.Batch,
		InCh: c.OutCh, OutCh: c.InCh, InPer: c.OutPer, OutPer: c.InPer, InSize: c.OutSize, OutSize: c.InSize, Kernel: c.Kernel,
	}
	weight := memory.Borrow(len(w))
	defer weight.GiveBack()
	c.flipWeight(w, weight.Floats)
	Planes(back, grad, weight.Floats, gx)
}

// flipWeight writes the weight with input and output channels of each group
// exchanged and every kernel read backwards. Some channels at a time, so that what is
// read and what is written stay in the cache.
func (c *Call) flipWeight(w, out []float32) {
	const block = 16
	area, ins := strided.Product(c.Kernel), (c.InPer+block-1)/block
	parallel.For(c.Groups*ins, len(w), func(from, to int) {
		for i := from; i < to; i++ {
			g, first := i/ins, i%ins*block
			for o := range c.OutPer {
				for in := first; in < min(first+block, c.InPer); in++ {
					src := w[((g*c.OutPer+o)*c.InPer+in)*area:][:area]
					dst := out[((g*c.InPer+in)*c.OutPer+o)*area:][:area]
					readBackwards(dst, src)
				}
			}
		}
	})
}

// readBackwards copies a kernel from its end; most have nine numbers.
func readBackwards(dst, src []float32) {
	if len(src) == 9 {
		d, s := (*[9]float32)(dst), (*[9]float32)(src)
		d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7], d[8] = s[8], s[7], s[6], s[5], s[4], s[3], s[2], s[1], s[0]
		return
	}
	for j, v := range src {
		dst[len(src)-1-j] = v
	}
}

// gradWeight computes the gradient of the weight.
func (c *Call) gradWeight(x, grad, gw []float32) {
	s := c.shape2d()
	threads := parallel.Threads()
	p := layPlanes(x, s, c.Batch, c.InCh, threads)
	defer p.giveBack()
	offs := p.offsets(s, c.InPer)
	pix, rows := s.out[0]*s.out[1], len(offs)
	c.eachGroupOn(threads, func(g, threads int) {
		left := &imageLanes{grad[g*c.OutPer*pix:], pix, c.OutCh * pix}
		right := &transposedWindows{windowPanel{p, g * c.InPer * p.channel, offs, s.out[0], s.out[1]}}
		to := gemm.Target{Data: gw[g*c.OutPer*rows:], LD: rows, Cols: rows, Jump: 0}
		gemm.Panels(to, left, right, c.OutPer, rows, c.Batch*pix, threads)
	})
}

// imageLanes is a batch of images: the lane is the channel, the step the place
// in it, image after image.
type imageLanes struct {
	data      []float32
	pix, jump int // places of an image, elements from image to image
}

func (w *imageLanes) Pack(l simd.Level, dst []float32, at, n, p0, k, width int) {
	for done := 0; done < k; {
		image, place := (p0+done)/w.pix, (p0+done)%w.pix
		count := min(w.pix-place, k-done)
		l.Pack(&dst[done*width], &w.data[image*w.jump+at*w.pix+place], w.pix*4, 4, count, n, width)
		done += count
	}
}

func (w *imageLanes) Fetch(simd.Level, int, int, int, int) {}

// transposedWindows is windowPanel with lanes and steps exchanged.
type transposedWindows struct{ windowPanel }

func (w *transposedWindows) Pack(l simd.Level, dst []float32, at, n, p0, k, width int) {
	room := memory.Borrow(n * k)
	defer room.GiveBack()
	var runs []simd.Run
	for done := 0; done < k; done += simd.MaxRun {
		first := len(runs)
		runs = w.runs(runs, p0+done, min(simd.MaxRun, k-done))
		for i := first; i < len(runs); i++ {
			runs[i].To += 4 * done
		}
	}
	l.PackRuns(&room.Floats[0], &w.p.data[w.first], w.offs[at:at+n], k, runs)
	l.Pack(&dst[0], &room.Floats[0], k*4, 4, k, n, width)
}
