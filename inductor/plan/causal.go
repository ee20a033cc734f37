package plan

import (
	"math"
	"slices"

	"tcdbg/inductor/ir"
	"tcdbg/inductor/sched"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file finds the scores of an attention that nobody needs: where the graph's own expression of the mask says that no row sees a
// key after its own number plus so many, and what softmax makes of those scores is zero. A target computes none of them then. That
// they are masked is read from what computes them (position.go); here is what the second kernel makes of them.

// Causal says what an attention need not compute: scores of columns after a row's own number plus Past. What is left out gives the
// same bits only where Past is not negative, no value is infinite or NaN, and the sums of the first product's magnitudes are at most
// Bound, which is infinite where it does not matter.
type Causal struct {
	Past  sym.Int
	Bound float64
	first *sched.Kernel // of the first product
	seen  map[*ir.Node][]fact
}

// Seen are the steps of the first product's kernel as they are for columns up to a row's own number and Past, where a mask is a
// constant; false where it is none.
func (c *Causal) Seen() ([]sched.Step, bool) {
	steps, found := slices.Clone(c.first.Steps), false
	for i := range steps {
		facts := c.seen[steps[i].Node]
		if len(facts) != len(steps[i].Body) {
			continue
		}
		it := *steps[i].Item
		it.Body = slices.Clone(it.Body)
		for j, f := range facts {
			v := &it.Body[j]
			if f.kind != known || v.Op == ir.Store || v.Op == ir.Const {
				continue
			}
			found = true
			if *v = (ir.Value{Op: ir.Const, DType: v.DType}); v.DType.IsFloat() {
				v.F = f.num
			} else {
				v.I = int64(f.num)
			}
		}
		steps[i].Item = &it
	}
	return steps, found
}

// FLOPs counts the arithmetic operations of one run of a group's kernel, without those whose results a causal mask hides.
func (p *Plan) FLOPs(group int) int64 {
	n := p.Kernels[group].FLOPs()
	if a := p.AttentionAt(group); a != nil && a.Causal != nil {
		return int64(math.Round(float64(n) * a.shown()))
	}
	return n
}

// shown is the part of the scores that a row sees, of the sizes that are compiled for.
func (a *Attention) shown() float64 {
	rows, columns, past := ir.HintOf(a.Rows), ir.HintOf(a.Columns), ir.HintOf(a.Causal.Past)
	if rows <= 0 || columns <= 0 || past < 0 {
		return 1
	}
	partly := min(rows, max(0, columns-past-1)) // rows that do not see all
	seen := partly*(past+1) + partly*(partly-1)/2 + (rows-partly)*columns
	return float64(seen) / float64(rows*columns)
}

// leastGap is how far a masked score is below the row's greatest one at the least: the exponential of that is zero in float32.
const leastGap = 256

// overflowing is a sum that surely has not overflowed, nor does what an epilogue makes of it.
const overflowing = 0x1p120

// mostOfHalf is the same in float16.
const mostOfHalf = 0x1p14

// causal finds what an attention need not compute; nil where nothing is proven.
func (p *Plan) causal(a *Attention) *Causal {
	r, ok := p.newReading(a)
	if !ok {
		return nil
	}
	r.scores(somewhere, sym.Int{}) // notes the numbers that rows are compared with
	for _, past := range r.pasts {
		if v, known := past.IsConst(); known && v < 0 {
			continue
		}
		r.bound = math.Inf(1)
		masked := r.scores(above, past)
		if masked.kind != known && masked.kind != low || !(masked.num <= -2*leastGap) {
			continue
		}
		if !math.IsInf(masked.num, -1) && !r.seen(past, masked.num) {
			continue
		}
		if p.leavesNothing(a, masked) {
			out := &Causal{Past: past, Bound: r.bound, first: p.Kernels[a.First]}
			r.scores(below, past)
			out.seen = r.facts
			return out
		}
	}
	return nil
}

// seen reports whether every row surely sees a key whose score is well above what is masked: the last one that it may see, where all
// rows have one, or all of them.
func (r *reading) seen(past sym.Int, masked float64) bool {
	places := []region{below}
	if spare, fixed := sym.Sub(sym.Sub(r.a.Columns, r.a.Rows), past).IsConst(); fixed && spare >= 0 {
		places = append(places, last)
	}
	for _, place := range places {
		if f := r.scores(place, past); f.kind == scaled {
			r.within(f.num, math.Abs(masked)/4)
			return true
		}
	}
	return false
}

// leavesNothing reports whether the second kernel makes zeros of masked scores, and its sums and extremes are the same without them.
func (p *Plan) leavesNothing(a *Attention, masked fact) bool {
	made := map[*ir.Buffer]fact{a.Scores: masked}
	for _, st := range p.Kernels[a.First+1].Steps {
		n := st.Node
		if n.Kind != ir.Pointwise && n.Kind != ir.Reduction {
			return false
		}
		facts := make([]fact, len(n.Body))
		for i := range n.Body {
			v := &n.Body[i]
			switch v.Op {
			case ir.Load:
				facts[i] = made[v.Buf]
			case ir.Const:
				facts[i] = constant(v)
			case ir.Store:
				made[v.Buf] = facts[v.Args[0]]
			case ir.Reduce:
				if facts[i] = folded(v.Red, facts[v.Args[0]]); facts[i].kind == unknown {
					return false
				}
			default:
				facts[i] = ofRow(v, facts)
			}
		}
	}
	return made[a.Weights].kind == zero
}

// folded is what a row's fold of a masked number is; unknown where it is another one without it.
func folded(how ir.ReduceOp, f fact) fact {
	switch {
	case how == ir.RMax && (f.kind == known || f.kind == low) && f.num <= -2*leastGap:
		return fact{kind: top}
	case how == ir.RSum && f.kind == zero:
		return fact{kind: total}
	case how == ir.RAll && (f.kind == dead || f.kind == known && f.num != 0):
		return fact{kind: flag}
	}
	return fact{}
}

// ofRow is what an operation of the second kernel makes of a masked number and of what its row was folded to.
func ofRow(v *ir.Value, facts []fact) fact {
	arg := func(i int) fact { return facts[v.Args[i]] }
	is := func(x, y kind) bool { return len(v.Args) == 2 && arg(0).kind == x && arg(1).kind == y }
	switch v.Op {
	case ir.Cast:
		return cast(v.DType, arg(0))
	case ir.Sub:
		if is(known, top) || is(low, top) {
			return fact{kind: gap}
		}
	case ir.Exp:
		if arg(0).kind == gap {
			return fact{kind: zero}
		}
	case ir.Reciprocal:
		if arg(0).kind == total {
			return arg(0)
		}
	case ir.Mul, ir.Div:
		if is(zero, total) || v.Op == ir.Mul && is(total, zero) {
			return fact{kind: zero}
		}
	case ir.Eq:
		return sameAs(arg(0), arg(1))
	case ir.Where:
		return chosen(arg(1), arg(2))
	}
	return fact{}
}

// sameAs is a comparison of a masked score with minus infinity, or of what a row was folded to with a constant.
func sameAs(x, y fact) fact {
	switch {
	case y.kind != known:
		return fact{}
	case x.kind == top || x.kind == total:
		return fact{kind: flag}
	case (x.kind == known || x.kind == low) && math.IsInf(y.num, -1):
		if x.kind == known && x.num == y.num {
			return fact{kind: known, num: 1}
		}
		return fact{kind: dead}
	}
	return fact{}
}

// chosen is what a row without keys has in place of a number, or the number.
func chosen(x, y fact) fact {
	finite := x.kind == known && !math.IsInf(x.num, 0) && !math.IsNaN(x.num)
	switch {
	case finite && (y.kind == top || y.kind == total), finite && x.num == 0 && y.kind == zero:
		return y
	}
	return fact{}
}

// cast is a fact of a number in another type.
func cast(d ops.DType, f fact) fact {
	switch f.kind {
	case known:
		if half := d == ops.BFloat16 || d == ops.Float16; half && !slices.Contains([]float64{-1, 0, 1}, f.num) && !math.IsInf(f.num, 0) {
			return fact{kind: low, num: f.num + math.Abs(f.num)/64} // however it is rounded
		}
		return fact{kind: known, num: rounded(d, f.num)}
	case position:
		if d.IsFloat() && d != ops.Float32 && d != ops.Float64 || d.Size() < 4 {
			return fact{}
		}
	}
	return f
}

// rounded is a number in a type that holds it nearly.
func rounded(d ops.DType, x float64) float64 {
	switch d {
	case ops.Float32:
		return float64(float32(x))
	case ops.Bool:
		if x != 0 {
			return 1
		}
	}
	return x
}
