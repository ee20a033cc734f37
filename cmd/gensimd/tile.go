package main

import (
	"fmt"
	"strings"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// This file writes the register tiles of the matrix product. A tile of h rows
// and v vectors keeps its sums in h*v registers: for every step of the depth
// it loads v vectors of the right sliver and broadcasts h numbers of the left
// one. There is one for each height, so that no row is computed in vain.

// tallest is the tile height at which sums, the right sliver's vectors and two
// broadcasts fill the registers with two vectors a row.
func (w width) tallest() int { return (w.registers() - 4) / 2 }

func tiles(g *generator) {
	for _, w := range widths {
		for v := 1; v <= 2; v++ {
			for h := 1; h <= w.tallest(); h++ {
				tile(g, w, h, v)
			}
		}
		peak(g, w)
	}
}

// tileTables is Go text: the tiles by vectors and rows, both counted from one.
func tileTables() string {
	var sb strings.Builder
	for _, w := range widths {
		fmt.Fprintf(&sb, "\nvar tiles%v = [2][%d]tileFunc{\n", w, w.tallest())
		for v := 1; v <= 2; v++ {
			var row []string
			for h := 1; h <= w.tallest(); h++ {
				row = append(row, fmt.Sprintf("tile%vx%dx%d", w, h, v))
			}
			fmt.Fprintf(&sb, "\t{%s},\n", strings.Join(row, ", "))
		}
		sb.WriteString("}\n")
	}
	return sb.String()
}

type tileRegs struct {
	a, b, c, ldc, row reg.GPVirtual
}

func tile(g *generator, w width, h, v int) {
	g.function(fmt.Sprintf("tile%vx%dx%d", w, h, v), "func(k int, a, b, c *float32, ldc, n int, add bool)",
		fmt.Sprintf("computes %d rows of %d columns, of which n are stored.", h, v*int(w)))
	k := g.arg("k")
	r := tileRegs{a: g.arg("a"), b: g.arg("b"), c: g.arg("c"), ldc: g.arg("ldc"), row: g.GP64()}
	acc := func(i, j int) reg.VecPhysical { return w.reg(i*v + j) }
	g.MOVQ(r.c, r.row)
	for i := range h {
		for j := range v {
			g.zero(w, acc(i, j))
		}
		g.PREFETCHT0(at(r.row, 0))
		if i+1 < h {
			g.ADDQ(r.ldc, r.row)
		}
	}
	const unroll = 4
	blocks := g.GP64()
	g.MOVQ(k, blocks)
	g.SHRQ(operand.Imm(2), blocks)
	rest, loop, last, done := g.label("rest"), g.label("loop"), g.label("last"), g.label("done")
	g.JZ(operand.LabelRef(rest))
	g.Label(loop)
	for u := range unroll {
		step(g, w, h, v, u, r, acc)
	}
	g.ADDQ(imm(unroll*h*4), r.a)
	g.ADDQ(imm(unroll*v*w.bytes()), r.b)
	g.DECQ(blocks)
	g.JNZ(operand.LabelRef(loop))
	g.Label(rest)
	g.ANDQ(operand.Imm(unroll-1), k)
	g.JZ(operand.LabelRef(done))
	g.Label(last)
	step(g, w, h, v, 0, r, acc)
	g.ADDQ(imm(h*4), r.a)
	g.ADDQ(imm(v*w.bytes()), r.b)
	g.DECQ(k)
	g.JNZ(operand.LabelRef(last))
	g.Label(done)
	storeTile(g, w, h, v, r, acc)
	g.RET()
}

// step is one step of the depth, u steps from where the pointers are.
func step(g *generator, w width, h, v, u int, r tileRegs, acc func(i, j int) reg.VecPhysical) {
	bs := h * v // the registers after those of the sums
	if u == 0 {
		g.PREFETCHT0(at(r.a, 1024))
		g.PREFETCHT0(at(r.b, 1024))
	} else if u*v*w.bytes()%64 == 0 {
		g.PREFETCHT0(at(r.b, 1024+u*v*w.bytes()))
	}
	for j := range v {
		g.VMOVUPS(at(r.b, (u*v+j)*w.bytes()), w.reg(bs+j))
	}
	spare := w.registers() - bs - v
	for i := range h {
		x := w.reg(bs + v + i%min(spare, 4))
		g.VBROADCASTSS(at(r.a, (u*h+i)*4), x)
		for j := range v {
			g.VFMADD231PS(w.reg(bs+j), x, acc(i, j))
		}
	}
}

// storeTile writes the sums, or adds them to what is there. All n columns
// of full tiles go the short way; others are masked.
func storeTile(g *generator, w width, h, v int, r tileRegs, acc func(i, j int) reg.VecPhysical) {
	n, add := g.arg("n"), g.Load(g.Param("add"), g.GP8())
	edge, overwrite, done := g.label("edge"), g.label("overwrite"), g.label("stored")
	g.CMPQ(n, imm(v*int(w)))
	g.JNE(operand.LabelRef(edge))
	g.TESTB(add, add)
	g.JZ(operand.LabelRef(overwrite))
	for _, sum := range []bool{true, false} {
		g.MOVQ(r.c, r.row)
		for i := range h {
			for j := range v {
				if sum {
					g.VADDPS(at(r.row, j*w.bytes()), acc(i, j), acc(i, j))
				}
				g.VMOVUPS(acc(i, j), at(r.row, j*w.bytes()))
			}
			if i+1 < h {
				g.ADDQ(r.ldc, r.row)
			}
		}
		g.JMP(operand.LabelRef(done))
		if sum {
			g.Label(overwrite)
		}
	}
	g.Label(edge)
	m := g.masks(w, n, v, h*v)
	skip := g.label("skip")
	g.TESTB(add, add)
	g.JZ(operand.LabelRef(skip))
	g.MOVQ(r.c, r.row)
	for i := range h {
		for j := range v {
			g.addMasked(w, m, j, at(r.row, j*w.bytes()), acc(i, j))
		}
		g.ADDQ(r.ldc, r.row)
	}
	g.Label(skip)
	for i := range h {
		for j := range v {
			g.storeMasked(w, m, j, acc(i, j), at(r.c, j*w.bytes()))
		}
		if i+1 < h {
			g.ADDQ(r.ldc, r.c)
		}
	}
	g.Label(done)
	g.VZEROUPPER()
}

// peak is a loop of independent multiply-adds that measures what the machine
// can do.
func peak(g *generator, w width) {
	g.function("peak"+w.String(), "func(n int)", "runs n rounds of 14 multiply-adds on registers.")
	n := g.arg("n")
	for i := range 16 {
		g.zero(w, w.reg(i))
	}
	loop := g.label("loop")
	g.Label(loop)
	for i := range 14 {
		g.VFMADD231PS(w.reg(14), w.reg(15), w.reg(i))
	}
	g.DECQ(n)
	g.JNZ(operand.LabelRef(loop))
	g.VZEROUPPER()
	g.RET()
}
