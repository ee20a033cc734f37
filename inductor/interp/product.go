package interp

import (
	"unsafe"

	"tcdbg/inductor/ir"
	"tcdbg/inductor/sched"
	"tcdbg/ops"
)

// This file runs templates: a product row by row, then its epilogue.

// withImage is the memory of a call with that of an image which only one kernel sees.
type withImage struct {
	Env
	image *ir.Buffer
	data  []float32
}

// Pointer is where the first element of a buffer's memory lies.
func (e *withImage) Pointer(b *ir.Buffer) unsafe.Pointer {
	if b == e.image {
		return unsafe.Pointer(unsafe.SliceData(e.data))
	}
	return e.Env.Pointer(b)
}

// imageBefore makes the image of a template as a whole.
func imageBefore(k *sched.Kernel, env Env) Env {
	image := k.Steps[0].Node.MM.A
	with := &withImage{env, image, make([]float32, env.Eval(image.Span()))}
	newKernel(with, k.Before).run()
	return with
}

// product computes a template: the product row by row, then its epilogue.
func (p *kernel) product() {
	n := p.k.Steps[0].Node
	mm := n.MM
	nb := len(n.Outer) - 2
	outer := p.ints(n.Outer)
	rows, cols, depth := outer[nb], outer[nb+1], p.eval(mm.K)
	ai, bi := p.ints(mm.AIdx.Coef), p.ints(mm.BIdx.Coef)
	aOff, bOff := p.eval(mm.AIdx.Off), p.eval(mm.BIdx.Off)
	a, b := p.elements(mm.A), p.elements(mm.B)
	batch := make([]int, nb)
	line := make([]float32, cols)
	linear := 0
	for cols > 0 && rows > 0 {
		for m := range rows {
			ra, rb := aOff+m*ai[nb], bOff
			for d, x := range batch {
				ra += x * ai[d]
				rb += x * bi[d]
			}
			switch {
			case mm.Conv != nil && mm.Conv.Lanes > 1:
				w := block{operand{b, rb, bi[nb+2]}, bi[nb+1], batch[nb-1] * int(mm.Conv.Lanes)}
				pixelRow(line, operand{a, ra - m*ai[nb], ai[nb+1]}, m, w, depth, mm.Conv)
			case mm.Grad != nil:
				gradRow(line, operand{a, ra, ai[nb+2]}, operand{b, rb, 1}, depth, mm.Grad)
			case mm.Conv != nil:
				convRow(line, operand{a, ra, ai[nb+2]}, operand{b, rb, 1}, depth, mm.Conv)
			default:
				productRow(line, operand{a, ra, ai[nb+2]}, operand{b, rb, bi[nb+2]}, depth, bi[nb+1])
			}
			p.epilogue(linear*rows+m, line)
		}
		linear++
		if !next(batch, outer) {
			return
		}
	}
}

// operand is numbers in memory: where they begin, the first that is meant and the
// step from one to the next. Only what is read has an address: the first one of a
// padded window may lie before the memory.
type operand struct {
	elements
	first, step int
}

// elements are what an operand's memory holds.
type elements struct {
	base unsafe.Pointer
	size int
	half func(uint16) float32 // of half precision
}

func (p *kernel) elements(b *ir.Buffer) elements {
	n := elements{base: p.env.Pointer(b), size: b.DType.Size()}
	switch b.DType {
	case ops.Float16:
		n.half = ops.HalfToFloat
	case ops.BFloat16:
		n.half = ops.BFloatToFloat
	}
	return n
}

// at is the k-th number, shifted by so many others.
func (o operand) at(k, shift int) float32 {
	at := unsafe.Add(o.base, o.size*(o.first+k*o.step+shift))
	if o.half != nil {
		return o.half(*(*uint16)(at))
	}
	return *(*float32)(at)
}

func productRow(out []float32, a, b operand, depth, bcol int) {
	clear(out)
	for k := range depth {
		x := a.at(k, 0)
		for c := range out {
			out[c] += float32(x * b.at(k, c*bcol))
		}
	}
}

// convRow is one output channel of a convolution, its columns gathered from the
// image.
func convRow(out []float32, a, image operand, depth int, c *ir.ConvInfo) {
	clear(out)
	for k := range depth {
		x := a.at(k, int(c.Filter(int64(k))))
		for n := range out {
			if at, inside := c.At(int64(k), int64(n)); inside {
				out[n] += float32(x * image.at(int(at), 0))
			}
		}
	}
}

// gradRow is one channel's row of the gradient of a convolution's weight.
func gradRow(out []float32, dy, image operand, depth int, g *ir.GradInfo) {
	clear(out)
	for k := range depth {
		of, pixel := int64(k)/g.Pixels, int64(k)%g.Pixels
		x := dy.at(int(pixel), int(of*g.NextA))
		for n := range out {
			if at, inside := g.At(int64(n), pixel); inside {
				out[n] += float32(x * image.at(0, int(of*g.NextB+at)))
			}
		}
	}
}

// block is a weight for channels side by side: its numbers along k, the step from
// channel to channel, and which channel is the first.
type block struct {
	operand
	channel, first int
}

// pixelRow is one pixel of a convolution whose result has channels side by side; the image
// has a step between them where each has its own.
func pixelRow(out []float32, image operand, pixel int, w block, depth int, c *ir.ConvInfo) {
	clear(out)
	for k := range depth {
		at, inside := c.At(int64(k), int64(pixel))
		for o := range out {
			if c.GroupOut > 0 {
				at, inside = c.Seen(int64(k), int64(pixel), int64(w.first+o))
			}
			if inside {
				out[o] += float32(image.at(o, int(at)) * w.at(k, o*w.channel+int(c.Filter(int64(k)))))
			}
		}
	}
}

// epilogue runs the pointwise items on one row of the product.
func (p *kernel) epilogue(row int, line []float32) {
	st := &p.k.Steps[0]
	for k := p.k.Vec - 1; k >= 0; k-- {
		p.at[k] = row % p.size[k]
		row /= p.size[k]
	}
	out := st.Node.MM.Out
	store := value{Value: &ir.Value{Op: ir.Store, DType: out.DType, Buf: out}, off: p.eval(st.Out.Off), coef: p.ints(st.Out.Coef)}
	for c := 0; c < len(line); c += tileSize {
		n := min(tileSize, len(line)-c)
		p.at[p.k.Vec] = c
		clear(p.regs)
		p.store(&store, vec{f32: line[c : c+n]}, n)
		for i := range p.k.Steps[1:] {
			for j := range p.steps[i+1] {
				p.value(i+1, j, n)
			}
		}
	}
}
