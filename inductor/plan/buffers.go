package plan

import (
	"tcdbg/graph"
	"tcdbg/inductor/ir"
	"tcdbg/inductor/sched"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file gives buffers their memory.

// PlaceBuffers lists what needs memory and gives each its slot in the table of
// pointers.
func (p *Plan) PlaceBuffers(g *graph.Graph) {
	add := func(b *ir.Buffer, role Role) {
		p.slots[b] = len(p.Buffers)
		p.Buffers = append(p.Buffers, Buffer{
			Name: b.Name, DType: b.DType, Shape: b.Shape, Stride: b.Stride,
			Span: b.Span(), Offset: -1, Role: role,
		})
	}
	for _, b := range p.IR.Inputs {
		if b == nil {
			p.Inputs = append(p.Inputs, -1)
			continue
		}
		p.Inputs = append(p.Inputs, len(p.Buffers))
		add(b, RoleInput)
	}
	private := map[*ir.Buffer]bool{}
	used := map[*ir.Buffer]bool{}
	for i, k := range p.Kernels {
		if k != nil {
			for b, place := range k.Place {
				private[b] = place != sched.Memory
			}
		}
		for _, it := range p.Groups[i].Members() {
			it.Node.Writes(func(b *ir.Buffer, _ *ir.Index) { used[b] = true })
		}
	}
	over := p.inPlace()
	for _, b := range p.IR.Buffers {
		switch {
		case b.Kind == ir.Input || !used[b] || private[b]:
		case p.Hoisted(b):
			add(b, RolePacked)
		case b.Kind == ir.Result:
			add(b, RoleOutput)
			if i, ok := over[b]; ok {
				last := &p.Buffers[len(p.Buffers)-1]
				last.Role, last.Over = RoleOver, i
			}
		default:
			add(b, RoleArena)
		}
	}
	if p.checkedAt() >= 0 {
		one := []sym.Int{sym.Const(1)}
		p.Check = &ir.Buffer{Name: "check", DType: ops.Int64, Shape: one, Stride: one}
		add(p.Check, RoleCheck)
	}
	p.symbols(g)
}

// symbols finds where each dynamic size can be read.
func (p *Plan) symbols(g *graph.Graph) {
	seen := map[*sym.Symbol]bool{}
	note := func(x sym.Int, input, dim int, stride bool) {
		if s, ok := x.AsSymbol(); ok && !seen[s] {
			seen[s] = true
			p.Symbols = append(p.Symbols, Symbol{Sym: s, Input: input, Dim: dim, Stride: stride})
		}
	}
	for i, ph := range g.Placeholders() {
		if x, ok := ph.Meta.(sym.Int); ok {
			note(x, i, -1, false)
		}
		if !ph.IsTensor() {
			continue
		}
		for d, x := range ph.TensorMeta().Shape {
			note(x, i, d, false)
		}
		for d, x := range ph.TensorMeta().Stride {
			note(x, i, d, true)
		}
	}
}

// PlanArena places the arena's buffers by the steps at which they live.
func (p *Plan) PlanArena() {
	lives := map[*ir.Buffer]*sched.Life{}
	var order []*ir.Buffer
	touch := func(b *ir.Buffer, step int) {
		slot, ok := p.slots[b]
		if !ok || p.Buffers[slot].Role != RoleArena {
			return
		}
		l := lives[b]
		if l == nil {
			l = &sched.Life{Name: b.Name, Bytes: b.Bytes(), From: step}
			lives[b] = l
			order = append(order, b)
		}
		l.To = step
	}
	for i, g := range p.Groups {
		for _, it := range g.Members() {
			it.Node.Writes(func(b *ir.Buffer, _ *ir.Index) { touch(b, i) })
			it.Node.Reads(func(b *ir.Buffer, _ *ir.Index) { touch(b, i) })
		}
	}
	for _, l := range lives {
		if a := p.AttentionAt(l.From); a != nil {
			l.From = a.First
		}
		if a := p.AttentionAt(l.To); a != nil {
			l.To = a.First + 2
		}
	}
	for _, b := range order {
		if p.NoReuse {
			lives[b].From, lives[b].To = 0, len(p.Groups)-1
		}
		p.lives = append(p.lives, lives[b])
		p.arena = append(p.arena, p.slots[b])
	}
	p.Arena = sched.Plan(p.lives)
	for i, l := range p.lives {
		p.Buffers[p.arena[i]].Offset = l.Offset
	}
	p.Memory = sched.MemoryPlan(p.lives, p.Arena)
}
