package conv

import (
	"sync"

	"tcdbg/torch/internal/gemm"
	"tcdbg/torch/internal/memory"
	"tcdbg/torch/internal/parallel"
	"tcdbg/torch/internal/simd"
)

// This file is convolution over one or two dimensions as a matrix product whose
// right operand, the windows, is never written down: a sliver of it is packed
// straight from planes, the input with its padding around it. With a stride
// above one there is a plane for each remainder of the position, so that what
// neighbouring windows see of one kernel position are neighbours in memory.

// imagePlanes is a batch of images laid out for windows.
type imagePlanes struct {
	data          []float32
	image         int // elements from one image of the batch to the next
	channel       int // from one channel to the next
	phase         int // from one plane of a channel to the next
	height, pitch int // rows of a plane, elements of a row
	room          memory.Room
}

// shape2d is what a convolution is in two dimensions; one is a row of them.
type shape2d struct {
	in, out, kernel, stride, pad, dilation [2]int
}

func (c *Call) shape2d() shape2d {
	two := func(s []int, missing int) [2]int {
		if len(s) == 1 {
			return [2]int{missing, s[0]}
		}
		return [2]int{s[0], s[1]}
	}
	return shape2d{two(c.InSize, 1), two(c.OutSize, 1), two(c.Kernel, 1), two(c.Stride, 1), two(c.Pad, 0), two(c.Dilation, 1)}
}

// Implicit reports whether the convolution runs on planes.
func (c *Call) Implicit() bool { return len(c.InSize) <= 2 && !c.Transposed }

// layPlanes lays out a batch of images of so many channels.
func layPlanes(x []float32, s shape2d, batch, channels, threads int) *imagePlanes {
	area := s.in[0] * s.in[1]
	if s.pad == [2]int{} && s.stride == [2]int{1, 1} {
		return &imagePlanes{data: x, image: channels * area, channel: area, height: s.in[0], pitch: s.in[1]}
	}
	reach := func(d int) int { // positions that any window sees
		return (s.out[d]-1)*s.stride[d] + (s.kernel[d]-1)*s.dilation[d] + 1
	}
	p := &imagePlanes{
		height: (reach(0) + s.stride[0] - 1) / s.stride[0],
		pitch:  (reach(1) + s.stride[1] - 1) / s.stride[1],
	}
	p.phase = p.height * p.pitch
	p.channel = p.phase * s.stride[0] * s.stride[1]
	p.image = p.channel * channels
	p.room = memory.Borrow(p.image * batch)
	p.data = p.room.Floats
	parallel.Each(threads, batch*channels, func(i int) {
		layChannel(p.data[i*p.channel:][:p.channel], x[i*area:][:area], s, p)
	})
	return p
}

// sees reports whether any place of the kernel has this remainder of the stride.
func (s *shape2d) sees(d, remainder int) bool {
	for k := range s.kernel[d] {
		if k*s.dilation[d]%s.stride[d] == remainder {
			return true
		}
	}
	return false
}

// layChannel lays out one channel.
func layChannel(dst, src []float32, s shape2d, p *imagePlanes) {
	h, w, l := s.in[0], s.in[1], simd.Active()
	for py := range s.stride[0] {
		for px := range s.stride[1] {
			if !s.sees(0, py) || !s.sees(1, px) {
				continue // what is there is never read
			}
			plane := dst[(py*s.stride[1]+px)*p.phase:][:p.phase]
			for y := range p.height {
				row := plane[y*p.pitch:][:p.pitch]
				from := y*s.stride[0] + py - s.pad[0]
				if from < 0 || from >= h {
					clear(row)
					continue
				}
				layRow(l, row, src[from*w:][:w], px-s.pad[1], s.stride[1])
			}
		}
	}
}

// layRow writes every step-th element of src from element at on, zeros where
// there is none.
func layRow(l simd.Level, row, src []float32, at, step int) {
	before := min(max((-at+step-1)/step, 0), len(row))
	end := min(max((len(src)-at+step-1)/step, before), len(row))
	clear(row[:before])
	clear(row[end:])
	switch {
	case before == end:
	case step == 1:
		copy(row[before:end], src[at+before:])
	case step == 2:
		l.Second(row[before:end], src[at+2*before:])
	default:
		for i := before; i < end; i++ {
			row[i] = src[at+i*step]
		}
	}
}

func (p *imagePlanes) giveBack() {
	if !p.room.None() {
		p.room.GiveBack()
	}
}

// offsets are the places of kernel positions, channel by channel, in bytes.
func (p *imagePlanes) offsets(s shape2d, channels int) []int {
	out := make([]int, 0, channels*s.kernel[0]*s.kernel[1])
	for c := range channels {
		for ky := range s.kernel[0] {
			for kx := range s.kernel[1] {
				dy, dx := ky*s.dilation[0], kx*s.dilation[1]
				phase := dy%s.stride[0]*s.stride[1] + dx%s.stride[1]
				out = append(out, 4*(c*p.channel+phase*p.phase+dy/s.stride[0]*p.pitch+dx/s.stride[1]))
			}
		}
	}
	return out
}

// windowPanel is the windows of a batch of images: the step is the kernel
// position, the lane the window.
type windowPanel struct {
	p      *imagePlanes
	first  int // the first channel's place in an image
	offs   []int
	height int // windows of an image
	width  int
}

// maxRuns bounds the runs of a sliver: at worst each lane is one.
const maxRuns = simd.MaxCols

var runPool = sync.Pool{New: func() any { return new([maxRuns]simd.Run) }}

func (w *windowPanel) Pack(l simd.Level, dst []float32, at, n, p0, k, width int) {
	room := runPool.Get().(*[maxRuns]simd.Run)
	runs := w.runs(room[:0], at, n)
	l.PackRuns(&dst[0], &w.p.data[w.first], w.offs[p0:p0+k], width, runs)
	runPool.Put(room)
}

// Fetch does nothing: what neighbouring steps see overlaps, and stays near.
func (w *windowPanel) Fetch(simd.Level, int, int, int, int) {}

// runs appends where windows at to at+n are, joined where they are
// neighbours.
func (w *windowPanel) runs(runs []simd.Run, at, n int) []simd.Run {
	area, first := w.height*w.width, len(runs)
	for done := 0; done < n; {
		j := at + done
		x := j % w.width
		count := min(w.width-x, n-done)
		from := 4 * (j/area*w.p.image + j%area/w.width*w.p.pitch + x)
		if i := len(runs) - 1; i >= first && runs[i].From+4*runs[i].Len == from {
			runs[i].Len += count
		} else {
			runs = append(runs, simd.Run{To: 4 * done, From: from, Len: count})
		}
		done += count
	}
	return runs
}

// Planes is the convolution of x with weights.
func Planes(c *Call, x, weights, out []float32) {
	if len(out) > 0 && c.winogradPays() && winograd(c, x, weights, out) {
		return
	}
	windows(c, x, weights, out)
}

// windows is Planes as one product of weights and windows.
func windows(c *Call, x, weights, out []float32) {
	s := c.shape2d()
	rows := c.InPer * s.kernel[0] * s.kernel[1]
	if len(out) == 0 || rows == 0 {
		clear(out)
		return
	}
	threads := parallel.Threads()
	p := layPlanes(x, s, c.Batch, c.InCh, threads)
	defer p.giveBack()
	offs := p.offsets(s, c.InPer)
	pix := s.out[0] * s.out[1]
	c.eachGroupOn(threads, func(g, threads int) {
		to := gemm.Target{Data: out[g*c.OutPer*pix:], LD: pix, Cols: pix, Jump: c.OutCh * pix}
		filters := gemm.Lanes{Data: weights[g*c.OutPer*rows:][:c.OutPer*rows], Lane: rows, Step: 1}
		windows := &windowPanel{p, g * c.InPer * p.channel, offs, s.out[0], s.out[1]}
		if transposedPays(c.OutPer, c.Batch, pix, rows) {
			productTransposed(to, filters, windows, c.OutPer, c.Batch*pix, rows, threads)
		} else {
			gemm.Panels(to, filters, windows, c.OutPer, c.Batch*pix, rows, threads)
		}
	})
}

// eachGroupOn calls f for every group: few of them one after the other on all
// threads, many of them side by side.
func (c *Call) eachGroupOn(threads int, f func(g, threads int)) {
	if c.Groups < threads {
		for g := range c.Groups {
			f(g, threads)
		}
		return
	}
	parallel.Each(threads, c.Groups, func(g int) { f(g, 1) })
}
