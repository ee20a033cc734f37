package ir

import (
	"math"
	"math/bits"

	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file bounds integers of bodies (interval arithmetic: Moore, Interval Analysis, 1966).

// Interval is what an integer or truth value may be: Lo and Hi are possible, nothing beyond
// them is. Nothing is known of floating-point numbers.
type Interval struct{ Lo, Hi int64 }

// rangeOf is every value of type d.
func rangeOf(d ops.DType) Interval {
	switch d {
	case ops.Bool:
		return Interval{0, 1}
	case ops.Uint8:
		return Interval{0, math.MaxUint8}
	case ops.Int8:
		return Interval{math.MinInt8, math.MaxInt8}
	case ops.Int16:
		return Interval{math.MinInt16, math.MaxInt16}
	case ops.Int32:
		return Interval{math.MinInt32, math.MaxInt32}
	}
	return Interval{math.MinInt64, math.MaxInt64}
}

func (x Interval) within(y Interval) bool { return y.Lo <= x.Lo && x.Hi <= y.Hi }

// add is the sum; it is not known where it may wrap round.
func (x Interval) add(y Interval) (Interval, bool) {
	lo, hi := x.Lo+y.Lo, x.Hi+y.Hi
	if wraps(x.Lo, y.Lo, lo) || wraps(x.Hi, y.Hi, hi) {
		return Interval{}, false
	}
	return Interval{lo, hi}, true
}

func wraps(a, b, sum int64) bool { return (a < 0) == (b < 0) && (sum < 0) != (a < 0) }

// mul is the product, in the same way.
func (x Interval) mul(y Interval) (Interval, bool) {
	out := Interval{math.MaxInt64, math.MinInt64}
	for _, a := range []int64{x.Lo, x.Hi} {
		for _, b := range []int64{y.Lo, y.Hi} {
			p, ok := product(a, b)
			if !ok {
				return Interval{}, false
			}
			out = Interval{min(out.Lo, p), max(out.Hi, p)}
		}
	}
	return out, true
}

func product(a, b int64) (int64, bool) {
	hi, lo := bits.Mul64(magnitude(a), magnitude(b))
	if hi != 0 || lo > math.MaxInt64 {
		return 0, false
	}
	if (a < 0) != (b < 0) {
		return -int64(lo), true
	}
	return int64(lo), true
}

func magnitude(a int64) uint64 {
	if a < 0 {
		return -uint64(a)
	}
	return uint64(a)
}

// intervals bounds element operations.
type intervals struct{}

var _ Handler[Interval] = intervals{}

// Constant is the number alone.
func (intervals) Constant(v *Value) Interval {
	if v.DType.IsFloat() {
		return rangeOf(v.DType)
	}
	return Interval{v.I, v.I}
}

// Cast keeps what the type holds.
func (intervals) Cast(x Interval, from, to ops.DType) Interval {
	switch all := rangeOf(to); {
	case to == ops.Bool && !from.IsFloat() && (x.Lo > 0 || x.Hi < 0):
		return Interval{1, 1}
	case to == ops.Bool && !from.IsFloat() && x == Interval{}:
		return x
	case from.IsFloat() || to.IsFloat() || !x.within(all):
		return all
	}
	return x
}

// Apply bounds one operation; what it does not know may be anything of the type.
func (h intervals) Apply(o Op, from, to ops.DType, x []Interval) Interval {
	all := rangeOf(to)
	if from.IsFloat() || to.IsFloat() {
		return all
	}
	out, known := all, true
	switch o {
	case Add:
		out, known = x[0].add(x[1])
	case Sub:
		if known = x[1].Lo != math.MinInt64; known {
			out, known = x[0].add(Interval{-x[1].Hi, -x[1].Lo})
		}
	case Mul:
		out, known = x[0].mul(x[1])
	case Max:
		out = Interval{max(x[0].Lo, x[1].Lo), max(x[0].Hi, x[1].Hi)}
	case Min:
		out = Interval{min(x[0].Lo, x[1].Lo), min(x[0].Hi, x[1].Hi)}
	case Relu:
		out = Interval{max(x[0].Lo, 0), max(x[0].Hi, 0)}
	case Where:
		out = h.chosen(x)
	case Rem: // the sign is the divisor's
		if known = x[1].Lo > 0; known {
			out = Interval{0, x[1].Hi - 1}
		}
	case Lt, Le, Gt, Ge:
		out = ordered(o, x[0], x[1])
	}
	if !known || !out.within(all) {
		return all
	}
	return out
}

// chosen is Where's result: one side where the condition is known.
func (intervals) chosen(x []Interval) Interval {
	switch x[0] {
	case Interval{1, 1}:
		return x[1]
	case Interval{0, 0}:
		return x[2]
	}
	return Interval{min(x[1].Lo, x[2].Lo), max(x[1].Hi, x[2].Hi)}
}

// ordered is what a comparison yields.
func ordered(o Op, x, y Interval) Interval {
	switch o {
	case Gt:
		return ordered(Lt, y, x)
	case Ge:
		return ordered(Le, y, x)
	}
	less := func(a, b int64) bool { return a < b || o == Le && a == b }
	switch {
	case less(x.Hi, y.Lo):
		return Interval{1, 1}
	case !less(x.Lo, y.Hi):
		return Interval{0, 0}
	}
	return Interval{0, 1}
}

// bounds is where an address of n lies; it is not known of sizes that are not numbers.
func (n *Node) bounds(x Index) (Interval, bool) {
	at, ok := constant(x.Off)
	for k, size := range n.Sizes() {
		if k >= len(x.Coef) || !ok {
			return at, ok
		}
		times, isNumber := constant(x.Coef[k])
		trips, fixed := size.IsConst()
		if !isNumber || !fixed || trips < 1 {
			return at, false
		}
		var part Interval
		if part, ok = times.mul(Interval{0, trips - 1}); ok {
			at, ok = at.add(part)
		}
	}
	return at, ok
}

func constant(x sym.Int) (Interval, bool) {
	v, ok := x.IsConst()
	return Interval{v, v}, ok
}
