package lower

import (
	"tcdbg/inductor/ir"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file lowers transposed convolutions and those of three dimensions, these of one group, to
// convolutions of images. One of a volume is one of images whose channels are those of all the
// layers that a window sees, an image for each position in depth:
//
//	Out[(n, od), oc, oh, ow] = W[oc, (kd, ic), kh, kw] * X[(n, od), (kd, ic), h, w]
//
// so that images are copied once for each layer of the kernel, and every form of the template serves.

// images is a call that is lowered to convolutions of images.
type images struct{ *call }

// imageConv lowers one that is transposed, or has three dimensions.
func imageConv(call *call, x, w, bias *tensor) error {
	c := images{call}
	m := c.meta()
	if c.l.opt.Externs && !c.contiguousResult() {
		return c.extern(ir.ReasonArgs)
	}
	y := &tensor{dtype: m.DType, shape: m.Shape, stride: m.Stride}
	g := &convGrad{c: c, dy: y, x: x, w: w, bias: bias}
	transposed := c.flag("transposed")
	if transposed {
		g.dy, g.x = x, y
	}
	if why := g.read(); why != "" {
		return c.extern(why)
	}
	out := asImage(c.bindResult())
	if transposed {
		g.ofInput(out)
	} else {
		c.convolve(g.x, g.filters(), g.ws, out, bias)
	}
	return nil
}

// asImage is t, with one row where it has none.
func asImage(t *tensor) *tensor {
	if len(t.shape) != 3 {
		return t
	}
	v := *t
	v.shape, v.stride = insert(t.shape, 2, sym.Const(1)), insert(t.stride, 2, sym.Mul(t.shape[2], t.stride[2]))
	return &v
}

// whole is a tensor of its own.
func (c images) whole(d ops.DType, shape ...sym.Int) *tensor {
	stride := ops.ContiguousStrides(shape)
	return &tensor{buf: c.l.newBuffer(d, shape, stride), dtype: d, shape: shape, stride: stride}
}

// joined is a contiguous tensor with dimensions dim and dim+1 as one.
func joined(t *tensor, dim int) *tensor {
	v := *t
	v.shape = append(append([]sym.Int{}, t.shape[:dim]...), sym.Mul(t.shape[dim], t.shape[dim+1]))
	v.shape = append(v.shape, t.shape[dim+2:]...)
	v.stride = ops.ContiguousStrides(v.shape)
	return &v
}

// put stores src, nil for zeros, and the bias of each channel, nil for none, into dst.
func (c images) put(dst, src, bias *tensor) {
	b := c.l.pointwiseNode(dst.shape)
	var v int
	if src == nil {
		v = b.number(dst.dtype, 0)
	} else {
		v = b.load(src)
	}
	if bias != nil {
		v = b.add2(v, b.load(perChannel(bias, len(dst.shape))))
	}
	b.storeAt(dst.buf, dst.off, dst.stride, v)
}

// convolve puts a convolution into out, a part of a buffer.
func (c images) convolve(x *tensor, f filters, ws []slide, out, bias *tensor) {
	x = c.plain(x, false)
	w := f.tensor
	if f.groups == 1 {
		w = c.plain(w, false)
	}
	batch, volume := x.shape[0], len(ws) == 3
	if volume {
		v := permuted(w, 0, 2, 1, 3, 4)
		x, w = c.layers(x, ws[0]), joined(c.temp(v.shape, v.dtype, func(b *body) int { return b.load(v) }), 1)
	}
	down, across := ws[len(ws)-2], ws[len(ws)-1]
	s := imageShape(x, w, down, across)
	s.groups, s.wNext = f.groups, f.next
	if !volume && bias == nil && sym.AllSame(out.stride[1:], ops.ContiguousStrides(out.shape)[1:]) {
		c.convProduct(s, out)
		return
	}
	n := sym.Const
	shape := []sym.Int{x.shape[0], sym.Mul(n(f.groups), w.shape[0]), n(down.out), n(across.out)}
	if volume {
		shape = append([]sym.Int{batch, n(ws[0].out)}, shape[1:]...)
	}
	prod := c.whole(out.dtype, shape...)
	if volume {
		c.convProduct(s, joined(prod, 0))
		prod = permuted(prod, 0, 2, 1, 3, 4)
	} else {
		c.convProduct(s, prod)
	}
	c.put(out, prod, bias)
}

// layers copies a volume's layers: an image for each position of a window in depth, whose channels are
// those of each layer that the window sees, zero beyond the volume.
func (c images) layers(x *tensor, w slide) *tensor {
	s, n := x.shape, sym.Const
	w.after = max(0, (w.out-1)*w.step-w.before+(w.taps-1)*w.dilation-(w.n-1))
	shape := []sym.Int{s[0], n(w.out), n(w.taps), s[1], s[3], s[4]}
	if w.before == 0 && w.after == 0 || w.taps > manyTaps { // one loop
		v := *c.reach(x, []slide{w, {}, {}}, 0)
		v.shape = shape
		d := v.stride[2]
		v.stride = []sym.Int{v.stride[0], sym.Mul(d, n(w.step)), sym.Mul(d, n(w.dilation)), v.stride[1], v.stride[3], v.stride[4]}
		return joined(joined(c.temp(shape, x.dtype, func(b *body) int { return b.load(&v) }), 0), 1)
	}
	out := c.whole(x.dtype, shape...)
	view := permuted(x, 0, 2, 1, 3, 4)
	for k := range w.taps {
		layer := permuted(out.part(2, span{n(k), n(1), n(1)}), 0, 1, 3, 4, 5)
		// position p sees layer step*p + at
		at := k*w.dilation - w.before
		first := min(max((w.step-1-at)/w.step, 0), w.out)
		last := first
		if at < w.n {
			last = max(min((w.n-1-at)/w.step+1, w.out), first)
		}
		for _, r := range []span{{n(0), n(first), n(1)}, {n(last), n(w.out - last), n(1)}} {
			if !sym.Is(r.size, 0) {
				c.fillNumber(layer.part(1, r), 0)
			}
		}
		if last > first {
			seen := view.part(1, span{n(first*w.step + at), n(last - first), n(w.step)})
			c.fill(layer.part(1, span{n(first), n(last - first), n(1)}), seen)
		}
	}
	return joined(joined(out, 0), 1)
}

// imageShape is the convolution of images by a weight whose strides are any.
func imageShape(x, w *tensor, down, across slide) *convShape {
	size, _ := statics(append(append([]sym.Int{}, x.shape[1:]...), x.stride[1:]...))
	kernel, _ := statics(append(append([]sym.Int{}, w.shape...), w.stride...))
	s := &convShape{
		x: x, w: w, groups: 1, inPer: kernel[1], rows: kernel[0], outH: down.out, chanX: size[3], wOut: kernel[4],
	}
	s.info = &ir.ConvInfo{
		Height: size[1], Width: size[2], ChanStride: size[3], RowStride: size[4], Stride: size[5],
		KH: down.taps, KW: across.taps, StepH: down.step, StepW: across.step, PadH: down.before, PadW: across.before,
		DilH: down.dilation, DilW: across.dilation, OutW: across.out, Block: 1, Lanes: 1,
	}
	taps := kernel[2] * kernel[3]
	inner := kernel[7]
	if kernel[3] == 1 {
		inner = kernel[6]
	}
	if taps == 1 {
		inner = kernel[5]
	}
	rows := kernel[2] == 1 || kernel[3] == 1 || kernel[6] == kernel[3]*kernel[7]
	if s.wInner = inner; inner <= 0 || !rows || kernel[1] > 1 && kernel[5] != taps*inner {
		s.wInner = 0
		s.info.FilterChan, s.info.FilterRow, s.info.FilterCol = kernel[5], kernel[6], kernel[7]
	}
	if down.apart > 0 {
		s.info.ApartH, s.info.ApartW = down.apart, across.apart
	} else if down.out == size[1] && across.out == size[2] { // else positions beyond the image are to be zero
		s.flatten()
	}
	return s
}
