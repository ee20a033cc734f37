package tracer

import (
	"errors"
	"go/types"
	"unsafe"

	"tcdbg/tracer/breaks"

	"golang.org/x/tools/go/ssa"
)

// This file lets a program make errors without breaking the graph: an error of
// a constant text is an object that each run of the segment makes anew, since
// errors are told apart by their identity.

// freshError is one error that a trace has made.
type freshError struct{ text string }

// newError evaluates errors.New and fmt.Errorf.
func (tr *trace) newError(in *ssa.Call) {
	for _, a := range in.Call.Args {
		tr.constantDeep(a)
	}
	tr.exec()
	err := *(*error)(tr.shadowAddr(in))
	if errors.Unwrap(err) != nil { // what it wraps would have to be made anew, too
		tr.breakAt(breaks.UnknownNativeCall, "an error that wraps another")
	}
	tr.set(in, &note{err: &freshError{err.Error()}})
}

// errorRecipe makes an error, once in each run.
type errorRecipe struct {
	typ types.Type
	err *freshError
}

func (r errorRecipe) write(m *maker, dst unsafe.Pointer) {
	e, ok := m.errs[r.err]
	if !ok {
		e = errors.New(r.err.text)
		if m.errs == nil {
			m.errs = map[*freshError]error{}
		}
		m.errs[r.err] = e
	}
	if i, ok := r.typ.Underlying().(*types.Interface); ok && i.Empty() {
		*(*any)(dst) = e
		return
	}
	*(*error)(dst) = e // any interface that an error fits has its one method
}
