package plan

import (
	"cmp"
	"fmt"
	"slices"

	"tcdbg/inductor/ir"
	"tcdbg/inductor/sched"
)

// This file holds what must be true of a plan after each pass, which the pass table
// checks under TCDBG_CHECK=1.

// CheckKernels wants each node of the program in one group, and a kernel with a name of
// its own for each group that is no extern call.
func (p *Plan) CheckKernels() error {
	if len(p.Kernels) != len(p.Groups) || len(p.Names) != len(p.Groups) {
		return fmt.Errorf("plan: %d kernels and %d names for %d groups", len(p.Kernels), len(p.Names), len(p.Groups))
	}
	names := map[string]bool{}
	group := map[*ir.Node]int{}
	for i, g := range p.Groups {
		if (p.Kernels[i] == nil) != g.Extern {
			return fmt.Errorf("plan: %s: extern calls, and they alone, have no kernel", p.Names[i])
		}
		if names[p.Names[i]] {
			return fmt.Errorf("plan: two kernels are called %s", p.Names[i])
		}
		names[p.Names[i]] = true
		for _, it := range g.Members() {
			if at, twice := group[it.Node]; twice && at != i {
				return fmt.Errorf("plan: %s is in %s and in %s", it.Node.Name, p.Names[at], p.Names[i])
			}
			group[it.Node] = i
		}
	}
	for _, n := range p.IR.Nodes {
		if _, ok := group[n]; !ok {
			return fmt.Errorf("plan: %s is in no group", n.Name)
		}
	}
	return nil
}

// CheckBuffers wants memory for what is read or written through memory and for what is
// returned, and no two outputs in the place of one input.
func (p *Plan) CheckBuffers() error {
	for i, g := range p.Groups {
		for _, it := range g.Members() {
			var missing *ir.Buffer
			need := func(b *ir.Buffer, _ *ir.Index) {
				if _, ok := p.slots[b]; !ok && p.inMemory(i, b) {
					missing = b
				}
			}
			it.Node.Reads(need)
			it.Node.Writes(need)
			if missing != nil {
				return fmt.Errorf("plan: %s uses %s, which has no memory", p.Names[i], missing.Name)
			}
		}
	}
	for _, o := range p.IR.Outputs {
		if _, ok := p.slots[o.Buf]; o.Buf != nil && !ok {
			return fmt.Errorf("plan: %s is returned and has no memory", o.Buf.Name)
		}
	}
	over := map[int]string{}
	for i := range p.Buffers {
		b := &p.Buffers[i]
		if b.Role != RoleOver {
			continue
		}
		if other := over[b.Over]; other != "" {
			return fmt.Errorf("plan: %s and %s are both in the place of input %d", other, b.Name, b.Over)
		}
		over[b.Over] = b.Name
	}
	return nil
}

// inMemory reports whether a group uses a buffer itself, not a copy in registers.
func (p *Plan) inMemory(group int, b *ir.Buffer) bool {
	k := p.Kernels[group]
	if k == nil {
		return true
	}
	place, ok := k.Place[b]
	return !ok || place == sched.Memory
}

// CheckArena wants the arena's buffers within it, and no two of them at one place at
// one time.
func (p *Plan) CheckArena() error { return checkPlaces(p.lives, p.Arena) }

// checkPlaces wants buffers within so many bytes, and no two of them at one place at one time.
func checkPlaces(lives []*sched.Life, size int64) error {
	for _, l := range lives {
		if l.Offset < 0 || l.Offset+l.Bytes > size {
			return fmt.Errorf("plan: %s is at byte %d of an arena of %d", l.Name, l.Offset, size)
		}
	}
	byStart := slices.Clone(lives)
	slices.SortFunc(byStart, func(a, b *sched.Life) int { return cmp.Compare(a.From, b.From) })
	var alive []*sched.Life // by offset
	for _, l := range byStart {
		alive = slices.DeleteFunc(alive, func(o *sched.Life) bool { return o.To < l.From })
		at, _ := slices.BinarySearchFunc(alive, l, func(a, b *sched.Life) int { return cmp.Compare(a.Offset, b.Offset) })
		alive = slices.Insert(alive, at, l)
		for i := max(at, 1); i <= at+1 && i < len(alive); i++ {
			if a, b := alive[i-1], alive[i]; a.Offset+a.Bytes > b.Offset && b.Bytes > 0 {
				return fmt.Errorf("plan: %s and %s are both at byte %d of the arena at step %d", a.Name, b.Name, b.Offset, l.From)
			}
		}
	}
	return nil
}

// CheckAttention wants kernels that run together to be in one attention each.
func (p *Plan) CheckAttention() error {
	next := 0
	for _, a := range p.Attentions {
		if a.First < next || a.First+2 >= len(p.Groups) {
			return fmt.Errorf("plan: the attention of %s overlaps another", p.Names[a.First])
		}
		next = a.First + 3
	}
	return nil
}

// CheckPacks wants only operands packed that change with parameters alone, once each
// template, into memory that the prologue writes.
func (p *Plan) CheckPacks() error {
	seen := map[int]bool{}
	for _, k := range p.Packs {
		switch slot, ok := p.slots[k.Buffer]; {
		case !ok || p.Buffers[slot].Role != RolePacked:
			return fmt.Errorf("plan: %s has no memory that the prologue writes", k.Name())
		case !p.Fixed(k.Operand):
			return fmt.Errorf("plan: %s is packed once and changes in every call", k.Operand.Name)
		}
		for _, g := range k.Groups {
			if seen[g] {
				return fmt.Errorf("plan: %s packs two operands", p.Names[g])
			}
			seen[g] = true
		}
	}
	return nil
}

// CheckTraffic wants the bytes moved to grow from step to step, and readers in order.
func (p *Plan) CheckTraffic() error {
	if !slices.IsSorted(p.traffic.before) {
		return fmt.Errorf("plan: a step moves fewer than 0 bytes: %v", p.traffic.before)
	}
	for b, reads := range p.traffic.reads {
		if !slices.IsSorted(reads) {
			return fmt.Errorf("plan: the readers of %s are out of order: %v", b.Name, reads)
		}
	}
	return nil
}

// CheckSteps wants each group to run once, in the prologue or in a step, and after
// those that write what it reads.
func (p *Plan) CheckSteps() error {
	written := map[*ir.Buffer]bool{}
	writers := map[*ir.Buffer]bool{} // of the whole program
	for _, g := range p.Groups {
		note(g, writers)
	}
	ran := make([]bool, len(p.Groups))
	for _, i := range p.order() {
		if ran[i] {
			return fmt.Errorf("plan: %s runs twice", p.Names[i])
		}
		ran[i] = true
		note(p.Groups[i], written)
		for _, it := range p.Groups[i].Members() {
			var early *ir.Buffer
			it.Node.Reads(func(b *ir.Buffer, _ *ir.Index) {
				if writers[b] && !written[b] {
					early = b
				}
			})
			if early != nil {
				return fmt.Errorf("plan: %s reads %s before it is written", p.Names[i], early.Name)
			}
		}
	}
	if i := slices.Index(ran, false); i >= 0 {
		return fmt.Errorf("plan: %s never runs", p.Names[i])
	}
	return p.checkPrologue(writers)
}

// checkPrologue wants each weight packed once, after what it is has been computed, and what passes at places of its own.
func (p *Plan) checkPrologue(writers map[*ir.Buffer]bool) error {
	written, packed := map[*ir.Buffer]bool{}, map[*Packing]bool{}
	for _, st := range p.Prologue {
		for i, group := range st.Groups {
			k := p.ProloguePack(i)
			if k == nil {
				note(p.Groups[group], written)
				continue
			}
			if writers[k.Operand] && !written[k.Operand] || packed[k] {
				return fmt.Errorf("plan: %s runs twice, or before %s is written", k.Name(), k.Operand.Name)
			}
			packed[k] = true
		}
	}
	if len(packed) != len(p.Packs) {
		return fmt.Errorf("plan: %d weights of %d are packed", len(packed), len(p.Packs))
	}
	return checkPlaces(p.passingLives, p.PassingBytes)
}

// note adds what a group writes to a set.
func note(g *sched.Group, set map[*ir.Buffer]bool) {
	for _, it := range g.Members() {
		it.Node.Writes(func(b *ir.Buffer, _ *ir.Index) { set[b] = true })
	}
}

// order is the groups as they run, the prologue first.
func (p *Plan) order() []int {
	group := map[string]int{} // by the name of its kernel or call
	for i, name := range p.Names {
		group[name] = i
	}
	var out []int
	for _, st := range slices.Concat(p.Prologue, p.Steps) {
		for _, name := range st.Names {
			if i, ok := group[name]; ok { // packing a weight is no group
				out = append(out, i)
			}
		}
	}
	return out
}
