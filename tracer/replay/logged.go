package replay

import (
	"reflect"

	"tcdbg/tracer/host"
)

// This file is calls that print, which the program has asked to be made after the graph.

// Logged is such a call.
type Logged struct {
	Name string
	Func reflect.Value
	Args []Result
}

// logging makes the arguments of the calls, and returns what makes the calls.
func (e *Entry) logging(m *run) func() {
	if len(e.Logged) == 0 {
		return func() {}
	}
	calls := make([][]reflect.Value, len(e.Logged))
	for i, l := range e.Logged {
		for k, p := range m.make(len(l.Args), func(k int) Result { return l.Args[k] }) {
			calls[i] = append(calls[i], host.ValueAt(m.in, l.Func.Type().In(k), p))
		}
	}
	return func() {
		for i, l := range e.Logged {
			if l.Func.Type().IsVariadic() {
				l.Func.CallSlice(calls[i])
			} else {
				l.Func.Call(calls[i])
			}
		}
	}
}
