package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// This file is what the parts share: a vector width, its registers, and the
// operations that are spelled differently at the two widths.

// generator is one assembly file in the making.
type generator struct {
	*build.Context
	labels int
	consts map[string]operand.Mem
}

// label returns a name that is not used yet.
func (g *generator) label(stem string) string {
	g.labels++
	return fmt.Sprintf("%s%d", stem, g.labels)
}

// function opens a function that neither splits nor lets its arguments escape.
func (g *generator) function(name, signature, doc string) {
	g.Function(name)
	g.Attributes(4) // NOSPLIT
	g.Pragma("noescape")
	g.Doc(doc)
	g.SignatureExpr(signature)
}

// width is a vector width in float32 lanes: 8 (AVX2) or 16 (AVX-512).
type width int

const (
	avx2   width = 8
	avx512 width = 16
)

var widths = []width{avx2, avx512}

func (w width) String() string {
	if w == avx512 {
		return "512"
	}
	return "2"
}

func (w width) bytes() int { return 4 * int(w) }

// registers is how many vector registers there are.
func (w width) registers() int {
	if w == avx512 {
		return 32
	}
	return 16
}

var (
	ymm = []reg.VecPhysical{
		reg.Y0, reg.Y1, reg.Y2, reg.Y3, reg.Y4, reg.Y5, reg.Y6, reg.Y7, reg.Y8, reg.Y9, reg.Y10, reg.Y11, reg.Y12, reg.Y13,
		reg.Y14, reg.Y15,
	}
	zmm = []reg.VecPhysical{
		reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7, reg.Z8, reg.Z9, reg.Z10, reg.Z11, reg.Z12, reg.Z13,
		reg.Z14, reg.Z15,
		reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20, reg.Z21, reg.Z22, reg.Z23, reg.Z24, reg.Z25, reg.Z26, reg.Z27, reg.Z28,
		reg.Z29, reg.Z30, reg.Z31,
	}
)

// reg returns vector register i at this width.
func (w width) reg(i int) reg.VecPhysical {
	if w == avx512 {
		return zmm[i]
	}
	return ymm[i]
}

// zero clears a register.
func (g *generator) zero(w width, r reg.VecPhysical) {
	if w == avx512 {
		g.VPXORD(r, r, r)
	} else {
		g.VXORPS(r, r, r)
	}
}

// arg loads an argument into a new general register.
func (g *generator) arg(name string) reg.GPVirtual {
	return g.Load(g.Param(name), g.GP64()).(reg.GPVirtual)
}

// at is the memory at base+disp.
func at(base reg.Register, disp int) operand.Mem { return operand.Mem{Base: base, Disp: disp} }

// imm is a constant for additions and comparisons.
func imm(x int) operand.Op { return operand.U32(x) }
