package ir

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"tcdbg/ops"
)

// What an operation yields of two numbers lies in the interval that it yields of the
// intervals which hold them.
func TestIntervalsHoldWhatOperationsYield(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	number := func() int64 {
		switch r.IntN(4) {
		case 0:
			return []int64{math.MinInt64, math.MaxInt64, 0, -1, 1}[r.IntN(5)]
		case 1:
			return int64(r.Uint64())
		}
		return r.Int64N(41) - 20
	}
	around := func(x int64) Interval {
		return Interval{min(x, number()), max(x, number())}
	}
	truth := func(b bool) int64 {
		if b {
			return 1
		}
		return 0
	}
	meaning := map[Op]func(a, b int64) int64{
		Add: func(a, b int64) int64 { return a + b }, Sub: func(a, b int64) int64 { return a - b },
		Mul: func(a, b int64) int64 { return a * b }, Max: func(a, b int64) int64 { return max(a, b) },
		Min: func(a, b int64) int64 { return min(a, b) }, Relu: func(a, _ int64) int64 { return max(a, 0) },
		Lt: func(a, b int64) int64 { return truth(a < b) }, Le: func(a, b int64) int64 { return truth(a <= b) },
		Gt: func(a, b int64) int64 { return truth(a > b) }, Ge: func(a, b int64) int64 { return truth(a >= b) },
		Rem: func(a, b int64) int64 {
			if b == 0 {
				return 0
			}
			m := a % b
			if m != 0 && (m < 0) != (b < 0) {
				m += b
			}
			return m
		},
	}
	for range 20000 {
		a, b := number(), number()
		x, y := around(a), around(b)
		for o, f := range meaning {
			to := ops.Int64
			if o.Compares() {
				to = ops.Bool
			}
			if o == Rem && b == 0 {
				continue
			}
			got := (intervals{}).Apply(o, ops.Int64, to, []Interval{x, y}[:o.Arity()])
			if v := f(a, b); v < got.Lo || v > got.Hi {
				t.Fatalf("%s of %d in %v and %d in %v is %d, not in %v", o, a, x, b, y, v, got)
			}
		}
	}
}

// Loops that leave their buffer are found; those that stay within it are not.
func TestAddressesLieWithinBuffers(t *testing.T) {
	for name, c := range map[string]struct{ text, err string }{
		"within":   {"  t0 = load.f32 a[i0]\n  store.f32 r[i0], t0\n", ""},
		"beyond":   {"  t0 = load.f32 a[i0 + 1]\n  store.f32 r[i0], t0\n", "addresses 1 to 8 of 8 elements"},
		"store":    {"  t0 = load.f32 a[i0]\n  store.f32 r[2*i0], t0\n", "addresses 0 to 14 of 8 elements"},
		"position": {"  t0 = const.i64 8\n  t1 = loadat.f32 a[0], t0\n  store.f32 r[i0], t1\n", "addresses 8 to 8 of 8 elements"},
		"may be":   {"  t0 = index.i64 [2*i0]\n  t1 = loadat.f32 a[0], t0\n  store.f32 r[i0], t1\n", ""},
		"brought in": {"  t0 = index.i64 [2*i0]\n  t1 = const.i64 8\n  t2 = rem.i64 t0, t1\n  t3 = loadat.f32 a[0], t2\n  store.f32 " +
			"r[i0], t3\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Parse("program f\ninput a: f32[8] stride [1]\nresult r: f32[8] stride [1]\nop0 = pointwise [8]\n" + c.text +
				"return r + 0 shape [8] stride [1]\n")
			if err != nil {
				t.Fatal(err)
			}
			err = p.CheckAddresses()
			if (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%v, want %q", err, c.err)
			}
		})
	}
}
