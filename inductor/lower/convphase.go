package lower

import (
	"slices"

	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file computes the gradient of a convolution's input, which is what a transposed convolution computes, by
// convolutions of dY: one for each phase of the positions, or one for all of them.

// ofInput is one convolution of dY for each phase of the input's positions, or one for all.
func (g *convGrad) ofInput(out *tensor) {
	if g.far() {
		g.between(out)
		return
	}
	if union := g.together(); union != nil {
		g.merged(out, union)
		return
	}
	g.phases(out, nil)
}

// phases goes through those of the dimensions after the ones that are chosen; out is the part of the chosen ones.
func (g *convGrad) phases(out *tensor, chosen []phase) {
	i := len(chosen)
	if i == len(g.ws) {
		g.phase(out, chosen)
		return
	}
	for a := range g.ws[i].step {
		p := g.ws[i].phase(a)
		if p.count > 0 {
			part := out.part(2+i, span{sym.Const(a), sym.Const(p.count), sym.Const(g.ws[i].step)})
			g.phases(part, append(slices.Clone(chosen), p))
		}
	}
}

// phase is every step-th position of the input along one dimension, from its first on.
type phase struct {
	count       int64 // positions
	taps, first int64 // taps that reach them: first, first + apart, ...
	apart       int64
	start       int64 // of dY, where no padding is needed
	before      int64 // padding of dY
	dilation    int64 // of dY
}

// phase a of a window: input position step*i + a takes from tap k what lies at
// i + (a + before - dilation*k)/step of dY, where that is whole, so that the taps are walked from the last.
func (w slide) phase(a int64) phase {
	common := gcd(w.step, w.dilation)
	p := phase{count: max((w.n-a+w.step-1)/w.step, 0), apart: w.step / common, dilation: w.dilation / common}
	for p.first < p.apart && (a+w.before-w.dilation*p.first)%w.step != 0 {
		p.first++
	}
	if p.first == p.apart || p.first >= w.taps {
		return p
	}
	p.taps = (w.taps - p.first + p.apart - 1) / p.apart
	ahead := (a + w.before - w.dilation*(p.first+p.apart*(p.taps-1))) / w.step
	p.start, p.before = max(ahead, 0), max(-ahead, 0)
	return p
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// phase convolves dY with the turned taps of a phase of each dimension into out.
func (g *convGrad) phase(out *tensor, ps []phase) {
	for i, p := range ps {
		n, _ := g.dy.shape[2+i].IsConst()
		if p.taps == 0 || p.start >= n { // none of dY reaches these positions
			g.c.put(out, nil, g.bias)
			return
		}
	}
	g.window(ps, g.ofGroups(g.turned(ps)), out, g.bias)
}

// window convolves dY with filters of a window of each dimension into out.
func (g *convGrad) window(ps []phase, f filters, out, bias *tensor) {
	dy := g.dy
	var ws []slide
	for i, p := range ps {
		n, _ := dy.shape[2+i].IsConst()
		if p.start > 0 {
			dy = dy.part(2+i, span{sym.Const(p.start), sym.Const(n - p.start), sym.Const(1)})
		}
		ws = append(ws, slide{n: n - p.start, out: p.count, taps: p.taps, step: 1, before: p.before, dilation: p.dilation})
	}
	g.c.convolve(dy, f, ws, out, bias)
}

// leastRows is what the template computes at least: this many channels of the result take as long as one.
// manyPhases is from how many on phases are loops, as a kernel for each would be too much code.
const (
	leastRows  = 16
	manyPhases = 16
)

// together is the window that the phases of each dimension see together; nil where one convolution with so
// many more channels, whose filters have zeros where a phase has no tap, costs more than one for each, or there are groups.
func (g *convGrad) together() []phase {
	if g.groups > 1 {
		return nil
	}
	var union []phase
	phases, taps, seen := int64(1), int64(1), int64(1)
	for _, w := range g.ws {
		sum, from, to := int64(0), w.out+w.taps+w.before, -w.n-w.taps-w.before
		for a := range w.step {
			p := w.phase(a)
			if sum += p.taps; p.taps > 0 {
				from, to = min(from, p.start-p.before), max(to, p.start-p.before+p.taps)
			}
		}
		if w.dilation > 1 || from >= w.out { // taps apart, or none of dY reaches any
			return nil
		}
		u := phase{count: (w.n + w.step - 1) / w.step, taps: to - from, start: max(from, 0), before: max(-from, 0), dilation: 1}
		union = append(union, u)
		phases, taps, seen = phases*w.step, taps*sum, seen*u.taps
	}
	rows := func(n int64) int64 { return (n + leastRows - 1) / leastRows * leastRows }
	channels, _ := g.w.shape[1].IsConst()
	if phases == 1 || phases <= 4*manyPhases && seen*rows(phases*channels) > taps*rows(channels) {
		return nil
	}
	return union
}

// merged is one convolution whose channels are those of each phase.
func (g *convGrad) merged(out *tensor, union []phase) {
	c, n := g.c, sym.Const
	batch, channels := g.dy.shape[0], g.w.shape[1]
	all := g.filtersOf(union)
	dims := len(union)
	steps, phases := all.shape[:dims], sym.Product(all.shape[:dims])
	flat := *all
	flat.shape = append([]sym.Int{sym.Mul(phases, channels)}, all.shape[dims+1:]...)
	flat.stride = ops.ContiguousStrides(flat.shape)
	counts := make([]sym.Int, dims)
	for i, u := range union {
		counts[i] = n(u.count)
	}
	whole := c.whole(out.dtype, slices.Concat([]sym.Int{batch, sym.Mul(phases, channels)}, counts)...)
	g.window(union, filters{tensor: &flat, groups: 1}, whole, nil)
	parts := *whole
	parts.shape = slices.Concat([]sym.Int{batch}, steps, []sym.Int{channels}, counts)
	parts.stride = ops.ContiguousStrides(parts.shape)
	few, _ := phases.IsConst()
	g.interleave(out, &parts, nil, few <= manyPhases)
}

// filtersOf are those of all phases, [phases..., oc, ic, taps...]: phase a has tap a + before - step*o where its
// window sees dY o positions further, zero where there is none.
func (g *convGrad) filtersOf(union []phase) *tensor {
	c, n := g.c, sym.Const
	var pads []slide
	for i, w := range g.ws {
		first := union[i].start - union[i].before
		least, most := w.before-w.step*(first+union[i].taps-1), w.step-1+w.before-w.step*first
		pads = append(pads, slide{before: max(-least, 0), after: max(most-w.taps+1, 0)})
	}
	padded := c.reach(g.w, pads, 0)
	v := *padded
	var shape, stride, taps, turned []sym.Int
	for i, w := range g.ws {
		s := padded.stride[2+i]
		v.off = sym.Add(v.off, sym.Mul(s, n(pads[i].before+w.before-w.step*(union[i].start-union[i].before))))
		shape, stride = append(shape, n(w.step)), append(stride, s)
		taps, turned = append(taps, n(union[i].taps)), append(turned, sym.Mul(s, n(-w.step)))
	}
	v.shape = slices.Concat(shape, []sym.Int{padded.shape[1], padded.shape[0]}, taps)
	v.stride = slices.Concat(stride, []sym.Int{padded.stride[1], padded.stride[0]}, turned)
	return c.temp(v.shape, v.dtype, func(b *body) int { return b.load(&v) })
}

// region is what is stored of one dimension: some phases from one on, at some positions from one on.
type region struct{ phase, phases, at, count int64 }

// regions covers the positions of a window: with a region for each phase, whose rows are then long enough for
// vectors, or with few of many phases.
func (w slide) regions(each bool) []region {
	var out []region
	even, rest := w.n/w.step, w.n%w.step
	if !each {
		if even > 0 {
			out = append(out, region{0, w.step, 0, even})
		}
		if rest > 0 {
			out = append(out, region{0, rest, even, 1})
		}
		return out
	}
	for a := range min(w.step, w.n) {
		out = append(out, region{a, 1, 0, (w.n - a + w.step - 1) / w.step})
	}
	return out
}

// interleave puts parts, [n, phases..., channels, positions...], between each other into out; chosen has the regions of
// the first dimensions.
func (g *convGrad) interleave(out, parts *tensor, chosen []region, each bool) {
	dims := len(g.ws)
	if i := len(chosen); i < dims {
		for _, r := range g.ws[i].regions(each) {
			g.interleave(out, parts, append(slices.Clone(chosen), r), each)
		}
		return
	}
	n := sym.Const
	src, dst := *parts, *out
	src.shape, src.stride = []sym.Int{parts.shape[0], parts.shape[1+dims]}, []sym.Int{parts.stride[0], parts.stride[1+dims]}
	dst.stride = out.stride[:2:2]
	for i, r := range chosen {
		phase, position, step := parts.stride[1+i], parts.stride[2+dims+i], g.ws[i].step
		src.off = sym.Add(src.off, sym.Add(sym.Mul(phase, n(r.phase)), sym.Mul(position, n(r.at))))
		dst.off = sym.Add(dst.off, sym.Mul(out.stride[2+i], n(r.at*step+r.phase)))
		src.shape, src.stride = append(src.shape, n(r.count), n(r.phases)), append(src.stride, position, phase)
		dst.stride = append(dst.stride, sym.Mul(out.stride[2+i], n(step)), out.stride[2+i])
	}
	dst.shape = src.shape
	g.c.put(&dst, &src, g.bias)
}

// turned is the weight seen as [ic, oc, kh, kw] with the taps of a phase from the last to the first; of the first group.
func (g *convGrad) turned(ps []phase) *tensor {
	v := permuted(g.w, append([]int{1, 0}, []int{2, 3, 4}[:len(ps)]...)...)
	v = v.part(1, span{sym.Const(0), sym.FloorDiv(v.shape[1], sym.Const(g.groups)), sym.Const(1)})
	for i, p := range ps {
		v = v.part(2+i, span{sym.Const(p.first + p.apart*(p.taps-1)), sym.Const(p.taps), sym.Const(-p.apart)})
	}
	return v
}
