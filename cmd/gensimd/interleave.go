package main

import (
	"fmt"
	"slices"

	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// This file computes several vectors at once. The steps of a polynomial wait for each
// other, and the processor looks only so far ahead: where the steps of several vectors
// alternate it always finds one that is ready.

// round writes one round of a loop, with registers from first on.
func (g *generator) round(w width, r rounds, first int, body func(u int, l *lane)) {
	if r.together > 0 {
		g.together(w, r.together, first, body)
		return
	}
	for u := range r.plain {
		body(u, &lane{generator: g, w: w, next: first})
	}
}

// spare is the register that holds a constant which several vectors read.
func (w width) spare() reg.VecPhysical { return w.reg(w.registers() - 1) }

// together writes n copies of body, which must consist of the same instructions, step by
// step, each with registers of its own from first on. Constants are loaded once for all.
func (g *generator) together(w width, n, first int, body func(u int, l *lane)) {
	f := g.current()
	start := len(f.Nodes)
	copies := make([][]*ir.Instruction, n)
	for u := range n {
		l := &lane{generator: g, w: w, next: first}
		from := len(f.Nodes)
		body(u, l)
		if first = l.most; first >= w.registers() {
			panic(fmt.Sprintf("%s: %d vectors need more registers than there are", f.Name, n))
		}
		for _, node := range f.Nodes[from:] {
			copies[u] = append(copies[u], node.(*ir.Instruction))
		}
	}
	f.Nodes = f.Nodes[:start]
	for i := range copies[0] {
		step := make([]*ir.Instruction, n)
		for u := range step {
			step[u] = copies[u][i]
		}
		g.step(w, f, step)
	}
}

// current is the function that is being written.
func (g *generator) current() *ir.Function {
	file, err := g.Result()
	if err != nil {
		panic(err)
	}
	var last *ir.Function
	for _, s := range file.Sections {
		if f, ok := s.(*ir.Function); ok {
			last = f
		}
	}
	return last
}

// step writes the same instruction of each vector.
func (g *generator) step(w width, f *ir.Function, step []*ir.Instruction) {
	first := step[0]
	constant, found := constantOf(first)
	switch {
	case len(step) == 1 || !found:
	case first.Opcode == "VMOVUPS" && first.Operands[1] == w.spare():
		f.AddInstruction(first)
		return
	case first.Opcode == "VMOVUPS":
		f.AddInstruction(first)
		for _, i := range step[1:] {
			g.VMOVAPS(first.Operands[1], i.Operands[1])
		}
		return
	default:
		g.VMOVUPS(constant, w.spare())
		for _, i := range step {
			replace(i.Operands, constant, w.spare())
			replace(i.Inputs, constant, w.spare())
		}
	}
	for _, i := range step {
		if i.Opcode != first.Opcode {
			panic(f.Name + ": " + i.Opcode + " beside " + first.Opcode)
		}
		f.AddInstruction(i)
	}
}

// constantOf is the operand of an instruction that is a table in memory.
func constantOf(i *ir.Instruction) (operand.Mem, bool) {
	for _, op := range i.Operands {
		if m, ok := op.(operand.Mem); ok && m.Symbol.Name != "" {
			return m, true
		}
	}
	return operand.Mem{}, false
}

func replace(ops []operand.Op, old, by operand.Op) {
	if at := slices.Index(ops, old); at >= 0 {
		ops[at] = by
	}
}
