package interp

import (
	"math"

	"tcdbg/inductor/ir"
	"tcdbg/ops"
)

// This file folds reductions.

// accumulator folds a reduction; sums of floats are kept in float64.
type accumulator struct {
	v  *ir.Value
	d  ops.DType
	f  float64
	i  int64
	at int64
}

func newAccumulator(v *ir.Value, d ops.DType) *accumulator {
	a := &accumulator{v: v, d: d, at: math.MaxInt64}
	switch v.Red {
	case ir.RProd, ir.RAll:
		a.f, a.i = 1, 1
	case ir.RMax, ir.RArgMax:
		a.f, a.i = math.Inf(-1), math.MinInt64
	case ir.RMin, ir.RArgMin:
		a.f, a.i = math.Inf(1), math.MaxInt64
	}
	return a
}

func (a *accumulator) add(x vec, at func(int) int64) {
	for k := range x.len() {
		if a.d.IsFloat() {
			a.addFloat(floatAt(x, k), k, at)
		} else {
			a.addInt(x.i64[k], k, at)
		}
	}
}

func (a *accumulator) addFloat(x float64, k int, at func(int) int64) {
	nan := math.IsNaN(x) && !math.IsNaN(a.f)
	switch a.v.Red {
	case ir.RSum:
		a.f += x
	case ir.RProd:
		a.f *= x
	case ir.RMax:
		if x > a.f || nan {
			a.f = x
		}
	case ir.RMin:
		if x < a.f || nan {
			a.f = x
		}
	case ir.RArgMax:
		a.pick(x > a.f || nan, x == a.f || math.IsNaN(x) && math.IsNaN(a.f), at(k), func() { a.f = x })
	case ir.RArgMin:
		a.pick(x < a.f || nan, x == a.f || math.IsNaN(x) && math.IsNaN(a.f), at(k), func() { a.f = x })
	}
}

func (a *accumulator) addInt(x int64, k int, at func(int) int64) {
	switch a.v.Red {
	case ir.RSum:
		a.i += x
	case ir.RProd:
		a.i *= x
	case ir.RMax:
		a.i = max(a.i, x)
	case ir.RMin:
		a.i = min(a.i, x)
	case ir.RAny:
		a.i |= x
	case ir.RAll:
		a.i &= x
	case ir.RArgMax:
		a.pick(x > a.i, x == a.i, at(k), func() { a.i = x })
	case ir.RArgMin:
		a.pick(x < a.i, x == a.i, at(k), func() { a.i = x })
	}
}

func (a *accumulator) pick(better, same bool, at int64, take func()) {
	if better || same && at < a.at {
		take()
		a.at = at
	}
}

func (a *accumulator) result() vec {
	if a.v.Red == ir.RArgMax || a.v.Red == ir.RArgMin {
		return vec{i64: []int64{a.at}}
	}
	out := newVec(a.d, 1)
	if a.d.IsFloat() {
		setFloat(out, 0, a.f)
	} else {
		out.i64[0] = wrap(a.d, a.i)
	}
	return out
}
