package plan

import (
	"slices"

	"tcdbg/inductor/ir"
	"tcdbg/inductor/sched"
)

// This file orders the prologue: what depends on parameters alone is computed, and weights are packed. Much of it is
// computed for packing alone, as a weight that takes the scale of a batch norm: it passes, and those behind it lie where
// it was.

// waitingBytes is how much of what is computed waits to be packed. To pack each as soon as it is there would need less, but
// calls of kernels that follow one another are rows of a table.
const waitingBytes = 4 << 20

// prologue orders kernels and packings.
func (p *Plan) prologue(segment int) {
	st := Step{Segment: segment}
	after, packed, waiting := p.packsAfter(), map[*Packing]bool{}, int64(0)
	pack := func(ready func(k *Packing) bool) {
		for _, k := range p.Packs {
			if packed[k] || !ready(k) {
				continue
			}
			packed[k] = true
			p.prologueInput(k.Operand)
			st.Kernels, st.Groups, st.Names = append(st.Kernels, nil), append(st.Groups, packing), append(st.Names, k.Name())
			p.packsAt = append(p.packsAt, k)
		}
		waiting = 0
	}
	for i, g := range p.Groups {
		if !g.Hoisted {
			continue
		}
		st.add(p, i)
		p.packsAt = append(p.packsAt, nil)
		for _, it := range g.Members() {
			it.Node.Reads(func(b *ir.Buffer, _ *ir.Index) { p.prologueInput(b) })
		}
		for _, b := range after.at[i] {
			waiting += b.Bytes()
		}
		if waiting >= waitingBytes {
			pack(func(k *Packing) bool { last, ok := after.last[k.Operand]; return ok && last <= i })
		}
	}
	pack(func(*Packing) bool { return true })
	if len(st.Names) > 0 {
		p.Prologue = []Step{st}
		p.passing()
	}
}

// packing is in the place of a step's group that is none.
const packing = -1

// operands are what is packed and computed before: the group that writes one last, and those that a group writes last.
type operands struct {
	last map[*ir.Buffer]int
	at   map[int][]*ir.Buffer
}

func (p *Plan) packsAfter() operands {
	out := operands{map[*ir.Buffer]int{}, map[int][]*ir.Buffer{}}
	wanted := map[*ir.Buffer]bool{}
	for _, k := range p.Packs {
		wanted[k.Operand] = true
	}
	for i, g := range p.Groups {
		for _, it := range g.Members() {
			it.Node.Writes(func(b *ir.Buffer, _ *ir.Index) {
				if wanted[b] {
					out.last[b] = i
				}
			})
		}
	}
	for b, i := range out.last {
		out.at[i] = append(out.at[i], b)
	}
	return out
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

// placePassing places what passes, by the steps of the prologue at which it lives.
func (p *Plan) placePassing() {
	lives := map[*ir.Buffer]*sched.Life{}
	touch := func(b *ir.Buffer, at int) {
		slot, ok := p.slots[b]
		if _, passes := slices.BinarySearch(p.Passing, slot); !ok || !passes {
			return
		}
		if lives[b] == nil {
			lives[b] = &sched.Life{Name: b.Name, Bytes: b.Bytes(), From: at}
			p.passingLives = append(p.passingLives, lives[b])
			p.passes = append(p.passes, slot)
		}
		lives[b].To = at
	}
	st := &p.Prologue[0]
	for at, group := range st.Groups {
		if k := p.packsAt[at]; k != nil {
			touch(k.Operand, at)
			continue
		}
		for _, it := range p.Groups[group].Members() {
			it.Node.Writes(func(b *ir.Buffer, _ *ir.Index) { touch(b, at) })
			it.Node.Reads(func(b *ir.Buffer, _ *ir.Index) { touch(b, at) })
		}
	}
	if p.NoReuse {
		for _, l := range p.passingLives {
			l.From, l.To = 0, len(st.Groups)-1
		}
	}
	p.PassingBytes = sched.Plan(p.passingLives)
	for i, l := range p.passingLives {
		p.Buffers[p.passes[i]].Offset = l.Offset
	}
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
