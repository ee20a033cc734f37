package eval

import (
	"go/types"
	"unsafe"

	"tcdbg/tracer/breaks"
	"tcdbg/tracer/value"

	"golang.org/x/tools/go/ssa"
)

// This file is what a trace knows of the registers of the top frame.

// tracked returns what is tracked of a value as the top frame sees it.
func (fs *frames) tracked(v ssa.Value) *value.Tracked {
	switch v := v.(type) {
	case *ssa.Const, *ssa.Function, *ssa.Builtin:
		return nil
	case *ssa.Global:
		return &value.Tracked{Loc: fs.src.GlobalVar(v)}
	}
	sh := fs.top()
	if n, ok := sh.tracked[v]; ok {
		return n
	}
	if sh.initial < 0 {
		return nil
	}
	n := fs.src.Track(fs.src.Register(sh.initial, v))
	sh.tracked[v] = n
	return n
}

// set records the tracked value of a register that the trace has assigned.
func (fs *frames) set(v ssa.Value, n *value.Tracked) {
	sh := fs.top()
	sh.tracked[v] = n
	sh.assigned[v] = true
}

// addr is where the top frame keeps v.
func (fs *frames) addr(v ssa.Value) unsafe.Pointer { return fs.th.Top().Addr(v) }

// notLarge breaks before what would describe a long array element by
// element: a value of type t, or a part of it.
func notLarge(t types.Type, doing string) {
	switch u := t.Underlying().(type) {
	case *types.Array:
		if value.IsLarge(t) {
			breakAt(breaks.OpaqueValue, "%s an array of %d elements", doing, u.Len())
		}
		notLarge(u.Elem(), doing)
	case *types.Struct:
		for i := range u.NumFields() {
			notLarge(u.Field(i).Type(), doing)
		}
	}
}
