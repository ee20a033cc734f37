package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// This file writes the turnings of Winograd's F(2x2, 3x3): of filters and of tiles
// of the image into the operands of 16 products, and of the products into pixels.
// A vector holds the same value of neighbouring filters or tiles.

func winograd(g *generator) {
	for _, w := range widths {
		winoFilter(g, w)
		winoValues(g, w)
		winoPixels(g, w)
	}
}

// winoFilter turns the filters of some rows of the weight, which lie side by side.
func winoFilter(g *generator, w width) {
	g.function("winoFilter"+w.String(), "func(dst, src *float32, channels, n, point int)",
		"turns the filters of n rows: 9 steps of n lanes for each channel become 16 values, point bytes apart.")
	dst, src, channels, n, point := g.arg("dst"), g.arg("src"), g.arg("channels"), g.arg("n"), g.arg("point")
	step := g.GP64()
	g.MOVQ(n, step)
	g.SHLQ(operand.Imm(2), step)
	m := g.masks(w, n, 1, 14)
	half := w.reg(13)
	g.VMOVUPS(g.float(0.5), half)
	f := func(i int) reg.VecPhysical { return w.reg(i) }
	// middle makes the two values that take all of a, b and c: (a+c+b)/2 and (a+c-b)/2.
	middle := func(a, b, c, plus, minus reg.VecPhysical) {
		g.VADDPS(c, a, plus)
		g.VSUBPS(b, plus, minus)
		g.VADDPS(b, plus, plus)
		g.VMULPS(half, plus, plus)
		g.VMULPS(half, minus, minus)
	}
	g.eachChannel(w, m, dst, channels, step, point, func(store func(reg.VecPhysical)) {
		for i := range 9 {
			g.loadMasked(w, m, 0, at(src, 0), f(i))
			g.ADDQ(step, src)
		}
		row := func(a, b, c reg.VecPhysical) {
			store(a)
			middle(a, b, c, f(9), f(10))
			store(f(9))
			store(f(10))
			store(c)
		}
		row(f(0), f(1), f(2))
		for x := range 3 { // the first row is no longer needed, the middle one neither
			middle(f(x), f(3+x), f(6+x), f(9), f(10))
			g.VMOVAPS(f(9), f(x))
			g.VMOVAPS(f(10), f(3+x))
		}
		row(f(0), f(1), f(2))
		row(f(3), f(4), f(5))
		row(f(6), f(7), f(8))
	})
}

// eachChannel writes the loop over the channels that are transformed: body makes a
// channel's values and stores one after the other, point bytes apart; those of the next
// channel are step bytes on.
func (g *generator) eachChannel(w width, m mask, dst, channels, step, point reg.GPVirtual, body func(store func(r reg.VecPhysical))) {
	to, loop := g.GP64(), g.label("loop")
	g.Label(loop)
	g.MOVQ(dst, to)
	body(func(r reg.VecPhysical) {
		g.storeMasked(w, m, 0, r, at(to, 0))
		g.ADDQ(point, to)
	})
	g.ADDQ(step, dst)
	g.DECQ(channels)
	g.JNZ(operand.LabelRef(loop))
	g.VZEROUPPER()
	g.RET()
}

// winoValues turns tiles of the image. Its planes are those of a stride of two:
// element x of row y is in plane y%2*2 + x%2.
func winoValues(g *generator, w width) {
	g.function("winoValues"+w.String(), "func(dst, src *float32, channels, n, channel, plane, pitch, width, point int)",
		"turns n tiles of each channel into 16 values, point bytes apart; a channel's are width bytes from the next one's.")
	dst, src, channels, n := g.arg("dst"), g.arg("src"), g.arg("channels"), g.arg("n")
	channel, plane, pitch := g.arg("channel"), g.arg("plane"), g.arg("pitch")
	point := g.arg("point")
	rows := [4]reg.GPVirtual{src, g.GP64(), g.GP64(), g.GP64()}
	g.LEAQ(operand.Mem{Base: src, Index: plane, Scale: 2}, rows[1])
	g.LEAQ(operand.Mem{Base: src, Index: pitch, Scale: 1}, rows[2])
	g.LEAQ(operand.Mem{Base: rows[1], Index: pitch, Scale: 1}, rows[3])
	m := g.masks(w, n, 1, 14)
	element := func(y, x int, r reg.VecPhysical) {
		from := at(rows[y], x/2*4)
		if x%2 == 1 {
			from.Index, from.Scale = plane, 1
		}
		g.loadMasked(w, m, 0, from, r)
	}
	d := func(x int) reg.VecPhysical { return w.reg(x) }
	other := w.reg(4)
	g.eachChannel(w, m, dst, channels, g.arg("width"), point, func(store func(reg.VecPhysical)) {
		difference := func(op func(...operand.Op), a, b int) {
			op(d(a), d(b), other)
			store(other)
		}
		for _, c := range []struct {
			y, z int
			op   func(...operand.Op)
		}{{0, 2, g.VSUBPS}, {1, 2, g.VADDPS}, {2, 1, g.VSUBPS}, {1, 3, g.VSUBPS}} {
			for x := range 4 {
				element(c.y, x, d(x))
				element(c.z, x, other)
				c.op(other, d(x), d(x))
			}
			difference(g.VSUBPS, 2, 0)
			difference(g.VADDPS, 2, 1)
			difference(g.VSUBPS, 1, 2)
			difference(g.VSUBPS, 3, 1)
		}
		for _, r := range rows {
			g.ADDQ(channel, r)
		}
	})
}

// winoPixels makes pixels of products: 2 rows of 2 for each lane.
func winoPixels(g *generator, w width) {
	g.function("winoPixels"+w.String(), "func(dst, src *float32, n, point, from, to, below int)",
		"makes pixels of n rows of a vector of products, whose 16 values are point bytes apart; rows are from bytes apart in src "+
			"and to in dst, where the second row of pixels is below bytes after the first.")
	dst, src, n, point := g.arg("dst"), g.arg("src"), g.arg("n"), g.arg("point")
	from, to, below := g.arg("from"), g.arg("to"), g.arg("below")
	at0, low := g.GP64(), g.GP64()
	top := func(x int) reg.VecPhysical { return w.reg(x) }
	bottom := func(x int) reg.VecPhysical { return w.reg(4 + x) }
	loop := g.label("loop")
	g.Label(loop)
	g.MOVQ(src, at0)
	next := func() { g.ADDQ(point, at0) }
	for x := range 4 {
		g.VMOVUPS(at(at0, 0), top(x))
		next()
	}
	for x := range 4 {
		g.VMOVUPS(at(at0, 0), bottom(x))
		g.VADDPS(bottom(x), top(x), top(x))
		next()
	}
	for x := range 4 {
		v := w.reg(8)
		g.VMOVUPS(at(at0, 0), v)
		g.VADDPS(v, top(x), top(x))
		g.VSUBPS(v, bottom(x), bottom(x))
		next()
	}
	for x := range 4 {
		g.VSUBPS(at(at0, 0), bottom(x), bottom(x))
		next()
	}
	g.LEAQ(operand.Mem{Base: dst, Index: below, Scale: 1}, low)
	for i, s := range []func(int) reg.VecPhysical{top, bottom} {
		left, right, a, b := w.reg(8), w.reg(9), w.reg(10), w.reg(11)
		g.VADDPS(s(1), s(0), left)
		g.VADDPS(s(2), left, left)
		g.VSUBPS(s(2), s(1), right)
		g.VSUBPS(s(3), right, right)
		interleave(g, w, left, right, a, b)
		p := []reg.GPVirtual{dst, low}[i]
		g.VMOVUPS(a, at(p, 0))
		g.VMOVUPS(b, at(p, w.bytes()))
	}
	g.ADDQ(from, src)
	g.ADDQ(to, dst)
	g.DECQ(n)
	g.JNZ(operand.LabelRef(loop))
	g.VZEROUPPER()
	g.RET()
}

// interleave puts the lanes of left and right in turns into a and b.
func interleave(g *generator, w width, left, right, a, b reg.VecPhysical) {
	if w == avx512 {
		for i, r := range []reg.VecPhysical{a, b} {
			g.VMOVUPS(g.zip(i), r)
			g.VPERMI2PS(right, left, r)
		}
		return
	}
	low, high := w.reg(12), w.reg(13)
	g.VUNPCKLPS(right, left, low)
	g.VUNPCKHPS(right, left, high)
	g.VPERM2F128(operand.Imm(0x20), high, low, a)
	g.VPERM2F128(operand.Imm(0x31), high, low, b)
}

// zip is the places of the lanes of two vectors in the first or second half of their
// lanes in turns.
func (g *generator) zip(half int) operand.Mem {
	name := []string{"zipLow", "zipHigh"}[half]
	return g.once(name, 16, func(i int) uint32 { return uint32(8*half + i/2 + i%2*16) })
}
