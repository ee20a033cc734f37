package lower

import (
	"tcdbg/ops/sym"
)

// This file lowers the depthwise convolutions, whose windows see one channel each, for
// which the template has no form: those of other types, of three dimensions and of very
// long rows. They are sums of products written out tap by tap.

// mostTaps bounds the windows that are written out, longRow the rows that the template
// keeps in a cache.
const (
	mostTaps = 64
	longRow  = 4096
)

// depthwise reads the windows of a convolution with a filter of its own for each
// channel; false for all others.
func (c *call) depthwise(x, w *tensor) ([]slide, bool) {
	dims := len(x.shape) - 2
	if dims < 1 || dims > 3 || c.flag("transposed") || !sym.Is(w.shape[1], 1) {
		return nil, false
	}
	groups, isInt := c.arg("groups").(sym.Int)
	if !isInt || !sym.Same(groups, w.shape[0]) || !sym.Same(groups, x.shape[1]) || sym.Is(groups, 1) {
		return nil, false
	}
	list := func(name string) []sym.Int {
		xs, _ := c.arg(name).([]sym.Int)
		if one, ok := c.arg(name).(sym.Int); ok {
			xs = []sym.Int{one}
		}
		for len(xs) > 0 && len(xs) < dims {
			xs = append(xs, xs[0])
		}
		return xs
	}
	step, pad, dil := list("stride"), list("padding"), list("dilation")
	if len(step) != dims || len(pad) != dims || len(dil) != dims {
		return nil, false
	}
	ws, ok := slidesOf(x.shape, c.meta().Shape, w.shape[2:], step, pad, dil)
	return ws, ok && countTaps(ws) <= mostTaps
}

// stencil sums the products of each window with the channel's filter.
func (c *call) stencil(x, w, bias *tensor, ws []slide) error {
	view := windowView(c.reach(x, ws, 0), ws)
	filter := c.real(w)
	out := c.bindResult()
	b := c.l.pointwiseNode(out.shape)
	acc := -1
	if bias != nil {
		acc = b.load(perChannel(bias, len(out.shape)))
	}
	eachTap(ws, func(at []int64) {
		one := perChannel(filter, len(out.shape))
		for i, k := range at {
			one.off = sym.Add(one.off, sym.Mul(filter.stride[2+i], sym.Const(k)))
		}
		v := b.mul2(b.load(tap(view, at)), b.load(one))
		if acc >= 0 {
			v = b.add2(acc, v)
		}
		acc = v
	})
	b.store(out.buf, out.stride, acc)
	return nil
}
