package eval

import (
	"reflect"
	"unsafe"

	"tcdbg/tracer/replay"
	"tcdbg/tracer/value"

	"golang.org/x/tools/go/ssa"
)

// This file is calls of functions that only print, which the program has named in its settings: they are left out,
// or made when the graph has run.

// Logging is a function that only prints.
type Logging struct {
	Name    string
	Func    reflect.Value
	Ignored bool // its calls are left out
}

// loggedCall is a call that is made when the graph has run.
type loggedCall struct {
	fn   Logging
	args []loggedArg
}

// loggedArg is an argument as it was at the call. What it points to may change until the graph has run.
type loggedArg struct {
	v       ssa.Value
	at      unsafe.Pointer
	tracked *value.Tracked
}

// logs does a call of a function that only prints. It reports false for any other call, and where something needs
// its result or it is in a body of control flow, which may run often or not at all.
func (tr *Trace) logs(in *ssa.Call) bool {
	if len(tr.rules.Logging) == 0 || in.Call.IsInvoke() || used(in) {
		return false
	}
	l, is := tr.rules.Logging[tr.calleeName(in)]
	if !is || !l.Ignored && (tr.flowing != nil || tr.applying != nil) {
		return false
	}
	if !l.Ignored {
		call := loggedCall{fn: l}
		for _, v := range in.Call.Args {
			at := tr.In.New(v.Type())
			tr.In.Copy(v.Type(), at, tr.addr(v))
			call.args = append(call.args, loggedArg{v, at, tr.tracked(v)})
		}
		tr.later = append(tr.later, call)
	}
	tr.skip()
	tr.set(in, nil)
	return true
}

// calleeName is the full name of the function that a call reaches.
func (tr *Trace) calleeName(in *ssa.Call) string {
	f := tr.th.Top()
	if fn, _ := f.Callee(&in.Call); fn != nil {
		return originName(fn)
	}
	return f.NativeName(&in.Call)
}

// used reports whether the program reads what a call returns.
func used(in *ssa.Call) bool {
	for _, by := range *in.Referrers() {
		if _, debug := by.(*ssa.DebugRef); !debug {
			return true
		}
	}
	return false
}

// logged says how the arguments of the calls are made again.
func (rs *reconstructor) logged(entry *replay.Entry) {
	for _, c := range rs.tr.later {
		l := replay.Logged{Name: c.fn.Name, Func: c.fn.Func}
		for _, a := range c.args {
			l.Args = append(l.Args, replay.Result{Type: a.v.Type(), From: rs.of(a.v.Type(), a.at, a.tracked)})
		}
		entry.Logged = append(entry.Logged, l)
	}
}
