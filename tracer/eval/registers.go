package eval

import (
	"fmt"
	"go/types"
	"unsafe"

	"tcdbg/tracer/breaks"
	"tcdbg/tracer/host"
	"tcdbg/tracer/value"

	"golang.org/x/tools/go/ssa"
)

// This file is what a trace knows of the registers of the top frame.

// register is what a trace knows of one register.
type register struct {
	tracked  *value.Tracked
	met      bool // tracked is what is known; in frames of the region others are as on entry
	assigned bool // written by the trace
}

// tracked returns what is tracked of a value as the top frame sees it.
func (fs *frames) tracked(v ssa.Value) *value.Tracked {
	switch v := v.(type) {
	case *ssa.Const, *ssa.Function, *ssa.Builtin:
		return nil
	case *ssa.Global:
		return &value.Tracked{Loc: fs.src.GlobalVar(v)}
	}
	sh := fs.top()
	i, ok := sh.frame.Code.Register(v)
	if !ok {
		return nil
	}
	r := &sh.registers[i]
	if !r.met && sh.initial >= 0 {
		r.tracked, r.met = fs.src.Track(fs.src.Register(sh.initial, v)), true
	}
	return r.tracked
}

// set records the tracked value of a register that the trace has assigned.
func (fs *frames) set(v ssa.Value, n *value.Tracked) { fs.top().set(v, n) }

func (sh *shadow) set(v ssa.Value, n *value.Tracked) {
	i, ok := sh.frame.Code.Register(v)
	if !ok {
		panic(fmt.Sprintf("tracer: %s is no register of %s", v.Name(), sh.frame.Code.Fn))
	}
	sh.registers[i] = register{tracked: n, met: true, assigned: true}
}

// bind says what is tracked of the bound variables of the closure that a pushed frame runs.
func (sh *shadow) bind(tracked []*value.Tracked) {
	sh.free = tracked
	for i, fv := range sh.frame.Code.Fn.FreeVars {
		k, _ := sh.frame.Code.Register(fv)
		sh.registers[k] = register{tracked: tracked[i], met: true}
	}
}

// known is what the trace knows of a register so far, without asking where it comes from.
func (sh *shadow) known(v ssa.Value) register {
	if i, ok := sh.frame.Code.Register(v); ok {
		return sh.registers[i]
	}
	return register{}
}

// newShadow is that of a frame: of the region, or -1 for one that the trace has pushed.
func (fs *frames) newShadow(f *host.Frame, initial int) *shadow {
	n := f.Code.Registers()
	var regs []register
	if last := len(fs.spare) - 1; last >= 0 && cap(fs.spare[last]) >= n {
		regs, fs.spare = fs.spare[last][:n], fs.spare[:last]
	} else {
		regs = make([]register, n, max(n, spareRegisters))
	}
	return &shadow{frame: f, initial: initial, registers: regs, code: fs.linesOf(f.Code)}
}

// spareRegisters is how many registers a shadow has room for at least, so that another frame's may use it later.
const spareRegisters = 32

// drop forgets the registers of a frame that has returned.
func (fs *frames) drop(sh *shadow) {
	clear(sh.registers)
	fs.spare = append(fs.spare, sh.registers[:0])
	sh.registers = nil
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
