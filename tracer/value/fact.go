package value

import (
	"runtime"
	"sync"

	"golang.org/x/tools/go/ssa"
)

// This file keeps what was found out about the functions of a program. A process
// may run many programs, one after the other, so it is forgotten with its owner.

var facts sync.Map // *ssa.Program -> *sync.Map of factKey[T] -> T

// factKey tells facts of different kinds apart by their type.
type factKey[T any] struct{ fn *ssa.Function }

// Fact is what compute finds out about fn, computed once.
func Fact[T any](fn *ssa.Function, compute func(*ssa.Function) T) T {
	m, ok := facts.Load(fn.Prog)
	if !ok {
		m, _ = facts.LoadOrStore(fn.Prog, new(sync.Map))
	}
	key := factKey[T]{fn}
	if v, ok := m.(*sync.Map).Load(key); ok {
		return v.(T)
	}
	v, _ := m.(*sync.Map).LoadOrStore(key, compute(fn))
	return v.(T)
}

// ForgetWith drops the facts of p when owner is gone. Another owner of the same
// program finds them out again.
func ForgetWith[T any](owner *T, p *ssa.Program) {
	runtime.AddCleanup(owner, func(p *ssa.Program) { facts.Delete(p) }, p)
}
