package eval

import (
	"tcdbg/tracer/value"

	"golang.org/x/tools/go/ssa"
)

// This file computes which registers a frame still needs at an instruction.

type liveSet map[ssa.Value]bool

// liveness is the set of registers live at the end of each block of a function.
type liveness struct {
	out    map[*ssa.BasicBlock]liveSet
	always liveSet // read by the recover block, which any instruction may reach
}

func livenessOf(fn *ssa.Function) *liveness {
	return value.Fact(fn, computeLiveness)
}

func computeLiveness(fn *ssa.Function) *liveness {
	l := &liveness{out: map[*ssa.BasicBlock]liveSet{}, always: liveSet{}}
	for _, b := range fn.Blocks {
		l.out[b] = liveSet{}
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
func (l *liveness) phiUses(b, p *ssa.BasicBlock, out liveSet) bool {
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

func add(s liveSet, v ssa.Value) bool {
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
func (l *liveness) before(b *ssa.BasicBlock, i int) liveSet {
	live := liveSet{}
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

// at is the set live before an instruction; after is the set after it.
func (l *liveness) at(in ssa.Instruction) liveSet { return l.around(in, 0) }

func (l *liveness) after(in ssa.Instruction) liveSet { return l.around(in, 1) }

func (l *liveness) around(in ssa.Instruction, skip int) liveSet {
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
func IsLive(in ssa.Instruction, v ssa.Value) bool { return livenessOf(in.Parent()).at(in)[v] }
