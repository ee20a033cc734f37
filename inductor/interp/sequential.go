package interp

import "tcdbg/inductor/ir"

// This file runs what goes in the order of the inner loops: scans, and stores at
// positions that are data.

// scan combines each element of a tile with those before it, the tiles before
// included.
func (p *kernel) scan(key [2]int, v *value, x vec) vec {
	out := newVec(v.DType, x.len())
	last, started := p.scans[key]
	for k := range x.len() {
		now := x.at(k)
		if started {
			now = combined(v.Red, v.DType, last, now)
		}
		last, started = now, true
		out.set(k, now)
	}
	p.scans[key] = last
	return out
}

// at is element k as a vector of one.
func (v vec) at(k int) vec {
	switch {
	case v.f32 != nil:
		return vec{f32: v.f32[k : k+1]}
	case v.f64 != nil:
		return vec{f64: v.f64[k : k+1]}
	}
	return vec{i64: v.i64[k : k+1]}
}

// storeAt stores the elements of a tile one after the other, each so far after
// an address, or folds them into what lies there.
func (p *kernel) storeAt(v *value, x, at vec) {
	base, first, step := p.memory(v)
	d := v.Buf.DType
	for k := range x.len() {
		one, to := x.at(k), first+k*step+int(at.i64[k])
		if v.Op == ir.FoldAt {
			one = combined(v.Red, v.DType, readTile(d, base, to, 0, 1), one)
		}
		writeTile(d, one, base, to, 0)
	}
}
