package lower

import (
	"tcdbg/inductor/ir"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file lowers the gradients of convolutions of one group and two dimensions to
// products. The weight's gradient is a product over all positions p of all images:
//
//	dW[oc, (ic, kh, kw)] = sum over p of dY[oc, p] * X[(ic, kh, kw), p]
//
// and the input's gradient is a convolution of dY with the weight turned around; of one that
// moves by s there are s*s, each with every s-th tap, whose results lie between each other.

// reasonGroups is for what has no product: each group's is too small for the template.
const reasonGroups ir.Reason = "a gradient of a convolution in groups or transposed has no template"

// convGrad is a convolution of two dimensions whose gradients are wanted.
type convGrad struct {
	c        *call
	dy, x, w *tensor
	ws       []slide // of height and width
}

// convolutionBack lowers the gradients that output_mask asks for.
func convolutionBack(c *call) error {
	g, why := readConvGrad(c)
	if why != "" {
		return c.extern(why)
	}
	wanted := [2]bool{true, true}
	if mask, ok := c.arg("output_mask").([]bool); ok {
		copy(wanted[:], mask)
	}
	results := make([]*tensor, 2)
	for i, r := range c.n.Meta.([]ops.Result) {
		if !wanted[i] {
			continue
		}
		m := r.(*ops.TensorMeta)
		out := &tensor{buf: c.l.newBuffer(m.DType, m.Shape, m.Stride), dtype: m.DType, shape: m.Shape, stride: m.Stride}
		if i == 0 {
			g.ofInput(out)
		} else {
			g.ofWeight(out)
		}
		results[i] = out
	}
	c.l.multi[c.n] = results
	return nil
}

// readConvGrad reads the call; a reason where the template does not cover it.
func readConvGrad(c *call) (*convGrad, ir.Reason) {
	g := &convGrad{c: c, dy: c.namedTensor("grad_output"), x: c.namedTensor("input"), w: c.namedTensor("weight")}
	if g.x.dtype != ops.Float32 {
		return nil, ir.ReasonDType
	}
	if groups, ok := c.arg("groups").(sym.Int); !ok || !sym.Is(groups, 1) || c.flag("transposed") {
		return nil, reasonGroups
	}
	if len(g.x.shape) != 4 {
		return nil, ir.ReasonArgs
	}
	list := func(name string) []sym.Int {
		xs, _ := c.convInts(name, 2)
		out := make([]sym.Int, len(xs))
		for i, x := range xs {
			out[i] = sym.Const(x)
		}
		return out
	}
	step, pad, dil := list("stride"), list("padding"), list("dilation")
	_, known := statics(append(append([]sym.Int{}, g.x.shape[1:]...), g.w.shape...))
	if len(step) != 2 || len(pad) != 2 || len(dil) != 2 || !known {
		return nil, ir.ReasonArgs
	}
	ws, ok := slidesOf(g.x.shape, g.dy.shape, g.w.shape[2:], step, pad, dil)
	if !ok || sym.Is(sym.Product(g.dy.shape), 0) || sym.Is(sym.Product(g.w.shape), 0) {
		return nil, ir.ReasonArgs
	}
	for _, w := range ws {
		// the turned convolution of what was padded by more than it reaches would crop
		if w.dilation > 1 && w.step > 1 || w.before > w.dilation*(w.taps-1) {
			return nil, ir.ReasonArgs
		}
	}
	g.ws = ws
	return g, ""
}

// ofWeight is the sum over all pixels of all images, in the template for it.
func (g *convGrad) ofWeight(out *tensor) {
	c, n := g.c, sym.Const
	if stride := ops.ContiguousStrides(out.shape); !sym.AllSame(out.stride, stride) {
		whole := &tensor{buf: c.l.newBuffer(out.dtype, out.shape, stride), dtype: out.dtype, shape: out.shape, stride: stride}
		g.ofWeight(whole)
		c.fill(out, whole)
		return
	}
	dy, x := g.plain(g.dy, true), g.plain(g.x, false)
	h, w := g.ws[0], g.ws[1]
	size, _ := statics(x.shape[1:])
	stride, _ := statics(x.stride)
	next, _ := statics(dy.stride[:1])
	pixels := h.out * w.out
	rows, cols := g.w.shape[0], sym.Mul(g.w.shape[1], n(h.taps*w.taps))
	node := c.l.newNode(ir.Matmul, []sym.Int{rows, cols}, nil)
	node.MM = &ir.MatmulInfo{
		A: dy.buf, B: x.buf, Out: out.buf, K: sym.Mul(x.shape[0], n(pixels)),
		AIdx:   ir.Index{Off: dy.off, Coef: []sym.Int{dy.stride[1], n(0), n(1)}},
		BIdx:   ir.Index{Off: x.off, Coef: []sym.Int{n(0), n(0), n(0)}},
		OutIdx: ir.Index{Off: out.off, Coef: []sym.Int{cols, n(1)}},
		Grad: &ir.GradInfo{Pixels: pixels, NextA: next[0], NextB: stride[0], ConvInfo: ir.ConvInfo{
			Height: size[1], Width: size[2], ChanStride: stride[1], RowStride: stride[2], Stride: stride[3],
			KH: h.taps, KW: w.taps, StepH: h.step, StepW: w.step, PadH: h.before, PadW: w.before,
			DilH: h.dilation, DilW: w.dilation, OutW: w.out, Block: 1, Lanes: 1,
		}},
	}
}

// plain is t, or a copy of it where its strides are not known, or its pixels do not follow one another and are to,
// as in a gradient that is one number for many of them.
func (g *convGrad) plain(t *tensor, runs bool) *tensor {
	r := g.c.real(t)
	_, known := statics(r.stride)
	if known && (!runs || sym.AllSame(r.stride[2:], ops.ContiguousStrides(r.shape[2:]))) {
		return r
	}
	return g.c.temp(t.shape, t.dtype, func(b *body) int { return b.load(t) })
}

// permuted is t with its dimensions in another order.
func permuted(t *tensor, order ...int) *tensor {
	v := *t
	v.shape, v.stride = make([]sym.Int, len(order)), make([]sym.Int, len(order))
	for i, d := range order {
		v.shape[i], v.stride[i] = t.shape[d], t.stride[d]
	}
	return &v
}

// ofInput is one convolution of dY for each phase of the input's positions.
func (g *convGrad) ofInput(out *tensor) {
	h, w := g.ws[0], g.ws[1]
	if h.step == 1 && w.step == 1 {
		g.phase(out, h.phase(0), w.phase(0))
		return
	}
	for a := range h.step {
		for b := range w.step {
			ph, pw := h.phase(a), w.phase(b)
			if ph.count == 0 || pw.count == 0 {
				continue
			}
			part := out.part(2, span{sym.Const(a), sym.Const(ph.count), sym.Const(h.step)})
			part = part.part(3, span{sym.Const(b), sym.Const(pw.count), sym.Const(w.step)})
			if ph.taps == 0 || pw.taps == 0 {
				g.c.fillNumber(part, 0)
				continue
			}
			shape := part.shape
			stride := ops.ContiguousStrides(shape)
			whole := &tensor{buf: g.c.l.newBuffer(out.dtype, shape, stride), dtype: out.dtype, shape: shape, stride: stride}
			g.phase(whole, ph, pw)
			g.c.fill(part, whole)
		}
	}
}

// phase is every step-th position of the input along one dimension, from its first on.
type phase struct {
	count       int64 // positions
	taps, first int64 // taps that reach them: first, first + step, ...
	step        int64
	start       int64 // of dY, where no padding is needed
	before      int64 // padding of dY
	dilation    int64
}

// phase a of a window: input position step*i + a takes from tap k = first + step*t what lies
// at i + (a + before - first)/step - t of dY, so that the taps are walked from the last.
func (w slide) phase(a int64) phase {
	p := phase{count: (w.n - a + w.step - 1) / w.step, step: w.step, dilation: w.dilation}
	p.count = max(p.count, 0)
	if w.step == 1 {
		p.taps, p.before = w.taps, w.dilation*(w.taps-1)-w.before
		return p
	}
	p.dilation = 1
	p.first = (a + w.before) % w.step
	if p.first < w.taps {
		p.taps = (w.taps - p.first + w.step - 1) / w.step
	}
	ahead := (a+w.before-p.first)/w.step - (p.taps - 1)
	p.start, p.before = max(ahead, 0), max(-ahead, 0)
	return p
}

// phase convolves dY with the turned taps of a phase into out.
func (g *convGrad) phase(out *tensor, h, w phase) {
	c := g.c
	dy := c.real(g.dy)
	one := sym.Const(1)
	for i, p := range []phase{h, w} {
		if p.start > 0 {
			rest := sym.Sub(dy.shape[2+i], sym.Const(p.start))
			if v, _ := rest.IsConst(); v <= 0 { // none of dY reaches these positions
				c.fillNumber(out, 0)
				return
			}
			dy = dy.part(2+i, span{sym.Const(p.start), rest, one})
		}
	}
	turned := g.turned(h, w)
	size, _ := statics(append(append([]sym.Int{}, dy.shape[1:]...), dy.stride[1:]...))
	kernel, _ := statics(append(append([]sym.Int{}, turned.shape...), turned.stride...))
	s := &convShape{
		x: dy, w: turned, groups: 1, inPer: kernel[1], rows: kernel[0], outH: h.count, chanX: size[3],
		wOut: kernel[4], wInner: kernel[5],
	}
	s.info = &ir.ConvInfo{
		Height: size[1], Width: size[2], ChanStride: size[3], RowStride: size[4], Stride: size[5],
		KH: h.taps, KW: w.taps, StepH: 1, StepW: 1, PadH: h.before, PadW: w.before,
		DilH: h.dilation, DilW: w.dilation, OutW: w.count, Block: 1, Lanes: 1,
	}
	if h.taps*w.taps > 1 {
		s.wInner = 0
		s.info.FilterChan, s.info.FilterRow, s.info.FilterCol = kernel[5], kernel[6], kernel[7]
	}
	if s.outH == size[1] && w.count == size[2] { // else positions beyond dY are to be zero
		s.flatten()
	}
	c.convProduct(s, out)
}

// turned is the weight seen as [ic, oc, kh, kw] with the taps of a phase from the last to the first.
func (g *convGrad) turned(h, w phase) *tensor {
	v := permuted(g.c.real(g.w), 1, 0, 2, 3)
	for i, p := range []phase{h, w} {
		v = v.part(2+i, span{sym.Const(p.first + p.step*(p.taps-1)), sym.Const(p.taps), sym.Const(-p.step)})
	}
	return v
}
