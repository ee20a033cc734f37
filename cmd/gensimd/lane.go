package main

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// This file is arithmetic on one vector, spelled for either width. Where an
// operation has a second operand it may be memory: constants are.

// lane is the registers of one element's worth of code.
type lane struct {
	*generator
	w    width
	next int // the first register that is free
	most int // the highest that next has been
}

func (l *lane) tmp() reg.VecPhysical {
	r := l.w.reg(l.next)
	l.next++
	l.most = max(l.most, l.next)
	return r
}

// word is a constant in memory, once for each lane of the widest vector.
func (g *generator) word(bits uint32) operand.Mem {
	return g.once(fmt.Sprintf("c%08x", bits), 16, func(int) uint32 { return bits })
}

func (g *generator) float(v float64) operand.Mem { return g.word(math.Float32bits(float32(v))) }

func (l *lane) load(from operand.Op, r reg.VecPhysical) { l.VMOVUPS(from, r) }

// add is a+b.
func (l *lane) add(a reg.VecPhysical, b operand.Op, to reg.VecPhysical) { l.VADDPS(b, a, to) }
func (l *lane) sub(a reg.VecPhysical, b operand.Op, to reg.VecPhysical) { l.VSUBPS(b, a, to) }
func (l *lane) mul(a reg.VecPhysical, b operand.Op, to reg.VecPhysical) { l.VMULPS(b, a, to) }
func (l *lane) div(a reg.VecPhysical, b operand.Op, to reg.VecPhysical) { l.VDIVPS(b, a, to) }

// and and or are bitwise; AVX-512 has the float forms in an extension that
// every machine with it has.
func (l *lane) and(a reg.VecPhysical, b operand.Op, to reg.VecPhysical) { l.VANDPS(b, a, to) }
func (l *lane) or(a reg.VecPhysical, b operand.Op, to reg.VecPhysical)  { l.VORPS(b, a, to) }
func (l *lane) xor(a reg.VecPhysical, b operand.Op, to reg.VecPhysical) { l.VXORPS(b, a, to) }

// max and min keep a where either is NaN.
func (l *lane) max(a reg.VecPhysical, b operand.Mem, to reg.VecPhysical) {
	l.keepNaN(l.VMAXPS, a, b, to)
}

func (l *lane) min(a reg.VecPhysical, b operand.Mem, to reg.VecPhysical) {
	l.keepNaN(l.VMINPS, a, b, to)
}

// keepNaN runs an instruction that returns its second source for NaN.
func (l *lane) keepNaN(f func(...operand.Op), a reg.VecPhysical, b operand.Mem, to reg.VecPhysical) {
	f(a, l.constant(b), to)
}

// constant is a register that holds a constant until the next one is asked for.
func (l *lane) constant(m operand.Mem) reg.VecPhysical {
	l.load(m, l.w.spare())
	return l.w.spare()
}

// horner evaluates a polynomial of x, coefficients lowest power first.
func (l *lane) horner(c []float64, x, to reg.VecPhysical) {
	last := len(c) - 1
	l.load(l.float(c[last]), to)
	for i := last - 1; i >= 0; i-- {
		l.VFMADD213PS(l.float(c[i]), x, to)
	}
}

// halves evaluates a polynomial of x as two of x^2, which takes half as many
// steps one after the other.
func (l *lane) halves(c []float64, x, to reg.VecPhysical) {
	var parts [2][]float64 // even and odd powers
	for i, v := range c {
		parts[i%2] = append(parts[i%2], v)
	}
	square, odd := l.tmp(), l.tmp()
	l.mul(x, x, square)
	l.horner(parts[0], square, to)
	l.horner(parts[1], square, odd)
	l.VFMADD231PS(x, odd, to)
	l.next -= 2
}

// whereLess puts a where x < bound, else b.
func (l *lane) whereLess(x reg.VecPhysical, bound operand.Mem, a, b, to reg.VecPhysical) {
	const lessQuiet = 17
	if l.w == avx512 {
		l.VCMPPS(operand.Imm(lessQuiet), bound, x, reg.K3)
		l.VBLENDMPS(a, b, reg.K3, to)
		return
	}
	m := l.tmp()
	l.VCMPPS(operand.Imm(lessQuiet), bound, x, m)
	l.VBLENDVPS(m, a, b, to)
	l.next--
}

// magnitude is the size of x, at most bound; of NaN it is bound or NaN.
func (l *lane) magnitude(x reg.VecPhysical, bound operand.Mem, to reg.VecPhysical) {
	if l.w == avx512 {
		const smallerSize, withoutSign = 2, 2 << 2
		l.VRANGEPS(operand.Imm(smallerSize|withoutSign), bound, x, to)
		return
	}
	l.and(x, l.word(allButSign), to)
	l.VMINPS(bound, to, to)
}

// coefficient is number i of the polynomials of a function, of the piece that each lane
// has in its last bits: 16 pieces in AVX-512, 4 in AVX2, whose permutations of more are slow.
func (l *lane) coefficient(name string, i int, pieces [][]float64, piece, to reg.VecPhysical) {
	table := l.once(fmt.Sprintf("%s%sc%d", name, l.w, i), int(l.w), func(lane int) uint32 {
		return math.Float32bits(float32(pieces[lane%len(pieces)][i]))
	})
	if l.w == avx512 {
		l.VPERMPS(table, piece, to)
		return
	}
	l.VPERMILPS(piece, l.constant(table), to)
}

const signBit, allButSign = 0x80000000, 0x7fffffff

// sigmoid replaces x by 1/(1+exp(-x)).
func (l *lane) sigmoid(x reg.VecPhysical) {
	l.onePlusExp(x, x)
	l.div(l.constant(l.float(1)), x, x)
}

// sigmoidOver replaces x by top/(1+exp(-x)); top may be x.
func (l *lane) sigmoidOver(x, top reg.VecPhysical) {
	den := l.tmp()
	l.onePlusExp(x, den)
	l.div(top, den, x)
	l.next--
}

// tanh replaces x by its hyperbolic tangent: e/(e+2), e = exp(2|x|)-1, with the
// sign of x.
func (l *lane) tanh(x reg.VecPhysical) {
	const flat = 40 // from half of it on the result is one
	e := l.tmp()
	l.and(x, l.word(allButSign), e)
	l.add(e, e, e)
	l.min(e, l.float(flat), e)
	l.expm1Within(e)
	den := l.tmp()
	l.add(e, l.float(2), den)
	l.div(e, den, e)
	l.and(x, l.word(signBit), x)
	l.or(x, e, x)
	l.next -= 2
}

// The functions of erfc's family come from exp(-a^2) times a function that is a
// polynomial of (a-erfcMiddle)/(a+erfcMiddle); from erfcFar on, where erfc is below
// 2e-8, the function counts as constant.
const erfcMiddle, erfcFar = 2.5, 4

// erfcOver puts erfc(a), times factor, in to; a is not negative, t is overwritten.
func (l *lane) erfcOver(a, t, to reg.VecPhysical, factor float64) {
	l.min(a, l.float(erfcFar), t)
	l.add(t, l.float(erfcMiddle), to)
	l.sub(t, l.float(erfcMiddle), t)
	den := to
	l.div(t, den, t)
	const end = (erfcFar - erfcMiddle) / (erfcFar + erfcMiddle)
	f := func(t float64) float64 { return factor * erfcx(erfcMiddle*(1+t)/(1-t)) }
	l.halves(plainVariable(fit(f, -1, end, 8), -1, end), t, to)
	l.xor(a, l.word(signBit), t)
	l.mul(t, a, t)
	l.expWithin(t)
	l.mul(to, t, to)
}

// gelu replaces x by x times the normal distribution's share below x: 1/2 + x*q, where
// q is a polynomial of |x| in each of so few pieces that a permutation finds its
// coefficients. Beyond geluFar q stands still while x grows, so the share leaves 0..1 and
// is cut.
func (l *lane) gelu(x reg.VecPhysical) {
	at, piece, q, c := l.tmp(), l.tmp(), l.tmp(), l.tmp()
	const integers = 3 << 22 // a number this large has an integer in its last bits
	form := geluForms[l.w]
	l.magnitude(x, l.float(geluFar), at)
	if form.first != 0 {
		l.sub(at, l.float(form.first), at)
	}
	l.load(l.float(1/form.step), piece)
	l.VFMADD213PS(l.float(integers), at, piece)
	l.sub(piece, l.float(integers), c)
	l.VFNMADD231PS(l.float(form.step), c, at) // from the middle of the piece
	pieces := form.polynomials()
	l.coefficient("gelu", form.degree, pieces, piece, q)
	for i := form.degree - 1; i >= 0; i-- {
		l.coefficient("gelu", i, pieces, piece, c)
		l.VFMADD213PS(c, at, q)
	}
	l.VFMADD213PS(l.float(0.5), x, q)
	l.VMAXPS(l.float(0), q, q)
	l.VMINPS(l.float(1), q, q)
	l.mul(x, q, x) // which is NaN for NaN whatever the bounds made of the share
	l.next -= 4
}

// erf replaces x by its error function: near zero x and x times a polynomial of x^2,
// else 1-erfc(|x|) with the sign of x.
func (l *lane) erf(x reg.VecPhysical) {
	const near = 1
	a, t, tail := l.tmp(), l.tmp(), l.tmp()
	l.and(x, l.word(allButSign), a)
	l.min(a, l.float(erfcFar), a)
	l.erfcOver(a, t, tail, 1)
	l.load(l.float(1), t)
	l.sub(t, tail, t)
	l.and(x, l.word(signBit), tail)
	l.or(t, tail, t)
	square := l.tmp()
	l.mul(x, x, square)
	l.horner(plainVariable(fit(erfOfSquare, 0, near, 7), 0, near), square, tail)
	l.VFMADD213PS(x, x, tail) // x + x*tail
	l.whereLess(a, l.float(near), tail, t, x)
	l.next -= 4
}

// geluTanh replaces x by x/(1+exp(-2u)), u = sqrt(2/pi)(x+0.044715x^3).
func (l *lane) geluTanh(x reg.VecPhysical) {
	u := l.tmp()
	l.mul(x, x, u)
	l.mul(u, l.float(2*math.Sqrt(2/math.Pi)*0.044715), u)
	l.add(u, l.float(2*math.Sqrt(2/math.Pi)), u)
	l.mul(u, x, u)
	l.sigmoidOver(u, x)
	l.load(u, x)
	l.next--
}
