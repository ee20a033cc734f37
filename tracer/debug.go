package tracer

import (
	"go/ast"
	"go/types"
	"reflect"
	"sync"
	"unsafe"

	"tcdbg/tracer/host"

	"golang.org/x/tools/go/ssa"
)

// This file reads what SSA's debug references know: which variable of the user
// a register is.

var debugNameCache sync.Map // *ssa.Function -> map[ssa.Value]string; grows with the program's functions only

// debugNames maps registers of fn to the first variable that names them.
func debugNames(fn *ssa.Function) map[ssa.Value]string {
	if m, ok := debugNameCache.Load(fn); ok {
		return m.(map[ssa.Value]string)
	}
	m := map[ssa.Value]string{}
	for _, b := range fn.Blocks {
		for _, in := range b.Instrs {
			d, ok := in.(*ssa.DebugRef)
			if !ok || d.IsAddr {
				continue
			}
			id, ok := d.Expr.(*ast.Ident)
			if !ok || id.Name == "_" || m[d.X] != "" {
				continue
			}
			if _, isVar := d.Object().(*types.Var); isVar {
				m[d.X] = id.Name
			}
		}
	}
	got, _ := debugNameCache.LoadOrStore(fn, m)
	return got.(map[ssa.Value]string)
}

// mapLookup returns the address of (a copy of) the value under a key, nil when
// the map lacks it.
func mapLookup(in *host.Interp, t types.Type, m, key unsafe.Pointer) unsafe.Pointer {
	rt := in.Rep(t)
	v := reflect.NewAt(rt, m).Elem().MapIndex(reflect.NewAt(rt.Key(), key).Elem())
	if !v.IsValid() {
		return nil
	}
	p := reflect.New(rt.Elem())
	p.Elem().Set(v)
	return p.UnsafePointer()
}

// defers reports whether fn has a defer statement.
func defers(fn *ssa.Function) bool {
	for _, b := range fn.Blocks {
		for _, in := range b.Instrs {
			if _, ok := in.(*ssa.Defer); ok {
				return true
			}
		}
	}
	return false
}

// receiverName is what the method behind a method value calls its receiver.
func receiverName(fn *ssa.Function) string {
	if m, ok := fn.Object().(*types.Func); ok {
		if r := m.Signature().Recv(); r != nil && r.Name() != "" {
			return r.Name()
		}
	}
	return "self"
}
