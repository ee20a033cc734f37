package main

import (
	"fmt"
	"strings"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// This file writes the conversions between float32 and the formats of 16 bits.

// format is one of them: how a vector is loaded as float32, and rounded and stored.
// Loads take a place of as many bytes as they need.
type format struct {
	name, constant string // in names of functions, and of package simd
	load           func(g *generator, from operand.Mem, x reg.VecPhysical)
	store          func(l *lane, x reg.VecPhysical, to operand.Mem)
}

var formats = []format{
	{"BFloat", "BFloat", loadBFloat, storeBFloat},
	{"Half", "Float16", loadHalf, storeHalf},
}

func halves(g *generator) {
	for _, w := range widths {
		for _, f := range formats {
			widen(g, w, f)
			narrow(g, w, f)
			for _, b := range binaries {
				halfMap(g, w, f, b.name, b.doc, 2, rounds{plain: 2}, b.body)
			}
			for _, u := range unaries {
				halfMap(g, w, f, u.name, u.doc, 1, u.halfRounds(w), func(l *lane, x, _ reg.VecPhysical) { u.body(l, x) })
			}
		}
	}
}

// halfTables list the functions by format for package simd.
func halfTables() string {
	var sb strings.Builder
	for _, w := range widths {
		fmt.Fprintf(&sb, "\nvar halves%v = halfTable{\n", w)
		for _, f := range formats {
			fmt.Fprintf(&sb, "\t%s: {\n\t\twiden: widen%s%v, narrow: narrow%s%v,\n", f.constant, f.name, w, f.name, w)
			sb.WriteString("\t\tunary: [numUnary]halfUnary{\n")
			for _, u := range unaries {
				fmt.Fprintf(&sb, "\t\t\t%s: %s%s%v,\n", exported(u.name), u.name, f.name, w)
			}
			sb.WriteString("\t\t},\n\t\tbinary: [numBinary]halfBinary{\n")
			for _, b := range binaries {
				fmt.Fprintf(&sb, "\t\t\t%s: %s%s%v,\n", exported(b.name), b.name, f.name, w)
			}
			sb.WriteString("\t\t},\n\t},\n")
		}
		sb.WriteString("}\n")
	}
	return sb.String()
}

func exported(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

// halfMap is mapLoop for a format of 16 bits, over whole vectors. What is stored is what
// rounding the float32 result gives.
func halfMap(g *generator, w width, f format, name, doc string, inputs int, r rounds, body func(l *lane, x, y reg.VecPhysical)) {
	sig, names := "func(dst, src *uint16, n int)", []string{"src"}
	if inputs == 2 {
		sig, names = "func(dst, a, b *uint16, n int)", []string{"a", "b"}
	}
	g.function(name+f.name+w.String(), sig, doc)
	dst := g.arg("dst")
	var from []reg.GPVirtual
	for _, s := range names {
		from = append(from, g.arg(s))
	}
	g.places(w, g.arg("n"), r, func(u int, l *lane, i reg.GPVirtual) {
		place := func(p reg.GPVirtual) operand.Mem {
			return operand.Mem{Base: p, Index: i, Scale: 2, Disp: u * w.bytes() / 2}
		}
		x := l.tmp()
		f.load(g, place(from[0]), x)
		y := x
		if inputs == 2 {
			y = l.tmp()
			f.load(g, place(from[1]), y)
		}
		body(l, x, y)
		f.store(l, x, place(dst))
	})
}

func widen(g *generator, w width, f format) {
	g.function("widen"+f.name+w.String(), "func(dst *float32, src *uint16, n int)", "converts a whole number of vectors to float32.")
	dst, src := g.arg("dst"), g.arg("src")
	g.places(w, g.arg("n"), rounds{plain: 4}, func(u int, l *lane, i reg.GPVirtual) {
		x := l.tmp()
		f.load(g, operand.Mem{Base: src, Index: i, Scale: 2, Disp: u * w.bytes() / 2}, x)
		g.VMOVUPS(x, operand.Mem{Base: dst, Index: i, Scale: 4, Disp: u * w.bytes()})
	})
}

// narrow goes forward, so that the result may lie where the operand begins.
func narrow(g *generator, w width, f format) {
	g.function(
		"narrow"+f.name+w.String(), "func(dst *uint16, src *float32, n int)",
		"rounds a whole number of vectors to the nearest, ties to even; dst may be src.",
	)
	dst, src := g.arg("dst"), g.arg("src")
	g.places(w, g.arg("n"), rounds{plain: 2}, func(u int, l *lane, i reg.GPVirtual) {
		x := l.tmp()
		g.VMOVUPS(operand.Mem{Base: src, Index: i, Scale: 4, Disp: u * w.bytes()}, x)
		f.store(l, x, operand.Mem{Base: dst, Index: i, Scale: 2, Disp: u * w.bytes() / 2})
	})
}

// halfRounds is rounds with the conversions around the function.
func (u unary) halfRounds(w width) rounds {
	r := u.rounds(w)
	r.plain, r.together = min(r.plain, 2), min(r.together, 3)
	return r
}

// places calls body for whole vectors, a round at a time and then one by one, with the
// place of the first, and ends the function.
func (g *generator) places(w width, n reg.GPVirtual, r rounds, body func(u int, l *lane, i reg.GPVirtual)) {
	i, next := g.GP64(), g.GP64()
	g.XORQ(i, i)
	for _, r := range []rounds{r, {plain: 1}} {
		loop, done := g.label("loop"), g.label("done")
		g.Label(loop)
		g.LEAQ(at(i, r.vectors()*int(w)), next)
		g.CMPQ(next, n)
		g.JGT(operand.LabelRef(done))
		g.round(w, r, 0, func(u int, l *lane) { body(u, l, i) })
		g.MOVQ(next, i)
		g.JMP(operand.LabelRef(loop))
		g.Label(done)
	}
	g.VZEROUPPER()
	g.RET()
}

func loadBFloat(g *generator, from operand.Mem, x reg.VecPhysical) {
	g.VPMOVZXWD(from, x)
	g.VPSLLD(operand.Imm(16), x, x)
}

func loadHalf(g *generator, from operand.Mem, x reg.VecPhysical) { g.VCVTPH2PS(from, x) }

func storeHalf(l *lane, x reg.VecPhysical, to operand.Mem) {
	const nearestEven = 0
	l.VCVTPS2PH(operand.Imm(nearestEven), x, to)
}

func storeBFloat(l *lane, x reg.VecPhysical, to operand.Mem) {
	l.roundBFloat(x)
	l.storeLow(x, to)
}

// roundBFloat leaves the upper half of x, rounded, in its lower one.
func (l *lane) roundBFloat(x reg.VecPhysical) {
	const unordered, nan = 3, 0x7fc0
	odd, isNaN := l.tmp(), l.tmp()
	if l.w == avx512 {
		l.VCMPPS(operand.Imm(unordered), x, x, reg.K1)
	} else {
		l.VCMPPS(operand.Imm(unordered), x, x, isNaN)
	}
	l.VPSRLD(operand.Imm(16), x, odd)
	if l.w == avx512 {
		l.VPANDD(l.word(1), odd, odd)
	} else {
		l.VPAND(l.word(1), odd, odd)
	}
	l.VPADDD(l.word(0x7fff), x, x)
	l.VPADDD(odd, x, x)
	l.VPSRLD(operand.Imm(16), x, x)
	if l.w == avx512 {
		l.VMOVDQU32(l.word(nan), reg.K1, x)
	} else {
		l.VBLENDVPS(isNaN, l.word(nan), x, x)
	}
	l.next -= 2
}

// storeLow stores the lower half of each lane.
func (l *lane) storeLow(x reg.VecPhysical, to operand.Mem) {
	if l.w == avx512 {
		l.VPMOVDW(x, to)
		return
	}
	low, high := x.(reg.Vec).AsX(), l.tmp().(reg.Vec).AsX()
	l.VEXTRACTI128(operand.Imm(1), x, high)
	l.VPACKUSDW(high, low, high)
	l.VMOVDQU(high, to)
	l.next--
}
