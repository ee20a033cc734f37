package lower

import (
	"math"

	"tcdbg/inductor/ir"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file lowers what slides windows over the last dimensions: the input is
// padded where windows reach beyond it, so that every tap of the window is an
// address of its own, and small windows are written out tap by tap.

// manyTaps is from how many elements on a window is a loop.
const manyTaps = 16

// slide is a window along one dimension.
type slide struct {
	n, out           int64 // elements of the input, positions of the window
	taps, step       int64
	before, dilation int64
	after            int64 // padding at the end that windows reach into
	apart            int64 // positions from element to element, with zeros between; 0 for none
}

// slides reads the geometry of a pooling over the last dims dimensions; false
// where a size is not known.
func (c *call) slides(dims int, dilated bool) ([]slide, bool) {
	x := c.self()
	kernel, step, pad, dil := ops.PoolGeometry(&c.bound, dims, dilated)
	return slidesOf(x.shape, c.resultShape(), kernel, step, pad, dil)
}

// resultShape is the shape of the first result.
func (c *call) resultShape() []sym.Int {
	if list, ok := c.n.Meta.([]ops.Result); ok {
		return list[0].(*ops.TensorMeta).Shape
	}
	return c.meta().Shape
}

func slidesOf(in, out, kernel, step, pad, dil []sym.Int) ([]slide, bool) {
	dims := len(kernel)
	n, ok := statics(in[len(in)-dims:])
	o, ok2 := statics(out[len(out)-dims:])
	k, ok3 := statics(kernel)
	s, ok4 := statics(step)
	p, ok5 := statics(pad)
	d, ok6 := statics(dil)
	if !ok || !ok2 || !ok3 || !ok4 || !ok5 || !ok6 {
		return nil, false
	}
	var ws []slide
	for i := range dims {
		w := slide{n: n[i], out: o[i], taps: k[i], step: s[i], before: p[i], dilation: d[i]}
		w.after = max(0, (w.out-1)*w.step-w.before+(w.taps-1)*w.dilation-(w.n-1))
		ws = append(ws, w)
	}
	return ws, true
}

// reach pads x so that every tap of every window lies inside.
func (c *call) reach(x *tensor, ws []slide, fill float64) *tensor {
	before, after := make([]sym.Int, len(x.shape)), make([]sym.Int, len(x.shape))
	padded := false
	for i, w := range ws {
		d := len(x.shape) - len(ws) + i
		before[d], after[d] = sym.Const(w.before), sym.Const(w.after)
		padded = padded || w.before > 0 || w.after > 0
	}
	if !padded {
		return c.real(x)
	}
	shape := append([]sym.Int{}, x.shape...)
	for d := range shape {
		shape[d] = sym.Add(shape[d], sym.Add(before[d], after[d]))
	}
	stride := ops.ContiguousStrides(shape)
	out := &tensor{buf: c.l.newBuffer(x.dtype, shape, stride), dtype: x.dtype, shape: shape, stride: stride}
	c.frame(out, x, before, after, fill)
	return out
}

// frame writes x into the middle of out and a number around it.
func (c *call) frame(out, x *tensor, before, after []sym.Int, fill float64) {
	one := sym.Const(1)
	rest := out
	for d := range out.shape {
		n := rest.shape[d]
		for _, r := range []span{{sym.Int{}, before[d], one}, {sym.Sub(n, after[d]), after[d], one}} {
			if !sym.Is(r.size, 0) {
				c.fillNumber(rest.part(d, r), fill)
			}
		}
		rest = rest.part(d, span{before[d], x.shape[d], one})
	}
	c.fill(rest, x)
}

func (c *call) fillNumber(dst *tensor, f float64) {
	b := c.l.pointwiseNode(dst.shape)
	b.storeAt(dst.buf, dst.off, dst.stride, b.number(dst.dtype, f))
}

// windowView is the padded input as (..., positions, taps).
func windowView(x *tensor, ws []slide) *tensor {
	v := *x
	lead := len(x.shape) - len(ws)
	v.shape, v.stride = append([]sym.Int{}, x.shape[:lead]...), append([]sym.Int{}, x.stride[:lead]...)
	for i, w := range ws {
		v.shape, v.stride = append(v.shape, sym.Const(w.out)), append(v.stride, sym.Mul(x.stride[lead+i], sym.Const(w.step)))
	}
	for i, w := range ws {
		v.shape, v.stride = append(v.shape, sym.Const(w.taps)), append(v.stride, sym.Mul(x.stride[lead+i], sym.Const(w.dilation)))
	}
	return &v
}

// tap is the view at one tap of the window.
func tap(v *tensor, at []int64) *tensor {
	u := *v
	lead := len(v.shape) - len(at)
	u.shape, u.stride = v.shape[:lead], v.stride[:lead]
	for i, k := range at {
		u.off = sym.Add(u.off, sym.Mul(v.stride[lead+i], sym.Const(k)))
	}
	return &u
}

// eachTap calls f with the taps of a window in their order.
func eachTap(ws []slide, f func(at []int64)) {
	at := make([]int64, len(ws))
	for {
		f(at)
		k := len(at) - 1
		for ; k >= 0; k-- {
			if at[k]++; at[k] < ws[k].taps {
				break
			}
			at[k] = 0
		}
		if k < 0 {
			return
		}
	}
}

func countTaps(ws []slide) int64 {
	n := int64(1)
	for _, w := range ws {
		n *= w.taps
	}
	return n
}

// windowFold makes the node that folds every window of x into dst; done turns
// the folded value into what is stored.
func (c *call) windowFold(x *tensor, ws []slide, dst *tensor, red ir.ReduceOp, o ir.Op, done func(b *body, v int) int) {
	view := windowView(x, ws)
	if countTaps(ws) <= manyTaps {
		b := c.l.pointwiseNode(dst.shape)
		acc := -1
		eachTap(ws, func(at []int64) {
			v := b.load(tap(view, at))
			if acc >= 0 {
				v = b.op(o, acc, v)
			}
			acc = v
		})
		b.store(dst.buf, dst.stride, done(b, acc))
		return
	}
	marks := make([]bool, len(view.shape))
	for i := range ws {
		marks[len(marks)-1-i] = true
	}
	b := c.l.reductionNode(view.shape, marks)
	v := done(b, b.reduce(red, b.load(view)))
	b.store(dst.buf, append(append([]sym.Int{}, dst.stride...), make([]sym.Int, len(ws))...), v)
}

// lowest is what every element is larger than, or the same.
func lowest(d ops.DType) float64 {
	switch d {
	case ops.Int64:
		return math.MinInt64
	case ops.Int32:
		return math.MinInt32
	case ops.Int16:
		return math.MinInt16
	case ops.Int8:
		return math.MinInt8
	case ops.Uint8, ops.Bool:
		return 0
	}
	return math.Inf(-1)
}

// maxPool lowers both results: the extreme, and where it is in the plane.
func maxPool(dims int) lowerFunc {
	return func(c *call) error {
		ws, ok := c.slides(dims, true)
		if !ok {
			return c.extern(ir.ReasonArgs)
		}
		return c.maxOver(ws)
	}
}

func (c *call) maxOver(ws []slide) error {
	if countTaps(ws) > maxUnrolled {
		return c.extern(ir.ReasonArgs)
	}
	x := c.self()
	list := c.n.Meta.([]ops.Result)
	val, idx := list[0].(*ops.TensorMeta), list[1].(*ops.TensorMeta)
	in := c.reach(x, ws, lowest(x.dtype))
	out := c.bufferFor(val)
	c.windowFold(in, ws, out, ir.RMax, ir.Max, func(_ *body, v int) int { return v })
	at := c.bufferFor(idx)
	c.winners(in, ws, at)
	c.l.multi[c.n] = []*tensor{out, at}
	return nil
}

// maxUnrolled bounds the taps of a window whose winner is wanted.
const maxUnrolled = 128

func (c *call) bufferFor(m *ops.TensorMeta) *tensor {
	return &tensor{buf: c.l.newBuffer(m.DType, m.Shape, m.Stride), dtype: m.DType, shape: m.Shape, stride: m.Stride}
}

// winners finds where in its plane the first largest element of each window
// lies; NaN is largest, and the last of several wins. Beside float32 it counts from the first
// tap, in float32: as many whole numbers fit into a vector as values.
func (c *call) winners(x *tensor, ws []slide, dst *tensor) {
	view := windowView(x, ws)
	b := c.l.pointwiseNode(dst.shape)
	best, where, first := -1, -1, -1
	eachTap(ws, func(at []int64) {
		v := b.load(tap(view, at))
		if best < 0 {
			best, where = v, b.insidePosition(ws)
			if b.dtype(v) == ops.Float32 && tapsReach(ws) < 1<<24 {
				first = b.planePosition(ws, at)
				where = b.cast(b.op(ir.Sub, where, first), ops.Float32)
			}
			return
		}
		wins := b.op(ir.Gt, v, best)
		if b.dtype(v).IsFloat() {
			wins = b.op(ir.Or, wins, b.op(ir.IsNaN, v))
		}
		var pos int
		if first < 0 {
			pos = b.planePosition(ws, at)
		} else {
			pos = b.float(ops.Float32, float64(tapOffset(ws, at)))
		}
		best, where = b.op(ir.Where, wins, v, best), b.op(ir.Where, wins, pos, where)
	})
	if first >= 0 {
		where = b.add2(first, b.cast(where, ops.Int64))
	}
	b.store(dst.buf, dst.stride, where)
}

// tapOffset is how far a tap's position in the plane is behind the first tap's.
func tapOffset(ws []slide, at []int64) int64 {
	mult, off := int64(1), int64(0)
	for i := len(ws) - 1; i >= 0; i-- {
		off += at[i] * ws[i].dilation * mult
		mult *= ws[i].n
	}
	return off
}

// tapsReach is more than any tap's offset.
func tapsReach(ws []slide) int64 {
	last := make([]int64, len(ws))
	for i, w := range ws {
		last[i] = w.taps
	}
	return tapOffset(ws, last)
}

// planePosition is the row-major position of a tap in the plane that is not
// padded; it is an address of the loops.
func (b *body) planePosition(ws []slide, at []int64) int {
	x := ir.Index{Coef: make([]sym.Int, len(b.dims))}
	lead := b.rank - len(ws)
	mult, off := int64(1), int64(0)
	for i := len(ws) - 1; i >= 0; i-- {
		w := ws[i]
		x.Coef[lead+i] = sym.Const(w.step * mult)
		off += (at[i]*w.dilation - w.before) * mult
		mult *= w.n
	}
	x.Off = sym.Const(off)
	return b.add(ir.Value{Op: ir.IndexOf, DType: ops.Int64, Index: x})
}

// insidePosition is the position of the first tap of a window that lies inside.
func (b *body) insidePosition(ws []slide) int {
	lead := b.rank - len(ws)
	mult, sum := int64(1), -1
	for i := len(ws) - 1; i >= 0; i-- {
		w := ws[i]
		x := ir.Index{Off: sym.Const(-w.before), Coef: make([]sym.Int, len(b.dims))}
		x.Coef[lead+i] = sym.Const(w.step)
		v := b.add(ir.Value{Op: ir.IndexOf, DType: ops.Int64, Index: x})
		for range (w.before + w.dilation - 1) / w.dilation { // taps step in from the padding
			v = b.op(ir.Where, b.op(ir.Lt, v, b.int(ops.Int64, 0)), b.add2(v, b.int(ops.Int64, w.dilation)), v)
		}
		v = b.mul2(v, b.int(ops.Int64, mult))
		if sum >= 0 {
			v = b.add2(v, sum)
		}
		sum = v
		mult *= w.n
	}
	return sum
}

// avgPool divides the sum of each window by the number of its elements.
func avgPool(dims int) lowerFunc {
	return func(c *call) error {
		ws, ok := c.slides(dims, false)
		if !ok || !c.meta().DType.IsFloat() {
			return c.extern(ir.ReasonArgs)
		}
		var override int64
		if x, ok := c.arg("divisor_override").(sym.Int); ok {
			override, _ = x.IsConst()
		}
		include, _ := c.arg("count_include_pad").(bool)
		in := c.reach(c.self(), ws, 0)
		counts := c.counts(ws, include, override)
		out := c.bindResult()
		c.windowFold(in, ws, out, ir.RSum, ir.Add, func(b *body, v int) int { return b.divideAll(v, counts) })
		return nil
	}
}

// count is a number of elements along one dimension: the same for all windows,
// or a vector.
type count struct {
	same int64
	each *tensor
}

// counts says by dimension what the sums are divided by.
func (c *call) counts(ws []slide, include bool, override int64) []count {
	if override != 0 {
		return []count{{same: override}}
	}
	out := make([]count, len(ws))
	for i, w := range ws {
		low, high := int64(0), w.n
		if include {
			low, high = -w.before, w.n+w.before
		}
		if first, last := -w.before, (w.out-1)*w.step-w.before+w.taps; first >= low && last <= high {
			out[i].same = w.taps
			continue
		}
		out[i].each = c.vectorOf(ws, i, func(b *body, at int) int {
			k := func(v int64) int { return b.int(ops.Int64, v) }
			from := b.op(ir.Sub, b.mul2(at, k(w.step)), k(w.before))
			to := b.op(ir.Min, b.add2(from, k(w.taps)), k(high))
			return b.op(ir.Sub, to, b.op(ir.Max, from, k(low)))
		})
	}
	return out
}

// vectorOf makes a vector over the positions of dimension i, seen so that it
// broadcasts against the result.
func (c *call) vectorOf(ws []slide, i int, f func(b *body, at int) int) *tensor {
	d := c.meta().DType
	n := []sym.Int{sym.Const(ws[i].out)}
	t := c.temp(n, d, func(b *body) int {
		at := b.add(ir.Value{Op: ir.IndexOf, DType: ops.Int64, Index: ir.Index{Coef: []sym.Int{sym.Const(1)}}})
		return b.cast(f(b, at), d)
	})
	for range len(ws) - 1 - i {
		t.shape, t.stride = append(t.shape, sym.Const(1)), append(t.stride, sym.Int{})
	}
	return t
}

func (b *body) divideAll(v int, counts []count) int {
	d := b.dtype(v)
	same := int64(1)
	for _, n := range counts {
		if n.each != nil {
			v = b.op(ir.Div, v, b.loadOuter(n.each))
		} else {
			same *= n.same
		}
	}
	if same == 1 {
		return v
	}
	return b.op(ir.Div, v, b.int(d, same))
}

// loadOuter loads what broadcasts against the positions, in a body that may walk
// the taps as well.
func (b *body) loadOuter(t *tensor) int {
	v := *t
	outer := 0
	for _, d := range b.dims {
		outer = max(outer, d+1)
	}
	taps := outer
	if b.n.Kind == ir.Reduction {
		taps = len(b.n.Outer)
	}
	for range outer - taps {
		v.shape, v.stride = append(v.shape[:len(v.shape):len(v.shape)], sym.Const(1)), append(
			v.stride[:len(v.stride):len(v.stride)], sym.Int{},
		)
	}
	return b.load(&v)
}

// adaptiveSlides reads the windows of an adaptive pooling; false where they differ
// in size.
func (c *call) adaptiveSlides(dims int) ([]slide, bool) {
	x := c.self()
	n, ok := statics(x.shape[len(x.shape)-dims:])
	shape := c.resultShape()
	o, ok2 := statics(shape[len(shape)-dims:])
	if !ok || !ok2 {
		return nil, false
	}
	var ws []slide
	for i := range dims {
		if o[i] == 0 || n[i]%o[i] != 0 {
			return nil, false
		}
		k := n[i] / o[i]
		ws = append(ws, slide{n: n[i], out: o[i], taps: k, step: k, dilation: 1})
	}
	return ws, true
}

func adaptiveAvg(dims int) lowerFunc {
	return func(c *call) error {
		if d := c.meta().DType; !d.IsFloat() {
			return c.extern(ir.ReasonArgs)
		} else if dims == 3 && d.Size() == 2 {
			return c.extern(reasonHalf)
		}
		ws, ok := c.adaptiveSlides(dims)
		if !ok {
			return c.unevenAvg(dims)
		}
		x := c.real(c.self())
		out := c.bindResult()
		n := []count{{same: countTaps(ws)}}
		c.windowFold(x, ws, out, ir.RSum, ir.Add, func(b *body, v int) int { return b.divideAll(v, n) })
		return nil
	}
}

func adaptiveMax(dims int) lowerFunc {
	return func(c *call) error {
		ws, ok := c.adaptiveSlides(dims)
		if !ok {
			return c.extern(ir.ReasonArgs)
		}
		return c.maxOver(ws)
	}
}

// unevenAvg averages windows of different sizes: each tap is loaded at a
// position that is computed, and counts where it lies in the window.
func (c *call) unevenAvg(dims int) error {
	x := c.real(c.self())
	shape := c.resultShape()
	lead := len(shape) - dims
	n, ok := statics(x.shape[lead:])
	o, ok2 := statics(shape[lead:])
	if !ok || !ok2 {
		return c.extern(ir.ReasonArgs)
	}
	ws := make([]slide, dims)
	var still []int
	for i := range dims {
		if n[i] == 0 || o[i] == 0 {
			return c.extern(ir.ReasonArgs)
		}
		ws[i] = slide{n: n[i], out: o[i], taps: (n[i]+o[i]-1)/o[i] + 1}
		still = append(still, lead+i)
	}
	if countTaps(ws) > maxUnrolled {
		return c.extern(ir.ReasonArgs)
	}
	out := c.bindResult()
	b := c.l.pointwiseNode(out.shape)
	from, to := make([]int, dims), make([]int, dims)
	for i, w := range ws {
		from[i], to[i] = b.unevenWindow(lead+i, w)
	}
	base := b.index(x.still(still, out.shape))
	d := x.dtype
	sum, zero := b.number(d, 0), b.number(d, 0)
	eachTap(ws, func(at []int64) {
		var ps []picked
		inside := -1
		for i := range ws {
			pos := b.add2(from[i], b.int(ops.Int64, at[i]))
			in := b.op(ir.Lt, pos, to[i])
			if inside < 0 {
				inside = in
			} else {
				inside = b.op(ir.And, inside, in)
			}
			ps = append(ps, picked{dim: lead + i, at: b.op(ir.Min, pos, b.int(ops.Int64, n[i]-1))})
		}
		sum = b.add2(sum, b.op(ir.Where, inside, b.loadPicked(x, base, ps), zero))
	})
	for i := range ws {
		sum = b.op(ir.Div, sum, b.cast(b.op(ir.Sub, to[i], from[i]), d))
	}
	b.store(out.buf, out.stride, sum)
	return nil
}

// unevenWindow is where the window of a loop's position begins and ends.
func (b *body) unevenWindow(loop int, w slide) (from, to int) {
	at := func(off int64) int {
		x := ir.Index{Off: sym.Const(off), Coef: make([]sym.Int, len(b.dims))}
		x.Coef[loop] = sym.Const(w.n)
		return b.op(ir.FloorDiv, b.add(ir.Value{Op: ir.IndexOf, DType: ops.Int64, Index: x}), b.int(ops.Int64, w.out))
	}
	return at(0), at(w.n + w.out - 1)
}
