package main

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// This file writes loads and stores of less than whole vectors: with mask
// registers in AVX-512, with vectors of masks in AVX2.

// mask selects the first n lanes of up to two vectors.
type mask struct {
	k   [2]reg.Register    // AVX-512
	vec [2]reg.VecPhysical // AVX2
	tmp reg.VecPhysical    // AVX2: room for what is loaded
}

// masks makes the mask of n lanes of v vectors. In AVX2 it lives in v vector
// registers from free on, and the last register is overwritten by additions.
func (g *generator) masks(w width, n reg.GPVirtual, v, free int) mask {
	var m mask
	if w == avx512 {
		bits := g.GP32()
		count := g.GP32()
		g.MOVL(n.As32(), count)
		g.MOVL(operand.U32(0xffffffff), bits)
		g.BZHIL(count, bits, bits)
		for j := range v {
			m.k[j] = []reg.Register{reg.K1, reg.K2}[j]
			g.KMOVW(bits, m.k[j])
			if j+1 < v {
				g.SHRL(operand.Imm(16), bits)
			}
		}
		return m
	}
	table, back := g.GP64(), g.GP64()
	g.LEAQ(g.maskTable(), table)
	g.MOVQ(n, back)
	g.SHLQ(operand.Imm(2), back)
	g.SUBQ(back, table)
	for j := range v {
		m.vec[j] = w.reg(free + j)
		g.VMOVUPS(at(table, 64+j*32), m.vec[j])
	}
	m.tmp = w.reg(15)
	return m
}

// maskTable is 16 lanes of ones and 16 of zeros.
func (g *generator) maskTable() operand.Mem {
	return g.once("lanes", 32, func(i int) uint32 {
		if i < 16 {
			return 0xffffffff
		}
		return 0
	})
}

// once is a static table that is written at its first use.
func (g *generator) once(name string, n int, word func(i int) uint32) operand.Mem {
	if g.consts == nil {
		g.consts = map[string]operand.Mem{}
	}
	if m, ok := g.consts[name]; ok {
		return m
	}
	m := g.static(name, n, word)
	g.consts[name] = m
	return m
}

// static is a read-only table of n words.
func (g *generator) static(name string, n int, word func(i int) uint32) operand.Mem {
	g.StaticGlobal(name)
	g.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := range n {
		g.AddDatum(4*i, operand.U32(word(i)))
	}
	return operand.NewDataAddr(operand.NewStaticSymbol(name), 0)
}

// addMasked adds memory to a register where the mask allows.
func (g *generator) addMasked(w width, m mask, j int, from operand.Mem, r reg.VecPhysical) {
	if w == avx512 {
		g.VADDPS(from, r, m.k[j], r)
		return
	}
	g.VMASKMOVPS(from, m.vec[j], m.tmp)
	g.VADDPS(m.tmp, r, r)
}

// loadMasked loads where the mask allows, zeros elsewhere.
func (g *generator) loadMasked(w width, m mask, j int, from operand.Mem, r reg.VecPhysical) {
	if w == avx512 {
		g.VMOVUPS_Z(from, m.k[j], r)
		return
	}
	g.VMASKMOVPS(from, m.vec[j], r)
}

// storeMasked stores where the mask allows.
func (g *generator) storeMasked(w width, m mask, j int, r reg.VecPhysical, to operand.Mem) {
	if w == avx512 {
		g.VMOVUPS(r, m.k[j], to)
		return
	}
	g.VMASKMOVPS(r, m.vec[j], to)
}
