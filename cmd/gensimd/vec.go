package main

import (
	"math"
	"strings"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// This file writes loops over slices of float32.

func vectors(g *generator) {
	for _, w := range widths {
		for _, b := range binaries {
			mapLoops(g, w, b.name, b.doc, 2, rounds{plain: 2}, func(l *lane, x, y reg.VecPhysical) { b.body(l, x, y) })
		}
		for _, u := range unaries {
			mapLoops(g, w, u.name, u.doc, 1, u.rounds(w), func(l *lane, x, _ reg.VecPhysical) { u.body(l, x) })
		}
		scalarLoops(g, w, "mulScalar", "multiplies by s.", 1, func(l *lane, x, s, _ reg.VecPhysical) { l.mul(x, s, x) })
		scalarLoops(g, w, "addScalar", "adds s.", 1, func(l *lane, x, s, _ reg.VecPhysical) { l.add(x, s, x) })
		scalarLoops(g, w, "divScalar", "divides by s.", 1, func(l *lane, x, s, _ reg.VecPhysical) { l.div(x, s, x) })
		scalarLoops(g, w, "normalize", "subtracts s, then multiplies by t.", 2, func(l *lane, x, s, t reg.VecPhysical) {
			l.sub(x, s, x)
			l.mul(x, t, x)
		})
		scaleShift(g, w)
		axpy(g, w)
		reductions(g, w)
		addWide(g, w)
		choose(g, w)
		pick(g, w, "pick", "takes a number of src")
		pick(g, w, "pickSecond", "takes every second number of src")
		second(g, w)
		stream(g, w)
	}
}

var binaries = []struct {
	name, doc string
	body      func(l *lane, x, y reg.VecPhysical)
}{
	{"add", "adds.", func(l *lane, x, y reg.VecPhysical) { l.add(x, y, x) }},
	{"sub", "subtracts b from a.", func(l *lane, x, y reg.VecPhysical) { l.sub(x, y, x) }},
	{"mul", "multiplies.", func(l *lane, x, y reg.VecPhysical) { l.mul(x, y, x) }},
	{"div", "divides a by b.", func(l *lane, x, y reg.VecPhysical) { l.div(x, y, x) }},
}

// rounds says how many vectors a round of a loop computes: one after the other, or step
// by step together.
type rounds struct{ plain, together int }

func (r rounds) vectors() int { return max(r.plain, r.together) }

type unary struct {
	name, doc string
	unroll    int
	together  int // in AVX2, whose loops are the longer ones; none: unroll
	body      func(l *lane, x reg.VecPhysical)
}

func (u unary) rounds(w width) rounds {
	if w == avx2 && u.together > 0 {
		return rounds{together: u.together}
	}
	return rounds{plain: u.unroll}
}

var unaries = []unary{
	{"neg", "changes the sign.", 4, 0, func(l *lane, x reg.VecPhysical) { l.xor(x, l.word(signBit), x) }},
	{"abs", "drops the sign.", 4, 0, func(l *lane, x reg.VecPhysical) { l.and(x, l.word(allButSign), x) }},
	{"relu", "replaces what is below zero; NaN and -0 stay.", 4, 0, func(l *lane, x reg.VecPhysical) { l.max(x, l.float(0), x) }},
	{"sqrt", "takes square roots.", 2, 0, func(l *lane, x reg.VecPhysical) { l.VSQRTPS(x, x) }},
	{"exp", "takes exponentials.", 1, 4, func(l *lane, x reg.VecPhysical) { l.exp(x) }},
	{"sigmoid", "is 1/(1+exp(-x)).", 1, 4, func(l *lane, x reg.VecPhysical) { l.sigmoid(x) }},
	{"silu", "is x/(1+exp(-x)).", 1, 3, func(l *lane, x reg.VecPhysical) { l.sigmoidOver(x, x) }},
	{"tanh", "takes hyperbolic tangents.", 1, 3, func(l *lane, x reg.VecPhysical) { l.tanh(x) }},
	{"erf", "takes error functions.", 1, 2, func(l *lane, x reg.VecPhysical) { l.erf(x) }},
	{"gelu", "is x times the normal distribution.", 1, 3, func(l *lane, x reg.VecPhysical) { l.gelu(x) }},
	{"geluTanh", "is gelu's approximation by tanh.", 1, 3, func(l *lane, x reg.VecPhysical) { l.geluTanh(x) }},
}

// mapLoops writes two loops that compute each element of dst from those of one or
// two sources; dst may be a source. That of the longer name writes around the caches, to
// whole lines of them.
func mapLoops(g *generator, w width, name, doc string, inputs int, r rounds, body func(l *lane, x, y reg.VecPhysical)) {
	element := func(l *lane, ptrs []reg.GPVirtual, move mover) {
		x := l.tmp()
		y := x
		move.load(ptrs[1], x)
		if inputs == 2 {
			y = l.tmp()
			move.load(ptrs[2], y)
		}
		body(l, x, y)
		move.store(x, ptrs[0])
	}
	n, ptrs := g.openMap(name+w.String(), doc, inputs)
	g.eachVector(w, n, ptrs, r, func(l *lane, move mover) { element(l, ptrs, move) })
	g.RET()
	n, ptrs = g.openMap(name+"Around"+w.String(), doc, inputs)
	g.wholeRounds(w, n, ptrs, r, 0, func(u int, l *lane) {
		element(l, ptrs, g.aroundMover(w, u))
	})
	g.VZEROUPPER()
	g.RET()
}

// openMap opens a function of n numbers of one or two sources.
func (g *generator) openMap(name, doc string, inputs int) (n reg.GPVirtual, ptrs []reg.GPVirtual) {
	sig, names := "func(dst, src *float32, n int)", []string{"dst", "src"}
	if inputs == 2 {
		sig, names = "func(dst, a, b *float32, n int)", []string{"dst", "a", "b"}
	}
	g.function(name, sig, doc)
	for _, s := range names {
		ptrs = append(ptrs, g.arg(s))
	}
	return g.arg("n"), ptrs
}

// mover loads and stores whole vectors, or parts in the last round.
type mover struct {
	load  func(from reg.Register, to reg.VecPhysical)
	store func(from reg.VecPhysical, to reg.Register)
}

// mover is that of whole vectors, u of them on.
func (g *generator) mover(w width, u int) mover {
	return mover{
		load:  func(from reg.Register, to reg.VecPhysical) { g.VMOVUPS(at(from, u*w.bytes()), to) },
		store: func(from reg.VecPhysical, to reg.Register) { g.VMOVUPS(from, at(to, u*w.bytes())) },
	}
}

// aroundMover stores around the caches.
func (g *generator) aroundMover(w width, u int) mover {
	m := g.mover(w, u)
	m.store = func(from reg.VecPhysical, to reg.Register) { g.VMOVNTPS(from, at(to, u*w.bytes())) }
	return m
}

// ahead is how many bytes before their use long loops ask for memory.
const ahead = 1024

// eachVector writes the loop around body: whole vectors, a round at a time, then
// the rest under masks.
func (g *generator) eachVector(
	w width, n reg.GPVirtual, ptrs []reg.GPVirtual, r rounds, body func(l *lane, move mover), kept ...reg.VecPhysical,
) {
	block := r.vectors() * int(w)
	loop, rest, done := g.label("loop"), g.label("rest"), g.label("done")
	first := len(kept)
	g.Label(loop)
	g.CMPQ(n, imm(block))
	g.JLT(operand.LabelRef(rest))
	for _, p := range ptrs { // long computations hold up the machine's own prefetching
		if r.vectors() == 1 && w == avx512 {
			g.PREFETCHT0(at(p, ahead))
		}
	}
	g.round(w, r, first, func(u int, l *lane) {
		body(l, g.mover(w, u))
	})
	g.advance(ptrs, block*4)
	g.SUBQ(imm(block), n)
	g.JMP(operand.LabelRef(loop))
	g.Label(rest)
	g.TESTQ(n, n)
	g.JLE(operand.LabelRef(done))
	count := g.GP64()
	g.MOVQ(imm(int(w)), count)
	g.CMPQ(n, count)
	g.CMOVQLT(n, count)
	m := g.masks(w, count, 1, 14)
	body(&lane{generator: g, w: w, next: first}, mover{
		load:  func(from reg.Register, to reg.VecPhysical) { g.loadMasked(w, m, 0, at(from, 0), to) },
		store: func(from reg.VecPhysical, to reg.Register) { g.storeMasked(w, m, 0, from, at(to, 0)) },
	})
	g.advance(ptrs, w.bytes())
	g.SUBQ(imm(int(w)), n)
	g.JMP(operand.LabelRef(rest))
	g.Label(done)
	g.VZEROUPPER()
}

func (g *generator) advance(ptrs []reg.GPVirtual, bytes int) {
	for _, p := range ptrs {
		g.ADDQ(imm(bytes), p)
	}
}

// broadcast loads a scalar argument into all lanes of a register.
func (g *generator) broadcast(name string, r reg.VecPhysical) {
	x := g.Load(g.Param(name), g.XMM())
	g.VBROADCASTSS(x, r)
}

// scalarLoops are mapLoops with one or two scalar operands.
func scalarLoops(g *generator, w width, name, doc string, scalars int, body func(l *lane, x, s, t reg.VecPhysical)) {
	r, kept := rounds{plain: 2}, []reg.VecPhysical{w.reg(0), w.reg(1)}[:scalars]
	element := func(l *lane, dst, src reg.Register, move mover) {
		x := l.tmp()
		move.load(src, x)
		body(l, x, kept[0], kept[scalars-1])
		move.store(x, dst)
	}
	dst, src, n := g.openScalar(name+w.String(), doc, kept)
	g.eachVector(w, n, []reg.GPVirtual{dst, src}, r, func(l *lane, move mover) { element(l, dst, src, move) }, kept...)
	g.RET()
	if scalars > 1 {
		return // rows that are normalized are made in the caches
	}
	dst, src, n = g.openScalar(name+"Around"+w.String(), doc, kept)
	g.wholeRounds(w, n, []reg.GPVirtual{dst, src}, r, scalars, func(u int, l *lane) {
		element(l, dst, src, g.aroundMover(w, u))
	})
	g.VZEROUPPER()
	g.RET()
}

// openScalar opens a function of n numbers of one source and scalars, which it loads to
// registers.
func (g *generator) openScalar(name, doc string, kept []reg.VecPhysical) (dst, src, n reg.GPVirtual) {
	names := []string{"s", "t"}[:len(kept)]
	g.function(name, "func(dst, src *float32, n int, "+strings.Join(names, ", ")+" float32)", doc)
	dst, src, n = g.arg("dst"), g.arg("src"), g.arg("n")
	for i, r := range kept {
		g.broadcast(names[i], r)
	}
	return dst, src, n
}

func scaleShift(g *generator, w width) {
	g.function("scaleShift"+w.String(), "func(dst, scale, shift *float32, n int)", "multiplies dst by scale and adds shift.")
	dst, scale, shift, n := g.arg("dst"), g.arg("scale"), g.arg("shift"), g.arg("n")
	g.eachVector(w, n, []reg.GPVirtual{dst, scale, shift}, rounds{plain: 2}, func(l *lane, move mover) {
		x, y, z := l.tmp(), l.tmp(), l.tmp()
		move.load(dst, x)
		move.load(scale, y)
		move.load(shift, z)
		l.VFMADD213PS(z, y, x)
		move.store(x, dst)
	})
	g.RET()
}

func axpy(g *generator, w width) {
	g.function("axpy"+w.String(), "func(dst, src *float32, n int, s float32)", "adds s times src to dst.")
	dst, src, n := g.arg("dst"), g.arg("src"), g.arg("n")
	s := w.reg(0)
	g.broadcast("s", s)
	g.eachVector(w, n, []reg.GPVirtual{dst, src}, rounds{plain: 2}, func(l *lane, move mover) {
		x, y := l.tmp(), l.tmp()
		move.load(src, x)
		move.load(dst, y)
		l.VFMADD231PS(x, s, y)
		move.store(y, dst)
	}, s)
	g.RET()
}

// reductions write loops that fold a whole number of vectors; what is left over
// is the caller's.
func reductions(g *generator, w width) {
	sum(g, w, "sum", "func(src *float32, n int) float64", "adds in float64.", func(x, acc reg.VecPhysical, _ reg.VecPhysical) {
		g.VADDPD(x, acc, acc)
	})
	sum(g, w, "deviation", "func(src *float32, n int, mean float64) float64",
		"adds the squares of the distances from mean in float64.", func(x, acc, mean reg.VecPhysical) {
			g.VSUBPD(mean, x, x)
			g.VFMADD231PD(x, x, acc)
		})
	dot(g, w)
	largest(g, w)
	expSum(g, w)
}

// whole writes a loop over whole vectors, unroll at a time and then one by one.
func (g *generator) whole(w width, n reg.GPVirtual, ptrs []reg.GPVirtual, unroll int, body func(u int)) {
	g.wholeRounds(w, n, ptrs, rounds{plain: unroll}, 0, func(u int, _ *lane) { body(u) })
}

// wholeRounds is whole with rounds, whose registers begin at first.
func (g *generator) wholeRounds(w width, n reg.GPVirtual, ptrs []reg.GPVirtual, r rounds, first int, body func(u int, l *lane)) {
	for _, r := range []rounds{r, {plain: 1}} {
		loop, done := g.label("loop"), g.label("done")
		g.Label(loop)
		u := r.vectors()
		g.CMPQ(n, imm(u*int(w)))
		g.JLT(operand.LabelRef(done))
		g.round(w, r, first, body)
		g.advance(ptrs, u*w.bytes())
		g.SUBQ(imm(u*int(w)), n)
		g.JMP(operand.LabelRef(loop))
		g.Label(done)
	}
}

func sum(g *generator, w width, name, sig, doc string, step func(x, acc, extra reg.VecPhysical)) {
	g.function(name+w.String(), sig, doc)
	src, n := g.arg("src"), g.arg("n")
	const accs = 4
	for i := range accs {
		g.zero(w, w.reg(i))
	}
	mean := w.reg(15)
	if name == "deviation" {
		g.VBROADCASTSD(g.Load(g.Param("mean"), g.XMM()), mean)
	}
	g.whole(w, n, []reg.GPVirtual{src}, 2, func(u int) {
		for i := range 2 {
			x := w.reg(4 + 2*u + i)
			g.VCVTPS2PD(at(src, (2*u+i)*w.bytes()/2), x)
			step(x, w.reg(2*u+i), mean)
		}
	})
	for i := 1; i < accs; i++ {
		g.VADDPD(w.reg(i), w.reg(0), w.reg(0))
	}
	if w == avx512 {
		g.VEXTRACTF64X4(operand.Imm(1), reg.Z0, reg.Y1)
		g.VADDPD(reg.Y1, reg.Y0, reg.Y0)
	}
	g.VEXTRACTF128(operand.Imm(1), reg.Y0, reg.X1)
	g.VADDPD(reg.X1, reg.X0, reg.X0)
	g.VUNPCKHPD(reg.X0, reg.X0, reg.X1)
	g.VADDSD(reg.X1, reg.X0, reg.X0)
	g.giveBack(reg.X0)
}

// giveBack returns a scalar.
func (g *generator) giveBack(x reg.VecPhysical) {
	g.VZEROUPPER()
	g.Store(x, g.ReturnIndex(0))
	g.RET()
}

// across folds the lanes of register 0 into its first.
func (g *generator) across(w width, fold func(...operand.Op)) {
	if w == avx512 {
		g.VEXTRACTF64X4(operand.Imm(1), reg.Z0, reg.Y1)
		fold(reg.Y1, reg.Y0, reg.Y0)
	}
	g.VEXTRACTF128(operand.Imm(1), reg.Y0, reg.X1)
	fold(reg.X1, reg.X0, reg.X0)
	g.VPERMILPS(operand.Imm(0x4e), reg.X0, reg.X1)
	fold(reg.X1, reg.X0, reg.X0)
	g.VPERMILPS(operand.Imm(0xb1), reg.X0, reg.X1)
	fold(reg.X1, reg.X0, reg.X0)
}

func dot(g *generator, w width) {
	g.function("dot"+w.String(), "func(a, b *float32, n int) float32", "adds products.")
	a, b, n := g.arg("a"), g.arg("b"), g.arg("n")
	const accs = 8
	for i := range accs {
		g.zero(w, w.reg(i))
	}
	g.whole(w, n, []reg.GPVirtual{a, b}, accs, func(u int) {
		x := w.reg(accs + u%4)
		g.VMOVUPS(at(a, u*w.bytes()), x)
		g.VFMADD231PS(at(b, u*w.bytes()), x, w.reg(u))
	})
	g.pairwise(w, accs, g.VADDPS)
	g.across(w, g.VADDPS)
	g.giveBack(reg.X0)
}

// pairwise folds n registers into the first.
func (g *generator) pairwise(w width, n int, fold func(...operand.Op)) {
	for ; n > 1; n /= 2 {
		for i := range n / 2 {
			fold(w.reg(i+n/2), w.reg(i), w.reg(i))
		}
	}
}

func largest(g *generator, w width) {
	g.function("largest"+w.String(), "func(src *float32, n int) float32", "finds the largest number; of NaN it knows nothing.")
	src, n := g.arg("src"), g.arg("n")
	const accs = 4
	for i := range accs {
		g.VMOVUPS(g.float(math.Inf(-1)), w.reg(i))
	}
	g.whole(w, n, []reg.GPVirtual{src}, accs, func(u int) {
		g.VMAXPS(at(src, u*w.bytes()), w.reg(u), w.reg(u))
	})
	g.pairwise(w, accs, g.VMAXPS)
	g.across(w, g.VMAXPS)
	g.giveBack(reg.X0)
}

func expSum(g *generator, w width) {
	g.function("expSum"+w.String(), "func(dst, src *float32, n int, shift float32) float32", "writes exp(x-shift) and adds it up.")
	dst, src, n := g.arg("dst"), g.arg("src"), g.arg("n")
	r := rounds{plain: 2}
	if w == avx2 {
		r = rounds{together: 3}
	}
	accs := r.vectors()
	shift := w.reg(accs)
	for i := range accs {
		g.zero(w, w.reg(i))
	}
	g.broadcast("shift", shift)
	g.wholeRounds(w, n, []reg.GPVirtual{dst, src}, r, accs+1, func(u int, l *lane) {
		x := l.tmp()
		g.VMOVUPS(at(src, u*w.bytes()), x)
		l.sub(x, shift, x)
		l.max(x, l.float(normalZero), x)
		l.expNormal(x)
		g.VMOVUPS(x, at(dst, u*w.bytes()))
		l.add(w.reg(u), x, w.reg(u))
	})
	for i := 1; i < accs; i++ {
		g.VADDPS(w.reg(i), w.reg(0), w.reg(0))
	}
	g.across(w, g.VADDPS)
	g.giveBack(reg.X0)
}

// addWide adds rows to sums in float64, a whole number of vectors.
func addWide(g *generator, w width) {
	g.function("addWide"+w.String(), "func(dst *float64, src *float32, n int)", "adds src to dst.")
	dst, src, n := g.arg("dst"), g.arg("src"), g.arg("n")
	g.whole(w, n, nil, 1, func(int) {
		for i := range 2 {
			x := w.reg(i)
			g.VCVTPS2PD(at(src, i*w.bytes()/2), x)
			g.VADDPD(at(dst, i*w.bytes()), x, x)
			g.VMOVUPD(x, at(dst, i*w.bytes()))
		}
		g.ADDQ(imm(w.bytes()), src)
		g.ADDQ(imm(2*w.bytes()), dst)
	})
	g.VZEROUPPER()
	g.RET()
}

// choose picks by bytes that are zero or not, a whole number of vectors.
func choose(g *generator, w width) {
	g.function("choose"+w.String(), "func(dst *float32, cond *uint8, a, b *float32, n int)", "takes a where cond is set, else b.")
	dst, cond, a, b, n := g.arg("dst"), g.arg("cond"), g.arg("a"), g.arg("b"), g.arg("n")
	m, x, y, zero := w.reg(0), w.reg(1), w.reg(2), w.reg(3)
	g.zero(w, zero)
	g.whole(w, n, []reg.GPVirtual{dst, a, b}, 1, func(int) {
		g.VPMOVZXBD(at(cond, 0), m)
		g.VMOVUPS(at(a, 0), x)
		g.VMOVUPS(at(b, 0), y)
		if w == avx512 {
			g.VPTESTMD(m, m, reg.K1)
			g.VBLENDMPS(x, y, reg.K1, x)
		} else {
			g.VPCMPEQD(zero, m, m)
			g.VBLENDVPS(m, y, x, x)
		}
		g.VMOVUPS(x, at(dst, 0))
		g.ADDQ(imm(int(w)), cond)
	})
	g.VZEROUPPER()
	g.RET()
}

// pick keeps the largest number seen so far and the code under which it came, a whole
// number of vectors.
func pick(g *generator, w width, name, doc string) {
	g.function(name+w.String(), "func(best *float32, codes *int32, src *float32, n, code int)",
		doc+" where it is above best or NaN, and code with it.")
	best, codes, src, n := g.arg("best"), g.arg("codes"), g.arg("src"), g.arg("n")
	code, x, top, old, more := w.reg(0), w.reg(1), w.reg(2), w.reg(3), w.reg(4)
	number := g.Load(g.Param("code"), g.GP64()).(reg.GPVirtual)
	g.MOVQ(number, reg.X0)
	g.VPBROADCASTD(reg.X0, code)
	taken := 1
	if name == "pickSecond" {
		taken = 2
	}
	g.whole(w, n, []reg.GPVirtual{best, codes}, 1, func(int) {
		if taken == 1 {
			g.VMOVUPS(at(src, 0), x)
		} else {
			g.everySecond(w, src, x)
		}
		g.VMOVUPS(at(best, 0), top)
		g.VMOVUPS(at(codes, 0), old)
		const above, unordered = 0x1e, 0x03
		if w == avx512 {
			g.VCMPPS(operand.Imm(above), top, x, reg.K1)
			g.VCMPPS(operand.Imm(unordered), x, x, reg.K2)
			g.KORW(reg.K1, reg.K2, reg.K1)
			g.VBLENDMPS(x, top, reg.K1, top)
			g.VBLENDMPS(code, old, reg.K1, old)
		} else {
			g.VCMPPS(operand.Imm(above), top, x, more)
			g.VCMPPS(operand.Imm(unordered), x, x, w.reg(5))
			g.VORPS(w.reg(5), more, more)
			g.VBLENDVPS(more, x, top, top)
			g.VBLENDVPS(more, code, old, old)
		}
		g.VMOVUPS(top, at(best, 0))
		g.VMOVUPS(old, at(codes, 0))
		g.ADDQ(imm(taken*w.bytes()), src)
	})
	g.VZEROUPPER()
	g.RET()
}

// second copies every second number, a whole number of vectors.
func second(g *generator, w width) {
	g.function("second"+w.String(), "func(dst, src *float32, n int)", "copies every second number of src.")
	dst, src, n := g.arg("dst"), g.arg("src"), g.arg("n")
	g.whole(w, n, []reg.GPVirtual{dst}, 1, func(int) {
		g.everySecond(w, src, w.reg(1))
		g.VMOVUPS(w.reg(1), at(dst, 0))
		g.ADDQ(imm(2*w.bytes()), src)
	})
	g.VZEROUPPER()
	g.RET()
}

// everySecond loads the first, third and so on of two vectors of numbers.
func (g *generator) everySecond(w width, from reg.Register, to reg.VecPhysical) {
	if w == avx512 {
		g.VMOVUPS(g.evenPlaces(), to)
		g.VMOVUPS(at(from, 0), w.reg(6))
		g.VPERMI2PS(at(from, w.bytes()), w.reg(6), to)
		return
	}
	g.VMOVUPS(at(from, 0), w.reg(6))
	g.VSHUFPS(operand.Imm(0x88), at(from, w.bytes()), w.reg(6), to)
	g.VPERMPD(operand.Imm(0xd8), to, to)
}

// evenPlaces is the even places of 32.
func (g *generator) evenPlaces() operand.Mem {
	return g.once("evenPlaces", 16, func(i int) uint32 { return uint32(2 * i) })
}

// stream copies cache lines past the caches. Such stores are ordered by a
// fence only, which is the caller's.
func stream(g *generator, w width) {
	g.function(
		"stream"+w.String(), "func(dst, src *float32, n int)",
		"copies n numbers, whole lines of cache, to an aligned place without reading it first.",
	)
	dst, src, n := g.arg("dst"), g.arg("src"), g.arg("n")
	line := 64 / w.bytes() // vectors of a line
	g.whole(w, n, []reg.GPVirtual{dst, src}, 4*line, func(u int) {
		g.VMOVUPS(at(src, u*w.bytes()), w.reg(u))
		g.VMOVNTPS(w.reg(u), at(dst, u*w.bytes()))
	})
	g.VZEROUPPER()
	g.RET()
}
