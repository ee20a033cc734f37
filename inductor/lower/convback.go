package lower

import (
	"slices"

	"tcdbg/inductor/ir"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file lowers the gradients of convolutions to products. The weight's
// gradient is a product over all positions p of all images:
//
//	dW[oc, (ic, kh, kw)] = sum over p of dY[oc, p] * X[(ic, kh, kw), p]
//
// and the input's gradient is a convolution of dY with the weight turned around; of one that
// moves by s there are s for each dimension, each with some of the taps, whose results lie between
// each other. A transposed convolution computes what the input's gradient of the plain one is. In groups
// both are those of each group by itself (convgroups.go).

// convGrad is a convolution whose gradients are wanted: x is the larger side, which its windows
// slide over, dy has a pixel for each of their positions.
type convGrad struct {
	c        images
	dy, x, w *tensor
	bias     *tensor // added to what ofInput computes; nil for none
	ws       []slide // of height and width, and depth before them where there is one
	groups   int64
}

// convolutionBack lowers the gradients that output_mask asks for.
func convolutionBack(c *call) error {
	g := &convGrad{c: images{c}, dy: c.namedTensor("grad_output"), x: c.namedTensor("input"), w: c.namedTensor("weight")}
	transposed := c.flag("transposed")
	if transposed {
		g.dy, g.x = g.x, g.dy
	}
	if why := g.read(); why != "" {
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
		switch {
		case i == 1:
			g.ofWeight(asImage(out))
		case transposed:
			g.c.convolve(g.x, g.filters(), g.ws, asImage(out), nil)
		default:
			g.ofInput(asImage(out))
		}
		results[i] = out
	}
	c.l.multi[c.n] = results
	return nil
}

// read makes images of the operands and reads the windows; a reason where templates do not cover them.
func (g *convGrad) read() ir.Reason {
	c := g.c
	if g.x.dtype != ops.Float32 {
		return ir.ReasonDType
	}
	dims := len(g.x.shape) - 2
	if groups, ok := c.arg("groups").(sym.Int); !ok || !sym.Is(groups, 1) && dims == 3 {
		return reasonGroups
	} else if g.groups, ok = groups.IsConst(); !ok {
		return ir.ReasonArgs
	}
	list := func(name string) []sym.Int {
		xs, _ := c.convInts(name, dims)
		out := make([]sym.Int, len(xs))
		for i, x := range xs {
			out[i] = sym.Const(x)
		}
		return out
	}
	step, pad, dil := list("stride"), list("padding"), list("dilation")
	sizes := append(append(append([]sym.Int{}, g.x.shape[1:]...), g.dy.shape[1:]...), g.w.shape...)
	if _, known := statics(sizes); !known || len(step) != dims || len(pad) != dims || len(dil) != dims {
		return ir.ReasonArgs
	}
	ws, ok := slidesOf(g.x.shape, g.dy.shape, g.w.shape[2:], step, pad, dil)
	if !ok || sym.Is(sym.Product(sizes), 0) || sym.Is(g.x.shape[0], 0) {
		return ir.ReasonArgs
	}
	apart := int64(1)
	for _, w := range ws {
		if apart *= w.step; (w.dilation > 1 || g.groups > 1) && apart > 4*manyPhases { // one for each phase would be too much code
			return ir.ReasonArgs
		}
	}
	if dims == 1 {
		ws = []slide{{n: 1, out: 1, taps: 1, step: 1, dilation: 1}, ws[0]}
	}
	if across := ws[len(ws)-1]; g.groups > 1 && max(across.n, across.out) > longRow { // its forms keep rows in a cache
		return ir.ReasonArgs
	}
	g.ws, g.x, g.dy, g.w = ws, asImage(c.real(g.x)), asImage(c.real(g.dy)), asImage(c.real(g.w))
	if g.groups > 1 {
		g.w = c.plain(g.w, false)
	}
	return ""
}

// ofWeight is the sum over all pixels of all images, in the template for it.
func (g *convGrad) ofWeight(out *tensor) {
	c, n := g.c, sym.Const
	if len(g.ws) == 3 {
		g.ofVolume(out)
		return
	}
	if stride := ops.ContiguousStrides(out.shape); !sym.AllSame(out.stride, stride) {
		whole := c.whole(out.dtype, out.shape...)
		g.ofWeight(whole)
		c.fill(out, whole)
		return
	}
	dy, x := c.plain(g.dy, true), c.plain(g.x, false)
	h, w := g.ws[0], g.ws[1]
	size, _ := statics(x.shape[1:])
	stride, _ := statics(x.stride)
	next, _ := statics(dy.stride[:1])
	pixels := h.out * w.out
	rows, cols := out.shape[0], sym.Mul(out.shape[1], n(h.taps*w.taps))
	outer := []sym.Int{rows, cols}
	a, b, o := []sym.Int{dy.stride[1], n(0), n(1)}, []sym.Int{n(0), n(0), n(0)}, []sym.Int{cols, n(1)}
	if g.groups > 1 {
		rows = sym.FloorDiv(rows, n(g.groups))
		outer = []sym.Int{n(g.groups), rows, cols}
		a = slices.Insert(a, 0, sym.Mul(rows, dy.stride[1]))
		b = slices.Insert(b, 0, sym.Mul(out.shape[1], x.stride[1]))
		o = slices.Insert(o, 0, sym.Mul(rows, cols))
	}
	node := c.l.newNode(ir.Matmul, outer, nil)
	node.MM = &ir.MatmulInfo{
		A: dy.buf, B: x.buf, Out: out.buf, K: sym.Mul(x.shape[0], n(pixels)),
		AIdx: ir.Index{Off: dy.off, Coef: a}, BIdx: ir.Index{Off: x.off, Coef: b}, OutIdx: ir.Index{Off: out.off, Coef: o},
		Grad: &ir.GradInfo{Pixels: pixels, NextA: next[0], NextB: stride[0], ConvInfo: ir.ConvInfo{
			Height: size[1], Width: size[2], ChanStride: stride[1], RowStride: stride[2], Stride: stride[3],
			KH: h.taps, KW: w.taps, StepH: h.step, StepW: w.step, PadH: h.before, PadW: w.before,
			DilH: h.dilation, DilW: w.dilation, OutW: w.out, Block: 1, Lanes: 1,
		}},
	}
}

// ofVolume is the product of two dimensions over the images that a volume's windows see.
func (g *convGrad) ofVolume(out *tensor) {
	c, d := g.c, g.ws[0]
	one := slide{n: d.out, out: d.out, taps: 1, step: 1, dilation: 1}
	flat := &convGrad{c: c, x: c.layers(g.x, d), dy: c.layers(g.dy, one), ws: g.ws[1:], groups: 1}
	s := out.shape
	whole := c.whole(out.dtype, s[0], s[2], s[1], s[3], s[4])
	flat.ofWeight(joined(whole, 1))
	c.fill(out, permuted(whole, 0, 2, 1, 3, 4))
}

// plain is t, or a copy of it where its strides are not known, or its pixels do not follow one another and are to,
// as in a gradient that is one number for many of them.
func (c images) plain(t *tensor, runs bool) *tensor {
	r := c.real(t)
	_, known := statics(r.stride)
	if known && (!runs || sym.AllSame(r.stride[2:], ops.ContiguousStrides(r.shape[2:]))) {
		return r
	}
	return c.temp(t.shape, t.dtype, func(b *body) int { return b.load(t) })
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
