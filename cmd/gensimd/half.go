package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// This file writes the conversions between float32 and the formats of 16 bits.

func halves(g *generator) {
	for _, w := range widths {
		widen(g, w, "BFloat", func(from operand.Mem, x reg.VecPhysical) {
			g.VPMOVZXWD(from, x)
			g.VPSLLD(operand.Imm(16), x, x)
		})
		widen(g, w, "Float16", func(from operand.Mem, x reg.VecPhysical) { g.VCVTPH2PS(from, x) })
		narrow(g, w, "BFloat", func(x, more reg.VecPhysical, to operand.Mem) {
			g.roundBFloat(w, x, more)
			g.storeLow(w, x, to)
		})
		narrow(g, w, "Float16", func(x, _ reg.VecPhysical, to operand.Mem) {
			const nearestEven = 0
			g.VCVTPS2PH(operand.Imm(nearestEven), x, to)
		})
	}
}

func widen(g *generator, w width, format string, load func(from operand.Mem, x reg.VecPhysical)) {
	g.function("widen"+format+w.String(), "func(dst *float32, src *uint16, n int)", "converts a whole number of vectors to float32.")
	dst, src := g.arg("dst"), g.arg("src")
	g.places(w, g.arg("n"), 4, func(u int, i reg.GPVirtual) {
		load(operand.Mem{Base: src, Index: i, Scale: 2, Disp: u * w.bytes() / 2}, w.reg(u))
		g.VMOVUPS(w.reg(u), operand.Mem{Base: dst, Index: i, Scale: 4, Disp: u * w.bytes()})
	})
}

// narrow goes forward, so that the result may stand where the operand begins.
func narrow(g *generator, w width, format string, store func(x, more reg.VecPhysical, to operand.Mem)) {
	g.function("narrow"+format+w.String(), "func(dst *uint16, src *float32, n int)", "rounds a whole number of vectors to the nearest, ties to even; dst may be src.")
	dst, src := g.arg("dst"), g.arg("src")
	g.places(w, g.arg("n"), 2, func(u int, i reg.GPVirtual) {
		x, more := w.reg(2*u), w.reg(2*u+1)
		g.VMOVUPS(operand.Mem{Base: src, Index: i, Scale: 4, Disp: u * w.bytes()}, x)
		store(x, more, operand.Mem{Base: dst, Index: i, Scale: 2, Disp: u * w.bytes() / 2})
	})
}

// places calls body for whole vectors, unroll at a time and then one by one, with the
// place of the first, and ends the function.
func (g *generator) places(w width, n reg.GPVirtual, unroll int, body func(u int, i reg.GPVirtual)) {
	i, next := g.GP64(), g.GP64()
	g.XORQ(i, i)
	for _, count := range []int{unroll, 1} {
		loop, done := g.label("loop"), g.label("done")
		g.Label(loop)
		g.LEAQ(at(i, count*int(w)), next)
		g.CMPQ(next, n)
		g.JGT(operand.LabelRef(done))
		for u := range count {
			body(u, i)
		}
		g.MOVQ(next, i)
		g.JMP(operand.LabelRef(loop))
		g.Label(done)
	}
	g.VZEROUPPER()
	g.RET()
}

// roundBFloat leaves the upper half of x, rounded, in its lower one; odd is room.
func (g *generator) roundBFloat(w width, x, odd reg.VecPhysical) {
	const unordered, nan = 3, 0x7fc0
	isNaN := w.reg(12)
	if w == avx512 {
		g.VCMPPS(operand.Imm(unordered), x, x, reg.K1)
	} else {
		g.VCMPPS(operand.Imm(unordered), x, x, isNaN)
	}
	g.VPSRLD(operand.Imm(16), x, odd)
	if w == avx512 {
		g.VPANDD(g.word(1), odd, odd)
	} else {
		g.VPAND(g.word(1), odd, odd)
	}
	g.VPADDD(g.word(0x7fff), x, x)
	g.VPADDD(odd, x, x)
	g.VPSRLD(operand.Imm(16), x, x)
	if w == avx512 {
		g.VMOVDQU32(g.word(nan), reg.K1, x)
	} else {
		g.VBLENDVPS(isNaN, g.word(nan), x, x)
	}
}

// storeLow stores the lower half of each lane.
func (g *generator) storeLow(w width, x reg.VecPhysical, to operand.Mem) {
	if w == avx512 {
		g.VPMOVDW(x, to)
		return
	}
	low, high := x.(reg.Vec).AsX(), reg.X13
	g.VEXTRACTI128(operand.Imm(1), x, high)
	g.VPACKUSDW(high, low, high)
	g.VMOVDQU(high, to)
}
