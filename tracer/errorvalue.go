package tracer

import (
	"errors"
	"fmt"
	"go/types"
	"unsafe"

	"golang.org/x/tools/go/ssa"
)

// This file lets a program make errors without breaking the graph: errors.New
// and fmt.Errorf are called again on every run of the segment, with the values
// of that run, since errors are told apart by their identity.

// freshError is one error that a trace has made.
type freshError struct {
	text     string
	verbs    bool  // text is the format of fmt.Errorf
	operands []any // that it formats
	notes    []*note
}

// newError evaluates errors.New and fmt.Errorf.
func (tr *trace) newError(in *ssa.Call) {
	args := in.Call.Args
	tr.constant(args[0])
	e := &freshError{text: *(*string)(tr.addr(args[0]))}
	if len(args) > 1 {
		e.verbs = true
		tr.errorOperands(e, args[1])
	}
	tr.exec()
	tr.set(in, &note{err: e})
}

// errorOperands reads what fmt.Errorf formats. Formatting calls the methods of
// its operands, which must then be no code of the program.
func (tr *trace) errorOperands(e *freshError, list ssa.Value) {
	t := list.Type().Underlying().(*types.Slice)
	h := *(*sliceHeader)(tr.addr(list))
	if n := tr.noteOf(list); n != nil && n.src != nil {
		tr.guardLen(n.src, h.len)
	}
	places, notes := tr.elemValues(t.Elem(), h, tr.noteOf(list))
	e.operands, e.notes = make([]any, h.len), notes // copies: the array may be written again
	for i, p := range places {
		e.operands[i] = *(*any)(p)
		if !tr.libraryError(t.Elem(), p, e.notes[i]) {
			tr.refuseTensors(t.Elem(), p)
		}
	}
}

// libraryErrors are the types whose Error method runs no code of the program:
// they hold a text.
var libraryErrors = map[string]bool{"*errors.errorString": true, "*fmt.wrapError": true, "*fmt.wrapErrors": true}

// libraryError reports whether the interface at p holds such an error; of one
// that existed on entry the type is guarded.
func (tr *trace) libraryError(t types.Type, p unsafe.Pointer, n *note) bool {
	dyn, _ := tr.in.Dynamic(t, p)
	if dyn == nil || !libraryErrors[types.TypeString(dyn, nil)] {
		return false
	}
	if n != nil && n.src != nil {
		tr.guardType(n.src, dyn)
	}
	return true
}

// errorSpec is how an error is made on each run of a segment.
type errorSpec struct {
	text     string
	verbs    bool
	operands []recipe
}

var anyType = types.NewInterfaceType(nil, nil)

// newError builds the recipe of an error that the trace has made.
func (rs *recipes) newError(t types.Type, e *freshError) recipe {
	spec := rs.errs[e]
	if spec == nil {
		spec = &errorSpec{text: e.text, verbs: e.verbs}
		rs.errs[e] = spec
		for i, n := range e.notes {
			spec.operands = append(spec.operands, rs.of(anyType, unsafe.Pointer(&e.operands[i]), n))
		}
	}
	return errorRecipe{t, spec}
}

// errorRecipe makes an error, once in each run.
type errorRecipe struct {
	typ  types.Type
	spec *errorSpec
}

func (r errorRecipe) write(m *maker, dst unsafe.Pointer) {
	e, ok := m.errs[r.spec]
	if !ok {
		e = r.spec.make(m)
		if m.errs == nil {
			m.errs = map[*errorSpec]error{}
		}
		m.errs[r.spec] = e
	}
	if i, ok := r.typ.Underlying().(*types.Interface); ok && i.Empty() {
		*(*any)(dst) = e
		return
	}
	*(*error)(dst) = e // any interface that an error fits has its one method
}

func (s *errorSpec) make(m *maker) error {
	if !s.verbs {
		return errors.New(s.text)
	}
	operands := make([]any, len(s.operands))
	for i, r := range s.operands {
		r.write(m, unsafe.Pointer(&operands[i]))
	}
	return fmt.Errorf(s.text, operands...)
}
