package plan

import (
	"slices"

	"tcdbg/inductor/ir"
	"tcdbg/inductor/sched"
)

// This file orders the prologue, which computes what depends on parameters alone and packs weights. Much of what it computes
// is only read to be packed, such as a weight scaled by a batch norm. Such a buffer passes: once it is packed, the next ones
// reuse its memory.

// waitingBytes is how much may wait to be packed. Packing each buffer at once would need the least memory, but calls of kernels
// that follow one another are rows of one table, which is shorter code.
const waitingBytes = 4 << 20

// packing takes the place of a group's number in a step.
const packing = -1

// prologue orders kernels and packings.
func (p *Plan) prologue(segment int) {
	st := Step{Segment: segment}
	packs, last := p.operands()
	packed := map[*Packing]bool{}
	pack := func(k *Packing) {
		packed[k] = true
		p.prologueInput(k.Operand)
		st.Kernels, st.Groups, st.Names = append(st.Kernels, nil), append(st.Groups, packing), append(st.Names, k.Name())
		p.packsAt = append(p.packsAt, k)
	}
	var ready []*Packing
	waiting := int64(0)
	for i, g := range p.Groups {
		if !g.Hoisted {
			continue
		}
		st.add(p, i)
		p.packsAt = append(p.packsAt, nil)
		for _, it := range g.Members() {
			it.Node.Reads(func(b *ir.Buffer, _ *ir.Index) { p.prologueInput(b) })
			it.Node.Writes(func(b *ir.Buffer, _ *ir.Index) {
				if last[b] == i && len(packs[b]) > 0 {
					ready, waiting = append(ready, packs[b]...), waiting+b.Bytes()
					delete(packs, b)
				}
			})
		}
		if waiting < waitingBytes {
			continue
		}
		for _, k := range ready {
			pack(k)
		}
		ready, waiting = nil, 0
	}
	for _, k := range p.Packs {
		if !packed[k] {
			pack(k)
		}
	}
	if len(st.Names) > 0 {
		p.Prologue = []Step{st}
		p.passing()
	}
}

// operands gives the packings of each operand, and the group that writes an operand last.
func (p *Plan) operands() (packs map[*ir.Buffer][]*Packing, last map[*ir.Buffer]int) {
	packs, last = map[*ir.Buffer][]*Packing{}, map[*ir.Buffer]int{}
	for _, k := range p.Packs {
		packs[k.Operand] = append(packs[k.Operand], k)
	}
	for i, g := range p.Groups {
		for _, it := range g.Members() {
			it.Node.Writes(func(b *ir.Buffer, _ *ir.Index) { last[b] = i })
		}
	}
	return packs, last
}

// ProloguePack is the packing that is the i-th thing that the prologue runs; nil for a kernel.
func (p *Plan) ProloguePack(i int) *Packing { return p.packsAt[i] }

// passing finds what no step reads but for the operand of which it has a packed copy, and places it.
func (p *Plan) passing() {
	operand, read := map[*ir.Node]*ir.Buffer{}, map[*ir.Buffer]bool{}
	for _, k := range p.Packs {
		for _, g := range k.Groups {
			operand[p.Groups[g].TemplateNode()] = k.Operand
		}
	}
	for _, g := range p.Groups {
		if g.Hoisted {
			continue
		}
		for _, it := range g.Members() {
			it.Node.Reads(func(b *ir.Buffer, _ *ir.Index) { read[b] = read[b] || operand[it.Node] != b })
		}
	}
	for b, slot := range p.slots {
		if p.hoisted[b] && !read[b] {
			p.Passing = append(p.Passing, slot)
		}
	}
	slices.Sort(p.Passing)
	p.placePassing()
}

// placePassing gives each passing buffer its place, by the steps of the prologue between which it is in use.
func (p *Plan) placePassing() {
	l := newLifetimes()
	touch := func(b *ir.Buffer, at int) {
		slot, ok := p.slots[b]
		if _, passes := slices.BinarySearch(p.Passing, slot); ok && passes {
			l.touch(b, slot, at)
		}
	}
	groups := p.Prologue[0].Groups
	for at, group := range groups {
		if k := p.packsAt[at]; k != nil {
			touch(k.Operand, at)
			continue
		}
		for _, it := range p.Groups[group].Members() {
			it.Node.Writes(func(b *ir.Buffer, _ *ir.Index) { touch(b, at) })
			it.Node.Reads(func(b *ir.Buffer, _ *ir.Index) { touch(b, at) })
		}
	}
	p.PassingBytes = p.place(l, len(groups)-1)
	p.passingLives = l.lives
}

// Name is what the step of the prologue is called.
func (k *Packing) Name() string { return "pack_" + k.Operand.Name }

// prologueInput notes that the prologue reads an input.
func (p *Plan) prologueInput(b *ir.Buffer) {
	if b.Kind != ir.Input {
		return
	}
	if s := p.Slot(b); !slices.Contains(p.Params, s) {
		p.Params = append(p.Params, s)
	}
}

// HoistedKernels are the kernels that run in the prologue.
func (p *Plan) HoistedKernels() []*sched.Kernel {
	var out []*sched.Kernel
	for _, st := range p.Prologue {
		for _, k := range st.Kernels {
			if k != nil {
				out = append(out, k)
			}
		}
	}
	return out
}
