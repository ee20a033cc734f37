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
	l := newLifetimes()
	touch := func(b *ir.Buffer, step int) {
		if slot, ok := p.slots[b]; ok && p.Buffers[slot].Role == RoleArena {
			l.touch(b, slot, step)
		}
	}
	for i, g := range p.Groups {
		for _, it := range g.Members() {
			it.Node.Writes(func(b *ir.Buffer, _ *ir.Index) { touch(b, i) })
			it.Node.Reads(func(b *ir.Buffer, _ *ir.Index) { touch(b, i) })
		}
	}
	for _, life := range l.lives {
		if a := p.AttentionAt(life.From); a != nil {
			life.From = a.First
		}
		if a := p.AttentionAt(life.To); a != nil {
			life.To = a.First + 2
		}
	}
	p.Arena = p.place(l, len(p.Groups)-1)
	p.lives, p.arena = l.lives, l.slots
	p.Memory = sched.MemoryPlan(p.lives, p.Arena)
}

// lifetimes are the steps between which buffers are in use, in the order in which they are first touched.
type lifetimes struct {
	of    map[*ir.Buffer]*sched.Life
	lives []*sched.Life
	slots []int // [] /* life */ its buffer
}

func newLifetimes() *lifetimes { return &lifetimes{of: map[*ir.Buffer]*sched.Life{}} }

// touch notes that a step uses a buffer; steps come in order.
func (l *lifetimes) touch(b *ir.Buffer, slot, step int) {
	life := l.of[b]
	if life == nil {
		life = &sched.Life{Name: b.Name, Bytes: b.Bytes(), From: step}
		l.of[b] = life
		l.lives, l.slots = append(l.lives, life), append(l.slots, slot)
	}
	life.To = step
}

// place gives buffers their offsets and returns how many bytes they take together. Where no place may be reused, each is in use
// from the first step to the last.
func (p *Plan) place(l *lifetimes, last int) int64 {
	if p.NoReuse {
		for _, life := range l.lives {
			life.From, life.To = 0, last
		}
	}
	size := sched.Plan(l.lives)
	for i, life := range l.lives {
		p.Buffers[l.slots[i]].Offset = life.Offset
	}
	return size
}
