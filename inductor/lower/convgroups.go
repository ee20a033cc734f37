package lower

import (
	"tcdbg/inductor/ir"
	"tcdbg/ops/sym"
)

// This file says what gradients of convolutions in groups, and transposed ones in groups, need beside those of one
// group: each group has filters of its own, which are those of the first one so many numbers further. The
// gradient of the image of a depthwise convolution that moves by more than one is a single convolution, of an
// image with zeros between its pixels: in phases each would have a few taps of one channel.

// reasonGroups is for what has no template: the layers of a volume become channels, which groups would part.
const reasonGroups ir.Reason = "in groups, convolutions of three dimensions and their gradients have no template"

// filters are those of a convolution: [channels of a group's result, channels of a group, taps...] of the first group.
type filters struct {
	*tensor
	groups, next int64 // elements from group to group
}

// filters are the weight as it is.
func (g *convGrad) filters() filters {
	if g.groups == 1 {
		return filters{tensor: g.w, groups: 1}
	}
	return g.ofGroups(g.w.part(0, span{sym.Const(0), sym.FloorDiv(g.w.shape[0], sym.Const(g.groups)), sym.Const(1)}))
}

// ofGroups are filters of the first group, a part of the weight, with those of the others.
func (g *convGrad) ofGroups(first *tensor) filters {
	f := filters{tensor: first, groups: g.groups}
	if g.groups > 1 {
		f.next, _ = sym.Mul(sym.FloorDiv(g.w.shape[0], sym.Const(g.groups)), g.w.stride[0]).IsConst()
	}
	return f
}

// far reports whether the input's gradient is a convolution of dY with zeros between its pixels.
func (g *convGrad) far() bool {
	if g.groups == 1 || !sym.Same(g.w.shape[0], sym.Const(g.groups)) || !sym.Is(g.w.shape[1], 1) {
		return false
	}
	apart := int64(1)
	for _, w := range g.ws {
		apart *= w.step
		if (w.taps-1)*w.dilation < w.before {
			return false // dY's first pixels are seen by none
		}
	}
	return apart > 1
}

// between is the convolution of dY with zeros between its pixels and the turned filters.
func (g *convGrad) between(out *tensor) {
	var ps []phase
	ws := make([]slide, len(g.ws))
	for i, w := range g.ws {
		ps = append(ps, phase{taps: w.taps, apart: 1})
		before := (w.taps-1)*w.dilation - w.before
		ws[i] = slide{n: w.out, out: w.n, taps: w.taps, step: 1, before: before, dilation: w.dilation, apart: w.step}
	}
	g.c.convolve(g.dy, g.ofGroups(g.turned(ps)), ws, out, g.bias)
}
