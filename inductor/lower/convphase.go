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
	if all, union := g.together(); union != nil {
		g.merged(out, all, union)
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
	g.window(ps, g.turned(ps), out, g.bias)
}

// window convolves dY with filters of a window of each dimension into out.
func (g *convGrad) window(ps []phase, filters, out, bias *tensor) {
	dy := g.dy
	var ws []slide
	for i, p := range ps {
		n, _ := dy.shape[2+i].IsConst()
		if p.start > 0 {
			dy = dy.part(2+i, span{sym.Const(p.start), sym.Const(n - p.start), sym.Const(1)})
		}
		ws = append(ws, slide{n: n - p.start, out: p.count, taps: p.taps, step: 1, before: p.before, dilation: p.dilation})
	}
	g.c.convolve(dy, filters, ws, out, bias)
}

// leastRows is what the template computes at least: this many channels of the result take as long as one.
const leastRows = 16

// together lists the phases of each dimension and the window that all of them see; nil where one
// convolution with so many more channels, whose filters have zeros where a phase has no tap, costs more than
// one for each.
func (g *convGrad) together() (all [][]phase, union []phase) {
	phases, taps, seen := int64(1), int64(1), int64(1)
	for _, w := range g.ws {
		if w.n%w.step != 0 || w.dilation > 1 {
			return nil, nil
		}
		var ps []phase
		sum, from, to := int64(0), w.n+w.taps, -w.n-w.taps
		for a := range w.step {
			p := w.phase(a)
			ps = append(ps, p)
			if sum += p.taps; p.taps > 0 {
				from, to = min(from, p.start-p.before), max(to, p.start-p.before+p.taps)
			}
		}
		if from >= w.out { // none of dY reaches any
			return nil, nil
		}
		one := phase{count: w.n / w.step, taps: to - from, start: max(from, 0), before: max(-from, 0), dilation: 1}
		all, union = append(all, ps), append(union, one)
		phases, taps, seen = phases*w.step, taps*sum, seen*one.taps
	}
	rows := func(n int64) int64 { return (n + leastRows - 1) / leastRows * leastRows }
	channels, _ := g.w.shape[1].IsConst()
	if phases == 1 || seen*rows(phases*channels) > taps*rows(channels) {
		return nil, nil
	}
	return all, union
}

// merged is one convolution whose channels are those of each phase.
func (g *convGrad) merged(out *tensor, all [][]phase, union []phase) {
	c, w, n := g.c, g.w, sym.Const
	batch, channels := g.dy.shape[0], w.shape[1]
	steps, taps, counts := []sym.Int{}, []sym.Int{}, []sym.Int{}
	phases := n(1)
	for i, u := range union {
		steps, taps, counts = append(steps, n(g.ws[i].step)), append(taps, n(u.taps)), append(counts, n(u.count))
		phases = sym.Mul(phases, steps[i])
	}
	filters := c.whole(w.dtype, slices.Concat(steps, []sym.Int{channels, w.shape[0]}, taps)...)
	g.eachPhase(all, nil, func(at []int64, ps []phase) { g.filterOf(filters, at, ps, union) })
	flat := *filters
	flat.shape = append([]sym.Int{sym.Mul(phases, channels), w.shape[0]}, taps...)
	flat.stride = ops.ContiguousStrides(flat.shape)
	whole := c.whole(out.dtype, slices.Concat([]sym.Int{batch, sym.Mul(phases, channels)}, counts)...)
	g.window(union, &flat, whole, nil)
	// a loop for each phase, whose rows are long enough for vectors; one loop over the pixels of out would have none
	parts := *whole
	parts.shape = slices.Concat([]sym.Int{batch}, steps, []sym.Int{channels}, counts)
	parts.stride = ops.ContiguousStrides(parts.shape)
	g.eachPhase(all, nil, func(at []int64, _ []phase) {
		src, dst := &parts, out
		for i, a := range at {
			src = src.part(1+i, span{n(a), n(1), n(1)})
			dst = dst.part(2+i, span{n(a), counts[i], steps[i]})
		}
		src.shape = append([]sym.Int{batch}, src.shape[1+len(at):]...)
		src.stride = append([]sym.Int{src.stride[0]}, src.stride[1+len(at):]...)
		c.put(dst, src, g.bias)
	})
}

// eachPhase calls f with every choice of a phase of each dimension, and its number there.
func (g *convGrad) eachPhase(all [][]phase, at []int64, f func(at []int64, ps []phase)) {
	if len(at) == len(all) {
		ps := make([]phase, len(at))
		for i, a := range at {
			ps[i] = all[i][a]
		}
		f(at, ps)
		return
	}
	for a := range all[len(at)] {
		g.eachPhase(all, append(slices.Clone(at), int64(a)), f)
	}
}

// filterOf writes the filters of a phase into those of all, zero where the phase has no taps.
func (g *convGrad) filterOf(filters *tensor, at []int64, ps, union []phase) {
	one := sym.Const(1)
	part := filters
	for i, a := range at {
		part = part.part(i, span{sym.Const(a), one, one})
	}
	view := *part
	view.shape, view.stride = part.shape[len(at):], part.stride[len(at):]
	part = &view
	for i, p := range ps {
		first := p.start - p.before - (union[i].start - union[i].before)
		if p.taps == 0 {
			g.c.fillNumber(part, 0)
			return
		}
		for _, r := range [][2]int64{{0, first}, {first + p.taps, union[i].taps}} {
			if r[1] > r[0] {
				g.c.fillNumber(part.part(2+i, span{sym.Const(r[0]), sym.Const(r[1] - r[0]), one}), 0)
			}
		}
		part = part.part(2+i, span{sym.Const(first), sym.Const(p.taps), one})
	}
	g.c.fill(part, g.turned(ps))
}

// turned is the weight seen as [ic, oc, kh, kw] with the taps of a phase from the last to the first.
func (g *convGrad) turned(ps []phase) *tensor {
	v := permuted(g.w, append([]int{1, 0}, []int{2, 3, 4}[:len(ps)]...)...)
	for i, p := range ps {
		v = v.part(2+i, span{sym.Const(p.first + p.apart*(p.taps-1)), sym.Const(p.taps), sym.Const(-p.apart)})
	}
	return v
}
