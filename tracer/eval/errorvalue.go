package eval

import (
	"go/types"
	"unsafe"

	"tcdbg/tracer/replay"
	"tcdbg/tracer/value"

	"golang.org/x/tools/go/ssa"
)

// This file lets a program make errors without breaking the graph: errors.New
// and fmt.Errorf are called again on every run of the cache entry, with the values
// of that run, since errors are told apart by their identity.

// This file lets a program make errors without breaking the graph: errors.New
// and fmt.Errorf are called again on every run of the cache entry, with the values
// of that run, since errors are told apart by their identity.

// makeError evaluates errors.New and fmt.Errorf.
func makeError(tr *Trace, in *ssa.Call) {
	args := in.Call.Args
	tr.constant(args[0])
	e := &value.FreshError{Text: *(*string)(tr.addr(args[0]))}
	if len(args) > 1 {
		e.Verbs = true
		natives{tr}.errorOperands(e, args[1])
	}
	tr.exec()
	tr.set(in, &value.Tracked{Err: e})
}

// errorOperands reads what fmt.Errorf formats. Formatting calls the methods of
// its operands, which must then be no code of the program.
func (ns natives) errorOperands(e *value.FreshError, list ssa.Value) {
	t := list.Type().Underlying().(*types.Slice)
	h := *(*value.SliceHeader)(ns.addr(list))
	if n := ns.tracked(list); n != nil && n.Src != nil {
		ns.Guards.Len(n.Src, h.Len)
	}
	places, tracked := ns.elemValues(t.Elem(), h, ns.tracked(list))
	e.Operands, e.Tracked = make([]any, h.Len), tracked // copies: the array may be written again
	for i, p := range places {
		e.Operands[i] = *(*any)(p)
		if !ns.libraryError(t.Elem(), p, e.Tracked[i]) {
			ns.refuseTensors(t.Elem(), p)
		}
	}
}

// libraryErrors are the types whose Error method runs no code of the program:
// they hold a text.
var libraryErrors = map[string]bool{"*errors.errorString": true, "*fmt.wrapError": true, "*fmt.wrapErrors": true}

// libraryError reports whether the interface at p holds such an error; of one
// that existed on entry the type is guarded.
func (ns natives) libraryError(t types.Type, p unsafe.Pointer, n *value.Tracked) bool {
	dyn, _ := ns.In.Dynamic(t, p)
	if dyn == nil || !libraryErrors[types.TypeString(dyn, nil)] {
		return false
	}
	if n != nil && n.Src != nil {
		ns.Guards.Type(n.Src, dyn)
	}
	return true
}

var anyType = types.NewInterfaceType(nil, nil)

// newError builds the reconstruction of an error that the trace has made.
func (rs *reconstructor) newError(t types.Type, e *value.FreshError) replay.Reconstruction {
	spec := rs.errs[e]
	if spec == nil {
		spec = &replay.ErrorSpec{Text: e.Text, Verbs: e.Verbs}
		rs.errs[e] = spec
		for i, n := range e.Tracked {
			spec.Operands = append(spec.Operands, rs.of(anyType, unsafe.Pointer(&e.Operands[i]), n))
		}
	}
	return replay.Error{Typ: t, Spec: spec}
}
