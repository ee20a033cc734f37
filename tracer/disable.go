package tracer

import (
	"sync/atomic"

	"tcdbg/tracer/host"

	"golang.org/x/tools/go/ssa"
)

// This file runs functions under compiler.Disable(recursive=false): the
// function itself runs in the host, but the functions that it calls are frames
// of their own, compiled as the region around the call is.

// calleeKey names a function that is compiled because of where it is called.
type calleeKey struct {
	of *Compiled // whose options count
	fn *ssa.Function
}

// runDisabled runs the frame f of a disabled function to its end. Outside of a
// compiled region nothing is compiled, and the interpreter goes on by itself.
func (t *Tracer) runDisabled(th *host.Thread, f *host.Frame) bool {
	v, ok := t.active.Load(th)
	if !ok || f.Deferred() {
		return false
	}
	outer := v.(*Compiled)
	base := th.Depth()
	for th.Depth() >= base {
		in, isCall := th.Top().Instr().(*ssa.Call)
		if th.Depth() > base || !isCall || !t.entersPlainly(th.Top(), &in.Call) {
			outer.stepOver(th)
			continue
		}
		if p := th.Step(); p != nil {
			outer.stepOver(th)
			continue
		}
		if th.Depth() <= base { // a builtin
			continue
		}
		if c := t.callee(outer, th.Top().Code.Fn); !c.run(th, th.Top()) {
			for th.Depth() > base {
				outer.stepOver(th)
			}
		}
	}
	return true
}

// callee is fn compiled with the options of outer.
func (t *Tracer) callee(outer *Compiled, fn *ssa.Function) *Compiled {
	key := calleeKey{outer, fn}
	if v, ok := t.callees.Load(key); ok {
		return v.(*Compiled)
	}
	opts := outer.opts
	opts.name = ""
	v, _ := t.callees.LoadOrStore(
		key,
		&Compiled{t: t, fn: fn, opts: opts, made: new(atomic.Int64), cache: map[string]*frameCache{}, account: outer.account},
	)
	return v.(*Compiled)
}
