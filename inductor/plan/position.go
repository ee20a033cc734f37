package plan

import (
	"math"
	"slices"

	"tcdbg/inductor/ir"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file reads what scores are in a part of their matrix: the expression that computes them is followed through all loops that
// make a part of it, as a mask that a kernel of its own writes once is.

// fact is what is known of a number.
type fact struct {
	kind kind
	num  float64  // known: the number, of a truth 0 or 1; low: one that it is not above; scaled: see there
	at   ir.Index // position: over the loops of the scores
}

type kind uint8

const (
	unknown  kind = iota
	known         // a constant
	low           // at most a number, perhaps minus infinity
	scaled        // a sum of the first product, times a number of a magnitude that is known
	position      // a whole number that is told by the place
	top           // the greatest score of the row
	gap           // a masked score less that
	zero
	total // a sum of the row's exponentials, or its inverse
	flag  // what is true of the row or not
	dead  // whether a score is minus infinity
)

// region is a part of the matrix of scores: j is a column, i a row.
type region uint8

const (
	somewhere region = iota
	above            // j > i + past
	below            // j <= i + past
	last             // j == i + past
)

// reading is the reading of one attention's scores.
type reading struct {
	a       *Attention
	node    *ir.Node // that writes them
	product *ir.Node
	writers map[*ir.Buffer]*ir.Node // nil for those that several write
	region  region
	past    sym.Int
	pasts   []sym.Int // that positions are compared by
	bound   float64   // on sums of the first product
	read    map[*ir.Buffer][]placed
	facts   map[*ir.Node][]fact // of bodies; of one that is read at several places what was read last
}

// placed is what was found of a buffer at an address.
type placed struct {
	at   ir.Index
	fact fact
}

// newReading begins a reading; false where scores are what the product gives.
func (p *Plan) newReading(a *Attention) (*reading, bool) {
	r := &reading{a: a, product: p.Groups[a.First].TemplateNode(), writers: p.writers()}
	r.node = r.writers[a.Scores]
	if r.node == nil || r.node.Kind != ir.Pointwise || len(r.node.Outer) < 2 {
		return nil, false
	}
	n := len(r.node.Outer)
	ok := false
	r.node.Writes(func(_ *ir.Buffer, x *ir.Index) {
		ok = x != nil && sym.Is(x.Coef[n-1], 1) && sym.Same(x.Coef[n-2], a.Columns)
	})
	return r, ok && sym.Same(r.node.Outer[n-1], a.Columns) && sym.Same(r.node.Outer[n-2], a.Rows)
}

// writers are the nodes that write buffers, each alone.
func (p *Plan) writers() map[*ir.Buffer]*ir.Node {
	if p.writer == nil {
		p.writer = map[*ir.Buffer]*ir.Node{}
		for _, n := range p.IR.Nodes {
			n.Writes(func(b *ir.Buffer, _ *ir.Index) {
				if _, again := p.writer[b]; again {
					p.writer[b] = nil
				} else {
					p.writer[b] = n
				}
			})
		}
	}
	return p.writer
}

// within notes that sums, times a factor, have to be of at most so great a magnitude.
func (r *reading) within(factor, most float64) { r.bound = min(r.bound, most/factor, overflowing) }

// scores is what is known of all scores of a region.
func (r *reading) scores(where region, past sym.Int) fact {
	r.region, r.past, r.read, r.facts = where, past, map[*ir.Buffer][]placed{}, map[*ir.Node][]fact{}
	n := len(r.node.Outer)
	own := make([]ir.Index, n)
	for k := range own {
		own[k] = ir.Index{Coef: make([]sym.Int, n)}
		own[k].Coef[k] = sym.Const(1)
	}
	return r.stored(r.node, own)
}

// stored is what a node stores where its loops are at.
func (r *reading) stored(n *ir.Node, at []ir.Index) fact {
	facts := make([]fact, len(n.Body))
	r.facts[n] = facts
	for i := range n.Body {
		v := &n.Body[i]
		switch v.Op {
		case ir.Store:
			return facts[v.Args[0]]
		case ir.Const:
			facts[i] = constant(v)
		case ir.IndexOf:
			facts[i] = fact{kind: position, at: substituted(v.Index, at)}
		case ir.Load:
			facts[i] = r.loaded(v.Buf, substituted(v.Index, at))
		case ir.Cast:
			facts[i] = cast(v.DType, facts[v.Args[0]])
			if facts[i].kind == scaled && v.DType == ops.Float16 {
				r.within(facts[i].num, mostOfHalf)
			}
		case ir.And, ir.Or:
			facts[i] = joined(v.Op, facts[v.Args[0]], facts[v.Args[1]])
		case ir.Lt, ir.Le, ir.Gt, ir.Ge, ir.Eq, ir.Ne:
			facts[i] = r.compared(v.Op, facts[v.Args[0]], facts[v.Args[1]])
		case ir.Where:
			facts[i] = either(facts[v.Args[0]], facts[v.Args[1]], facts[v.Args[2]])
		default:
			facts[i] = r.computed(v, facts)
		}
	}
	return fact{}
}

func constant(v *ir.Value) fact {
	if v.DType.IsFloat() {
		return fact{kind: known, num: v.F}
	}
	return fact{kind: known, num: float64(v.I)}
}

// substituted is an address over the loops of the scores, where the loops that it is over are at.
func substituted(x ir.Index, at []ir.Index) ir.Index {
	out := ir.Index{Off: x.Off, Coef: make([]sym.Int, len(at[0].Coef))}
	for k, c := range x.Coef {
		if sym.Is(c, 0) {
			continue
		}
		out.Off = sym.Add(out.Off, sym.Mul(c, at[k].Off))
		for j, d := range at[k].Coef {
			if !sym.Is(d, 0) {
				out.Coef[j] = sym.Add(out.Coef[j], sym.Mul(c, d))
			}
		}
	}
	return out
}

// loaded is what is known of the element of a buffer at an address.
func (r *reading) loaded(b *ir.Buffer, x ir.Index) fact {
	for _, p := range r.read[b] {
		if p.at.Equal(x) {
			return p.fact
		}
	}
	f := fact{}
	if w := r.writers[b]; w == r.product {
		f = fact{kind: scaled, num: 1}
		if b.DType == ops.Float16 {
			r.within(1, mostOfHalf)
		}
	} else if w != nil && w.Kind == ir.Pointwise && len(w.Outer) > 0 {
		if at, ok := r.placed(w, x); ok {
			f = r.stored(w, at)
		}
	}
	r.read[b] = append(r.read[b], placed{x, f})
	return f
}

// placed is where the loops of a node are when it stores at an address over the loops of the scores.
func (r *reading) placed(w *ir.Node, x ir.Index) ([]ir.Index, bool) {
	var to *ir.Index
	stores := 0
	w.Writes(func(_ *ir.Buffer, at *ir.Index) { to, stores = at, stores+1 })
	if stores != 1 || to == nil || !sym.Is(to.Off, 0) || !sym.Is(x.Off, 0) {
		return nil, false
	}
	at := make([]ir.Index, len(w.Outer))
	for m := range at {
		at[m].Coef = make([]sym.Int, len(x.Coef))
	}
	used := make([]bool, len(at))
	for j, c := range x.Coef {
		if size := r.node.Outer[j]; !sym.Is(c, 0) && !sym.Is(size, 1) {
			m := -1
			for k := range at {
				if sym.Same(to.Coef[k], c) && !sym.Is(w.Outer[k], 1) {
					m = k
				}
			}
			if m < 0 || used[m] || !fits(size, w.Outer[m]) {
				return nil, false
			}
			used[m] = true
			at[m].Coef[j] = sym.Const(1)
		}
	}
	return at, true
}

// fits reports whether a loop of a size surely stays within another.
func fits(size, within sym.Int) bool {
	spare, fixed := sym.Sub(within, size).IsConst()
	return fixed && spare >= 0
}

// joined is "and" or "or" of truths.
func joined(op ir.Op, x, y fact) fact {
	decides := 0.0
	if op == ir.Or {
		decides = 1
	}
	for _, f := range []fact{x, y} {
		if f.kind == known && f.num == decides {
			return f
		}
	}
	if x.kind == known && y.kind == known {
		return fact{kind: known, num: 1 - decides}
	}
	return fact{}
}

// either is one of two numbers.
func either(c, x, y fact) fact {
	number := func(f fact) bool { return f.kind == known || f.kind == low }
	switch {
	case c.kind == known && c.num != 0:
		return x
	case c.kind == known:
		return y
	case x.kind == known && y.kind == known && x.num == y.num:
		return x
	case number(x) && number(y):
		return fact{kind: low, num: max(x.num, y.num)}
	}
	return fact{}
}

// computed is arithmetic.
func (r *reading) computed(v *ir.Value, facts []fact) fact {
	x, y := facts[v.Args[0]], fact{}
	if len(v.Args) > 1 {
		y = facts[v.Args[1]]
	}
	if x.kind == position || y.kind == position {
		return moved(v.Op, x, y)
	}
	if v.Op == ir.Add && y.kind == scaled {
		x, y = y, x
	}
	switch {
	case v.Op == ir.Not && x.kind == known:
		return fact{kind: known, num: 1 - x.num}
	case v.Op == ir.Neg && x.kind == known:
		return fact{kind: known, num: -x.num}
	case x.kind == known && y.kind == known:
		return folding(v, x.num, y.num)
	case x.kind == scaled && y.kind == known:
		return r.rescaled(v, x, y)
	case y.kind == scaled && x.kind == known && v.Op == ir.Mul:
		return r.rescaled(v, y, x)
	case v.Op == ir.Add && x.kind == scaled && y.kind == low:
		return r.lowered(v.DType, x, y.num)
	}
	return fact{}
}

// rescaled is a sum of the first product by a constant.
func (r *reading) rescaled(v *ir.Value, x, c fact) fact {
	size := math.Abs(c.num)
	switch {
	case v.Op == ir.Add && c.num == 0:
		return x
	case v.Op == ir.Add && c.num < 0:
		return r.lowered(v.DType, x, c.num)
	case size == 0 || math.IsInf(size, 0) || math.IsNaN(size):
	case v.Op == ir.Mul:
		return fact{kind: scaled, num: x.num * size}
	case v.Op == ir.Div:
		return fact{kind: scaled, num: x.num / size}
	}
	return fact{}
}

// lowered is a sum of the first product and a number below zero.
func (r *reading) lowered(d ops.DType, x fact, by float64) fact {
	switch {
	case !math.IsInf(by, -1):
		r.within(x.num, math.Abs(by)/8)
		return fact{kind: low, num: by / 2}
	case d == ops.Float16:
		r.within(x.num, mostOfHalf)
	default:
		r.within(x.num, overflowing)
	}
	return fact{kind: known, num: by}
}

// folding is an operation on constants.
func folding(v *ir.Value, x, y float64) fact {
	var z float64
	switch v.Op {
	case ir.Add:
		z = x + y
	case ir.Sub:
		z = x - y
	case ir.Mul:
		z = x * y
	case ir.Div:
		if z = x / y; !v.DType.IsFloat() {
			return fact{}
		}
	default:
		return fact{}
	}
	return cast(v.DType, fact{kind: known, num: z})
}

// moved is a position and a constant, or the sum or difference of two.
func moved(op ir.Op, x, y fact) fact {
	whole := func(f *fact, like fact) bool {
		if f.kind == known && f.num == math.Trunc(f.num) && math.Abs(f.num) < 1<<52 {
			*f = fact{kind: position, at: ir.Index{Off: sym.Const(int64(f.num)), Coef: make([]sym.Int, len(like.at.Coef))}}
		}
		return f.kind == position
	}
	if op == ir.Neg && x.kind == position {
		y = x
		x = fact{kind: position, at: ir.Index{Coef: make([]sym.Int, len(y.at.Coef))}}
		op = ir.Sub
	}
	if op != ir.Add && op != ir.Sub || !whole(&x, y) || !whole(&y, x) {
		return fact{}
	}
	sign := sym.Const(1)
	if op == ir.Sub {
		sign = sym.Const(-1)
	}
	out := ir.Index{Off: sym.Add(x.at.Off, sym.Mul(sign, y.at.Off)), Coef: make([]sym.Int, len(x.at.Coef))}
	for j := range out.Coef {
		out.Coef[j] = sym.Add(x.at.Coef[j], sym.Mul(sign, y.at.Coef[j]))
	}
	return fact{kind: position, at: out}
}

// compared is a comparison of two numbers: of constants, or of positions that differ as column and row do.
func (r *reading) compared(op ir.Op, x, y fact) fact {
	truth := func(b bool) fact {
		if b {
			return fact{kind: known, num: 1}
		}
		return fact{kind: known}
	}
	if x.kind == known && y.kind == known {
		switch op {
		case ir.Lt:
			return truth(x.num < y.num)
		case ir.Le:
			return truth(x.num <= y.num)
		case ir.Gt:
			return truth(x.num > y.num)
		case ir.Ge:
			return truth(x.num >= y.num)
		case ir.Eq:
			return truth(x.num == y.num)
		}
		return truth(x.num != y.num)
	}
	d := moved(ir.Sub, x, y) // all comparisons are of that with nothing
	if d.kind != position || op == ir.Eq || op == ir.Ne {
		return fact{}
	}
	if op == ir.Lt || op == ir.Ge {
		d.at.Off = sym.Add(d.at.Off, sym.Const(1))
	}
	f := r.atMostZero(d.at)
	if f.kind == known && (op == ir.Gt || op == ir.Ge) {
		f.num = 1 - f.num
	}
	return f
}

// atMostZero is whether column less row and a number, or row less column, is at most zero in all of the region.
func (r *reading) atMostZero(d ir.Index) fact {
	n := len(d.Coef)
	for j, c := range d.Coef {
		if j < n-2 && !sym.Is(c, 0) {
			return fact{}
		}
	}
	row, col := d.Coef[n-2], d.Coef[n-1]
	rising := sym.Is(row, -1) && sym.Is(col, 1) // a column may be at most the row less the number
	if !rising && !(sym.Is(row, 1) && sym.Is(col, -1)) {
		return fact{}
	}
	to := sym.Neg(d.Off)
	if !rising {
		to = sym.Sub(d.Off, sym.Const(1))
	}
	if !slices.ContainsFunc(r.pasts, func(p sym.Int) bool { return sym.Same(p, to) }) {
		r.pasts = append(r.pasts, to)
	}
	if r.region == somewhere {
		return fact{}
	}
	beyond, fixed := sym.Sub(r.past, to).IsConst() // what the region's edge is above the comparison's
	within := 0.0                                  // what it is at a column of at most row and to
	if rising {
		within = 1
	}
	switch {
	case !fixed:
	case r.region == above && beyond >= 0, r.region == last && beyond > 0:
		return fact{kind: known, num: 1 - within}
	case r.region == below && beyond <= 0, r.region == last && beyond <= 0:
		return fact{kind: known, num: within}
	}
	return fact{}
}
