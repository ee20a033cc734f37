package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// This file writes the packing of operands into slivers: row after row of a
// sliver's width, one row for each step of the depth. Lanes past the n that a
// sliver has are left as they are: what a tile computes from them is not stored.

func packs(g *generator) {
	for _, w := range widths {
		packRows(g, w)
		packTransposed(g, w)
		packRuns(g, w)
	}
	fetch(g)
}

// packRows copies: the lanes of a sliver are neighbours in memory.
func packRows(g *generator, w width) {
	g.function("packRows"+w.String(), "func(dst, src *float32, stride, k, n, width int)",
		"copies k rows of n numbers, stride bytes apart, into rows of width bytes.")
	dst, src, stride, k, n, to := g.arg("dst"), g.arg("src"), g.arg("stride"), g.arg("k"), g.arg("n"), g.arg("width")
	full, half, done := g.label("full"), g.label("half"), g.label("done")
	g.TESTQ(k, k)
	g.JZ(operand.LabelRef(done))
	loop := func(body func()) {
		l := g.label("loop")
		g.Label(l)
		body()
		g.ADDQ(stride, src)
		g.ADDQ(to, dst)
		g.DECQ(k)
		g.JNZ(operand.LabelRef(l))
		g.VZEROUPPER()
		g.RET()
	}
	g.CMPQ(n, imm(2*int(w)))
	g.JEQ(operand.LabelRef(full))
	g.CMPQ(n, imm(int(w)))
	g.JEQ(operand.LabelRef(half))
	m := g.masks(w, n, 2, 2)
	loop(func() {
		for j := range 2 {
			g.loadMasked(w, m, j, at(src, j*w.bytes()), w.reg(j))
		}
		for j := range 2 {
			g.storeMasked(w, m, j, w.reg(j), at(dst, j*w.bytes()))
		}
	})
	for v := 2; v >= 1; v-- {
		g.Label([]string{half, full}[v-1])
		loop(func() {
			for j := range v {
				g.VMOVUPS(at(src, j*w.bytes()), w.reg(j))
			}
			for j := range v {
				g.VMOVUPS(w.reg(j), at(dst, j*w.bytes()))
			}
		})
	}
	g.Label(done)
	g.RET()
}

// packTransposed transposes: a lane of a sliver is contiguous along the depth.
func packTransposed(g *generator, w width) {
	g.function("packTransposed"+w.String(), "func(dst, src *float32, stride, k, n, width int)",
		"transposes n rows of k numbers, stride bytes apart, into k rows of width bytes.")
	dst, src, stride, k, n, to := g.arg("dst"), g.arg("src"), g.arg("stride"), g.arg("k"), g.arg("n"), g.arg("width")
	loop, done := g.label("loop"), g.label("done")
	row, left := g.GP64(), g.GP64()
	g.Label(loop)
	g.TESTQ(k, k)
	g.JLE(operand.LabelRef(done))
	// The depth that is left, at most a vector.
	g.MOVQ(imm(int(w)), left)
	g.CMPQ(k, left)
	g.CMOVQLT(k, left)
	g.MOVQ(src, row)
	m := g.masks(w, left, 1, 15)
	loaded := g.label("loaded")
	for i := range int(w) {
		g.loadMasked(w, m, 0, at(row, 0), w.reg(i))
		if i+1 < int(w) {
			g.CMPQ(n, imm(i+1))
			g.JLE(operand.LabelRef(loaded))
			g.ADDQ(stride, row)
		}
	}
	g.Label(loaded)
	transpose(g, w)
	m = g.masks(w, n, 1, 15)
	for c := range int(w) {
		g.storeMasked(w, m, 0, w.reg(c), at(dst, 0))
		g.ADDQ(to, dst)
		if c+1 < int(w) {
			g.CMPQ(left, imm(c+1))
			g.JEQ(operand.LabelRef(done))
		}
	}
	g.ADDQ(imm(w.bytes()), src)
	g.SUBQ(imm(int(w)), k)
	g.JMP(operand.LabelRef(loop))
	g.Label(done)
	g.VZEROUPPER()
	g.RET()
}

// transpose turns the square in the lower registers; the upper ones are used.
func transpose(g *generator, w width) {
	n := int(w)
	low := func(i int) reg.VecPhysical { return w.reg(i) }
	high := func(i int) reg.VecPhysical { return w.reg(n + i) }
	for i := 0; i < n; i += 2 { // pairs of rows
		g.VUNPCKLPS(low(i+1), low(i), high(i))
		g.VUNPCKHPS(low(i+1), low(i), high(i+1))
	}
	for i := 0; i < n; i += 4 { // fours of rows, one 128-bit lane for every fourth column
		g.VUNPCKLPD(high(i+2), high(i), low(i))
		g.VUNPCKHPD(high(i+2), high(i), low(i+1))
		g.VUNPCKLPD(high(i+3), high(i+1), low(i+2))
		g.VUNPCKHPD(high(i+3), high(i+1), low(i+3))
	}
	if w == avx2 {
		for i := range 4 {
			g.VPERM2F128(operand.Imm(0x20), low(4+i), low(i), high(i))
			g.VPERM2F128(operand.Imm(0x31), low(4+i), low(i), high(4+i))
		}
		for i := range n {
			g.VMOVAPS(high(i), low(i))
		}
		return
	}
	const even, odd = 0x88, 0xdd // the 128-bit lanes that a shuffle takes of each side
	for i := range 4 {
		a, b, c, d := low(i), low(4+i), low(8+i), low(12+i)
		g.VSHUFF32X4(operand.Imm(even), b, a, high(4*i))
		g.VSHUFF32X4(operand.Imm(odd), b, a, high(4*i+1))
		g.VSHUFF32X4(operand.Imm(even), d, c, high(4*i+2))
		g.VSHUFF32X4(operand.Imm(odd), d, c, high(4*i+3))
	}
	for i := range 4 {
		g.VSHUFF32X4(operand.Imm(even), high(4*i+2), high(4*i), low(i))
		g.VSHUFF32X4(operand.Imm(even), high(4*i+3), high(4*i+1), low(4+i))
		g.VSHUFF32X4(operand.Imm(odd), high(4*i+2), high(4*i), low(8+i))
		g.VSHUFF32X4(operand.Imm(odd), high(4*i+3), high(4*i+1), low(12+i))
	}
}

// The fields of a Run, which is three ints, in bytes.
const (
	runTo, runFrom, runLen = 0, 8, 16
	runSize                = 24
)

// packRuns gathers: a sliver's row is made of several runs, which lie alike at
// every step of the depth, offs bytes from src. One run after the other goes through
// all steps, so that its masks are made once.
func packRuns(g *generator, w width) {
	g.function("packRuns"+w.String(), "func(dst, src *float32, offs *int, k, width int, runs *int, count int)",
		"copies, for each of k offsets, count runs of numbers into a row of width bytes.")
	run, count, n := g.arg("runs"), g.arg("count"), g.GP64()
	loop, done := g.label("loop"), g.label("done")
	s := &runSteps{base: g.GP64(), to: g.GP64(), offs: g.GP64(), left: g.arg("k"), width: g.arg("width")}
	g.TESTQ(s.left, s.left)
	g.JZ(operand.LabelRef(done))
	g.Label(loop)
	g.Load(g.Param("dst"), s.to)
	g.ADDQ(at(run, runTo), s.to)
	g.Load(g.Param("src"), s.base)
	g.ADDQ(at(run, runFrom), s.base)
	g.MOVQ(at(run, runLen), n)
	if w == avx512 {
		g.copyRun512(s, n)
	} else {
		g.copyRun2(s, n)
	}
	g.ADDQ(imm(runSize), run)
	g.DECQ(count)
	g.JNZ(operand.LabelRef(loop))
	g.Label(done)
	g.VZEROUPPER()
	g.RET()
}

// runSteps is the loop of one run over the steps.
type runSteps struct {
	base        reg.GPVirtual // of the run
	to, offs    reg.GPVirtual // go on with the steps
	left, width reg.GPVirtual
}

// each writes the loop: body copies from what from is given, to s.to.
func (s *runSteps) each(g *generator, body func(from reg.GPVirtual)) {
	loop, from := g.label("step"), g.GP64()
	g.Load(g.Param("offs"), s.offs)
	g.Load(g.Param("k"), s.left)
	g.Label(loop)
	g.MOVQ(at(s.offs, 0), from)
	g.ADDQ(s.base, from)
	body(from)
	g.ADDQ(imm(8), s.offs)
	g.ADDQ(s.width, s.to)
	g.DECQ(s.left)
	g.JNZ(operand.LabelRef(loop))
}

// copyRun512 copies a run of at most two vectors.
func (g *generator) copyRun512(s *runSteps, n reg.GPVirtual) {
	two, next := g.label("two"), g.label("next")
	m := g.masks(avx512, n, 2, 0)
	copies := func(vectors int) {
		s.each(g, func(from reg.GPVirtual) {
			for j := range vectors {
				g.loadMasked(avx512, m, j, at(from, j*64), avx512.reg(j))
				g.storeMasked(avx512, m, j, avx512.reg(j), at(s.to, j*64))
			}
		})
	}
	g.CMPQ(n, imm(16))
	g.JG(operand.LabelRef(two))
	copies(1)
	g.JMP(operand.LabelRef(next))
	g.Label(two)
	copies(2)
	g.Label(next)
}

// copyRun2 copies eights, then ones: masked stores are slow on some machines.
func (g *generator) copyRun2(s *runSteps, n reg.GPVirtual) {
	tmp, rest, p := g.GP32(), g.GP64(), g.GP64()
	s.each(g, func(from reg.GPVirtual) {
		eights, ones, next := g.label("eights"), g.label("ones"), g.label("next")
		g.MOVQ(n, rest)
		g.MOVQ(s.to, p)
		g.Label(eights)
		g.CMPQ(rest, imm(8))
		g.JLT(operand.LabelRef(ones))
		g.VMOVUPS(at(from, 0), reg.Y0)
		g.VMOVUPS(reg.Y0, at(p, 0))
		g.ADDQ(imm(32), from)
		g.ADDQ(imm(32), p)
		g.SUBQ(imm(8), rest)
		g.JMP(operand.LabelRef(eights))
		g.Label(ones)
		g.TESTQ(rest, rest)
		g.JZ(operand.LabelRef(next))
		g.MOVL(at(from, 0), tmp)
		g.MOVL(tmp, at(p, 0))
		g.ADDQ(imm(4), from)
		g.ADDQ(imm(4), p)
		g.DECQ(rest)
		g.JMP(operand.LabelRef(ones))
		g.Label(next)
	})
}

// fetch asks for memory that is packed soon.
func fetch(g *generator) {
	g.function("fetchLines", "func(src *float32, stride, lines, n int)",
		"asks the second cache for some lines of each of n rows, stride bytes apart.")
	src, stride, lines, n := g.arg("src"), g.arg("stride"), g.arg("lines"), g.arg("n")
	row, inner := g.label("row"), g.label("inner")
	p, left := g.GP64(), g.GP64()
	g.Label(row)
	g.MOVQ(src, p)
	g.MOVQ(lines, left)
	g.Label(inner)
	g.PREFETCHT1(at(p, 0))
	g.ADDQ(imm(64), p)
	g.DECQ(left)
	g.JNZ(operand.LabelRef(inner))
	g.ADDQ(stride, src)
	g.DECQ(n)
	g.JNZ(operand.LabelRef(row))
	g.RET()
}
