package sym

import "math"

// This file is what a program asks of numbers that come out of data, which only the checks
// that it makes of them can answer.

// HasUnbacked reports whether a depends on data.
func HasUnbacked(a Int) bool {
	for _, s := range a.Symbols() {
		if _, fixed := s.Fixed(); s.Unbacked && !fixed {
			return true
		}
	}
	return false
}

// Known answers a question of the program about data by what is checked of it.
func (r Rel) Known() (value, known bool) {
	d := Sub(r.A, r.B)
	if c, ok := d.IsConst(); ok {
		return holds(r.Op, c, 0), true
	}
	lo, hi, ok := d.dataBounds()
	if !ok {
		return false, false
	}
	switch r.Op {
	case OpEq, OpNe:
		equal := lo == 0 && hi == 0
		return equal == (r.Op == OpEq), equal || lo > 0 || hi < 0
	case OpLt:
		return hi < 0, hi < 0 || lo >= 0
	}
	return hi <= 0, hi <= 0 || lo > 0
}

// dataBounds are the bounds of k*u + c for one unbacked symbol u.
func (a Int) dataBounds() (lo, hi int64, ok bool) {
	s, k, c, ok := a.linear()
	if !ok {
		return 0, 0, false
	}
	lo, hi = satMul(k, s.Low), satMul(k, s.High)
	if k < 0 {
		lo, hi = hi, lo
	}
	return satAdd(lo, c), satAdd(hi, c), true
}

// linear is a as k*u + c.
func (a Int) linear() (u *Symbol, k, c int64, ok bool) {
	for _, t := range summands(a) {
		if v, isC := t.IsConst(); isC {
			c = v
			continue
		}
		n, unknown := coefficient(t)
		s, isSym := unknown.AsSymbol()
		if !isSym || u != nil || !s.Unbacked {
			return nil, 0, 0, false
		}
		u, k = s, n
	}
	return u, k, c, u != nil
}

// Assume takes a relation for true that the program checks when it runs: the bounds of its
// symbol, where it has one, are what it says.
func (r Rel) Assume() {
	for _, x := range []Int{r.A, r.B} {
		for _, s := range x.Symbols() {
			if s.Unbacked {
				s.Checks = append(s.Checks, r)
			}
		}
	}
	u, k, c, ok := Sub(r.A, r.B).linear() // k*u + c OP 0
	if !ok || k != 1 && k != -1 || c == math.MinInt64 {
		return
	}
	at := -c * k // u OP at, turned round where k is -1
	switch {
	case r.Op == OpEq:
		u.Low, u.High = max(u.Low, at), min(u.High, at)
	case r.Op == OpLt && k > 0:
		u.High = min(u.High, at-1)
	case r.Op == OpLe && k > 0:
		u.High = min(u.High, at)
	case r.Op == OpLt:
		u.Low = max(u.Low, at+1)
	case r.Op == OpLe:
		u.Low = max(u.Low, at)
	}
}
