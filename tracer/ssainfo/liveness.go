package ssainfo

import (
	"tcdbg/tracer/value"

	"golang.org/x/tools/go/ssa"
)

// This file computes which registers a frame still needs at an instruction.

type LiveSet map[ssa.Value]bool

// Liveness is the set of registers live at the end of each block of a function.
type Liveness struct {
	out    map[*ssa.BasicBlock]LiveSet
	always LiveSet // read by the recover block, which any instruction may reach
}

func LivenessOf(fn *ssa.Function) *Liveness {
	return value.Fact(fn, computeLiveness)
}

func computeLiveness(fn *ssa.Function) *Liveness {
	l := &Liveness{out: map[*ssa.BasicBlock]LiveSet{}, always: LiveSet{}}
	for _, b := range fn.Blocks {
		l.out[b] = LiveSet{}
	}
	for changed := true; changed; {
		changed = false
		for i := len(fn.Blocks) - 1; i >= 0; i-- {
			b := fn.Blocks[i]
			in := l.before(b, 0)
			for _, p := range b.Preds {
				out := l.out[p]
				for v := range in {
					if phi, ok := v.(*ssa.Phi); ok && phi.Block() == b {
						continue
					}
					changed = add(out, v) || changed
				}
				changed = l.phiUses(b, p, out) || changed
			}
		}
	}
	if fn.Recover != nil {
		for v := range l.before(fn.Recover, 0) {
			l.always[v] = true
		}
	}
	return l
}

// phiUses adds what the phis of b take from predecessor p.
func (l *Liveness) phiUses(b, p *ssa.BasicBlock, out LiveSet) bool {
	changed := false
	for _, in := range b.Instrs {
		phi, ok := in.(*ssa.Phi)
		if !ok {
			continue
		}
		for i, q := range b.Preds {
			if q == p && isRegister(phi.Edges[i]) {
				changed = add(out, phi.Edges[i]) || changed
			}
		}
	}
	return changed
}

func add(s LiveSet, v ssa.Value) bool {
	if s[v] {
		return false
	}
	s[v] = true
	return true
}

func isRegister(v ssa.Value) bool {
	switch v.(type) {
	case *ssa.Const, *ssa.Global, *ssa.Function, *ssa.Builtin, nil:
		return false
	}
	return true
}

// before is the set live before instruction i of block b. Phis at the head
// of b count as live there: they were written on the edge.
func (l *Liveness) before(b *ssa.BasicBlock, i int) LiveSet {
	live := LiveSet{}
	for v := range l.out[b] {
		live[v] = true
	}
	for k := len(b.Instrs) - 1; k >= i; k-- {
		in := b.Instrs[k]
		if _, ok := in.(*ssa.Phi); ok {
			continue
		}
		if v, ok := in.(ssa.Value); ok {
			delete(live, v)
		}
		if _, ok := in.(*ssa.DebugRef); ok {
			continue
		}
		for _, op := range in.Operands(nil) {
			if *op != nil && isRegister(*op) {
				live[*op] = true
			}
		}
	}
	return live
}

// At is the set live before an instruction; After is the set after it.
func (l *Liveness) At(in ssa.Instruction) LiveSet { return l.around(in, 0) }

func (l *Liveness) After(in ssa.Instruction) LiveSet { return l.around(in, 1) }

func (l *Liveness) around(in ssa.Instruction, skip int) LiveSet {
	b := in.Block()
	for i, x := range b.Instrs {
		if x == in {
			live := l.before(b, i+skip)
			for v := range l.always {
				live[v] = true
			}
			return live
		}
	}
	panic("tracer: instruction is not in its block")
}

// IsLive reports whether a frame that is about to run an instruction still needs v: only
// such registers are there after compiled code.
func IsLive(in ssa.Instruction, v ssa.Value) bool { return LivenessOf(in.Parent()).At(in)[v] }
