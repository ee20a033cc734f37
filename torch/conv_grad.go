package torch

import (
	"tcdbg/torch/internal/memory"
	"tcdbg/torch/internal/parallel"
	"tcdbg/torch/internal/simd"
)

// This file is the gradients of a convolution on planes: that of the input is a
// convolution too, that of the weight a product whose right operand is the
// windows, turned.

// gradIsConvolution reports whether the gradient of the input is a convolution
// of the result's gradient with the turned weight: at stride one, unless more
// is padded than any window reaches.
func (c *convCall) gradIsConvolution() bool {
	if c.half.Size() == 2 { // each window rounds: see halfconv.go
		return false
	}
	for d, k := range c.kernel {
		if c.stride[d] != 1 || c.pad[d] > (k-1)*c.dilation[d] {
			return false
		}
	}
	return c.implicit()
}

// gradInput computes the gradient of the input.
func (c *convCall) gradInput(grad, gx []float32) {
	pad := make([]int, len(c.pad))
	for d, k := range c.kernel {
		pad[d] = (k-1)*c.dilation[d] - c.pad[d]
	}
	back := &convCall{
		stride: c.stride, pad: pad, dilation: c.dilation, groups: c.groups, batch: c.batch,
		inCh: c.outCh, outCh: c.inCh, inPer: c.outPer, outPer: c.inPer, inSize: c.outSize, outSize: c.inSize, kernel: c.kernel, half: c.half,
	}
	weight := memory.Borrow(c.w.Numel())
	defer weight.GiveBack()
	c.turnWeight(weight.Floats)
	convPlanes(back, grad, weight.Floats, gx)
}

// turnWeight writes the weight with input and output channels of each group
// exchanged and every kernel read backwards. Some channels at a time, so that what is
// read and what is written stay in the cache.
func (c *convCall) turnWeight(out []float32) {
	const block = 16
	w := slice[float32](c.w)
	area, ins := product(c.kernel), (c.inPer+block-1)/block
	parallel.For(c.groups*ins, len(w), func(from, to int) {
		for i := from; i < to; i++ {
			g, first := i/ins, i%ins*block
			for o := range c.outPer {
				for in := first; in < min(first+block, c.inPer); in++ {
					src := w[((g*c.outPer+o)*c.inPer+in)*area:][:area]
					dst := out[((g*c.inPer+in)*c.outPer+o)*area:][:area]
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
func (c *convCall) gradWeight(grad, gw []float32) {
	s := c.shape2d()
	threads := parallel.Threads()
	p := layPlanes(slice[float32](c.x), s, c.batch, c.inCh, threads)
	defer p.giveBack()
	offs := p.offsets(s, c.inPer)
	pix, rows := s.out[0]*s.out[1], len(offs)
	c.eachGroupOn(threads, func(g, threads int) {
		left := &imageLanes{grad[g*c.outPer*pix:], pix, c.outCh * pix}
		right := &turnedWindows{windowPanel{p, g * c.inPer * p.channel, offs, s.out[0], s.out[1]}}
		to := target{gw[g*c.outPer*rows:], rows, rows, 0}
		gemmPanels(to, left, right, c.outPer, rows, c.batch*pix, threads)
	})
}

// imageLanes is a batch of images: the lane is the channel, the step the place
// in it, image after image.
type imageLanes struct {
	data      []float32
	pix, jump int // places of an image, elements from image to image
}

func (w *imageLanes) pack(l simd.Level, dst []float32, at, n, p0, k, width int) {
	for done := 0; done < k; {
		image, place := (p0+done)/w.pix, (p0+done)%w.pix
		count := min(w.pix-place, k-done)
		l.Pack(&dst[done*width], &w.data[image*w.jump+at*w.pix+place], w.pix*4, 4, count, n, width)
		done += count
	}
}

func (w *imageLanes) fetch(simd.Level, int, int, int, int) {}

// turnedWindows is windowPanel with lanes and steps exchanged.
type turnedWindows struct{ windowPanel }

func (w *turnedWindows) pack(l simd.Level, dst []float32, at, n, p0, k, width int) {
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
