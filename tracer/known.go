package tracer

import (
	"runtime"
	"sync"

	"golang.org/x/tools/go/ssa"
)

// This file keeps what was found out about the functions of a program. A process
// may run many programs, one after the other, so it goes with the tracer that
// asked.

// knowledge is what is known of one program's functions.
type knowledge struct {
	debug sync.Map // *ssa.Function -> *debugInfo
	live  sync.Map // *ssa.Function -> *liveness
}

var known sync.Map // *ssa.Program -> *knowledge; of programs that a tracer runs

func knownOf(p *ssa.Program) *knowledge {
	if k, ok := known.Load(p); ok {
		return k.(*knowledge)
	}
	k, _ := known.LoadOrStore(p, new(knowledge))
	return k.(*knowledge)
}

// forgetWith drops what is known of p when t is gone. Another tracer of the same
// program finds it out again.
func forgetWith(t *Tracer, p *ssa.Program) {
	runtime.AddCleanup(t, func(p *ssa.Program) { known.Delete(p) }, p)
}
