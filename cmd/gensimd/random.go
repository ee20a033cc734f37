package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// This file writes random numbers: the recurrence of mt19937, and uniform and normal
// numbers of its words. The steps are those of the functions in random_plain.go, which
// they agree with to the last bit; so both levels take the loops of AVX2.

func random(g *generator) {
	twist(g)
	uniforms(g)
	normals(g)
	bernoullis(g)
}

// The shape of mt19937.
const twisterSize, twisterShift, twisterMatrix = 624, 397, 0x9908b0df

func twist(g *generator) {
	g.function("twist2", "func(words *uint32, n int)", "twist2 continues a line of words by n, a multiple of eight, after the first 624.")
	p, n := g.arg("words"), g.arg("n")
	loop := g.label("loop")
	g.Label(loop)
	word, following, odd := reg.Y0, reg.Y1, reg.Y2
	g.VMOVDQU(at(p, 0), word)
	g.VMOVDQU(at(p, 4), following)
	g.VPAND(g.word(signBit), word, word)
	g.VPAND(g.word(1), following, odd)
	g.VPAND(g.word(allButSign), following, following)
	g.VPOR(word, following, word)
	g.VPSRLD(operand.Imm(1), word, word)
	g.VPXOR(at(p, 4*twisterShift), word, word)
	g.VPXOR(following, following, following)
	g.VPSUBD(odd, following, odd) // all bits of the odd ones
	g.VPAND(g.word(twisterMatrix), odd, odd)
	g.VPXOR(odd, word, word)
	g.VMOVDQU(word, at(p, 4*twisterSize))
	g.ADDQ(imm(32), p)
	g.SUBQ(imm(8), n)
	g.JG(operand.LabelRef(loop))
	g.VZEROUPPER()
	g.RET()
}

// temper loads the words at p and makes of them the numbers that they give; t is room.
func (g *generator) temper(p operand.Mem, x, t reg.VecPhysical) {
	g.VMOVDQU(p, x)
	g.VPSRLD(operand.Imm(11), x, t)
	g.VPXOR(t, x, x)
	g.VPSLLD(operand.Imm(7), x, t)
	g.VPAND(g.word(0x9d2c5680), t, t)
	g.VPXOR(t, x, x)
	g.VPSLLD(operand.Imm(15), x, t)
	g.VPAND(g.word(0xefc60000), t, t)
	g.VPXOR(t, x, x)
	g.VPSRLD(operand.Imm(18), x, t)
	g.VPXOR(t, x, x)
}

// uniform makes numbers of [0, 1) of the words at p; t is room.
func (g *generator) uniform(p operand.Mem, x, t reg.VecPhysical) {
	g.temper(p, x, t)
	g.VPAND(g.word(1<<24-1), x, x)
	g.VCVTDQ2PS(x, x)
	g.VMULPS(g.float(1.0/(1<<24)), x, x)
}

func uniforms(g *generator) {
	g.function(
		"uniforms2", "func(dst *float32, words *uint32, n int, scale, base float32)",
		"uniforms2 makes numbers of [base, base+scale) of n words, a multiple of eight.",
	)
	dst, words, n := g.arg("dst"), g.arg("words"), g.arg("n")
	scale, base := reg.Y14, reg.Y15
	g.broadcast("scale", scale)
	g.broadcast("base", base)
	loop := g.label("loop")
	g.Label(loop)
	g.uniform(at(words, 0), reg.Y0, reg.Y1)
	g.VFMADD213PS(base, scale, reg.Y0)
	g.VMOVUPS(reg.Y0, at(dst, 0))
	g.advance([]reg.GPVirtual{dst, words}, 32)
	g.SUBQ(imm(8), n)
	g.JG(operand.LabelRef(loop))
	g.VZEROUPPER()
	g.RET()
}

func normals(g *generator) {
	g.function(
		"normals2", "func(dst *float32, words *uint32, n int, mean, std float32)",
		"normals2 makes normal numbers of n words, a multiple of sixteen: of each sixteen the first half are radii, the second angles.",
	)
	dst, words, n := g.arg("dst"), g.arg("words"), g.arg("n")
	mean, std := reg.Y14, reg.Y15
	g.broadcast("mean", mean)
	g.broadcast("std", std)
	loop := g.label("loop")
	g.Label(loop)
	radius, sin, cos := reg.Y0, reg.Y1, reg.Y2
	g.uniform(at(words, 0), reg.Y3, reg.Y4)
	g.VMOVUPS(g.float(1), radius)
	g.VSUBPS(reg.Y3, radius, radius)
	g.cephesLog(radius, reg.Y3, reg.Y4, reg.Y5, reg.Y6)
	g.VMULPS(g.float(-2), radius, radius)
	g.VSQRTPS(radius, radius)
	g.uniform(at(words, 32), sin, reg.Y4)
	g.VMULPS(g.float(float64(float32(2*math.Pi))), sin, sin)
	g.cephesSinCos(sin, cos, [6]reg.VecPhysical{reg.Y3, reg.Y4, reg.Y5, reg.Y6, reg.Y7, reg.Y8})
	g.VMULPS(radius, cos, cos)
	g.VMULPS(radius, sin, sin)
	g.VFMADD213PS(mean, std, cos)
	g.VFMADD213PS(mean, std, sin)
	g.VMOVUPS(cos, at(dst, 0))
	g.VMOVUPS(sin, at(dst, 32))
	g.advance([]reg.GPVirtual{dst, words}, 64)
	g.SUBQ(imm(16), n)
	g.JG(operand.LabelRef(loop))
	g.VZEROUPPER()
	g.RET()
}

func bernoullis(g *generator) {
	g.function(
		"bernoullis2", "func(dst *float32, words *uint32, n int, below int64)",
		"bernoullis2 makes n numbers, a multiple of eight, of twice as many words: one where the last 53 bits of both are less than "+
			"below, else zero.",
	)
	dst, words, n := g.arg("dst"), g.arg("words"), g.arg("n")
	below := reg.Y15
	g.VPBROADCASTQ(g.Load(g.Param("below"), g.XMM()), below)
	loop := g.label("loop")
	g.Label(loop)
	for i, x := range []reg.VecPhysical{reg.Y0, reg.Y1} {
		g.temper(at(words, 32*i), x, reg.Y2)
		const exchangePairs = 0xb1 // the first word is the higher one
		g.VPSHUFD(operand.Imm(exchangePairs), x, x)
		g.VPAND(g.once("bits53", 16, func(i int) uint32 { return []uint32{1<<32 - 1, 1<<21 - 1}[i%2] }), x, x)
		g.VPCMPGTQ(x, below, x)
	}
	// Half of each comparison, in the order of the words.
	g.VSHUFPS(operand.Imm(0x88), reg.Y1, reg.Y0, reg.Y0)
	g.VPERMQ(operand.Imm(0xd8), reg.Y0, reg.Y0)
	g.VANDPS(g.float(1), reg.Y0, reg.Y0)
	g.VMOVUPS(reg.Y0, at(dst, 0))
	g.advance([]reg.GPVirtual{dst}, 32)
	g.advance([]reg.GPVirtual{words}, 64)
	g.SUBQ(imm(8), n)
	g.JG(operand.LabelRef(loop))
	g.VZEROUPPER()
	g.RET()
}

// cephesLog replaces x, of (0, 1], by its logarithm.
func (g *generator) cephesLog(x, e, y, z, t reg.VecPhysical) {
	g.VPSRLD(operand.Imm(23), x, e)
	g.VPSUBD(g.word(126), e, e)
	g.VCVTDQ2PS(e, e)
	g.VANDPS(g.word(0x807fffff), x, x)
	g.VORPS(g.word(0x3f000000), x, x)
	const less = 1
	g.VCMPPS(operand.Imm(less), g.float(math.Sqrt2/2), x, t)
	g.VANDPS(g.float(1), t, z)
	g.VSUBPS(z, e, e)
	g.VANDPS(x, t, t)
	g.VSUBPS(g.float(1), x, x)
	g.VADDPS(t, x, x)
	g.VMULPS(x, x, z)
	g.polynomial(y, x, 7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
		-1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1)
	g.VMULPS(x, y, y)
	g.VMULPS(g.float(-2.12194440e-4), e, t)
	g.VFMADD213PS(t, z, y)
	g.VMULPS(g.float(0.5), z, z)
	g.VSUBPS(z, y, y)
	g.VADDPS(y, x, x)
	g.VMULPS(g.float(0.693359375), e, e)
	g.VADDPS(e, x, x)
}

// polynomial is that of x, highest power first.
func (g *generator) polynomial(to, x reg.VecPhysical, c ...float64) {
	g.VMOVUPS(g.float(c[0]), to)
	for _, k := range c[1:] {
		g.VFMADD213PS(g.float(k), x, to)
	}
}

// cephesSinCos replaces the angle x, of [0, 2 pi), by its sine and puts the cosine in cos.
func (g *generator) cephesSinCos(x, cos reg.VecPhysical, room [6]reg.VecPhysical) {
	octant, y, z, s, c, m := room[0], room[1], room[2], room[3], room[4], room[5]
	g.VMULPS(g.float(4/math.Pi), x, y)
	g.VCVTTPS2DQ(y, octant)
	g.VPADDD(g.word(1), octant, octant)
	g.VPAND(g.word(0xfffffffe), octant, octant)
	g.VCVTDQ2PS(octant, y)
	for _, part := range []float64{-0.78515625, -2.4187564849853515625e-4, -3.77489497744594108e-8} {
		g.VFMADD231PS(g.float(part), y, x)
	}
	g.VMULPS(x, x, z)
	g.polynomial(c, z, 2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
	g.VMULPS(z, c, c)
	g.VMULPS(g.float(0.5), z, y)
	g.VFMSUB213PS(y, z, c)
	g.VADDPS(g.float(1), c, c)
	g.polynomial(s, z, -1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
	g.VMULPS(z, s, s)
	g.VFMADD213PS(x, x, s)
	// In every second quarter they change places.
	g.VPAND(g.word(2), octant, m)
	g.VPSLLD(operand.Imm(30), m, m)
	g.VBLENDVPS(m, c, s, x)
	g.VBLENDVPS(m, s, c, cos)
	g.VPAND(g.word(4), octant, m)
	g.VPSLLD(operand.Imm(29), m, m)
	g.VXORPS(m, x, x)
	g.VPSUBD(g.word(2), octant, octant)
	g.VPANDN(g.word(4), octant, octant)
	g.VPSLLD(operand.Imm(29), octant, octant)
	g.VXORPS(octant, cos, cos)
}
