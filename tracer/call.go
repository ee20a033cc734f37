package tracer

import (
	"fmt"
	"go/types"
	"strconv"
	"strings"
	"unsafe"

	"tcdbg/graph"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer/breaks"

	"golang.org/x/tools/go/ssa"
)

// This file evaluates calls: builtins, operators, functions of the program
// (inlined), the compiler's own markers and native functions.

func (tr *trace) call(in *ssa.Call) {
	if b, ok := in.Call.Value.(*ssa.Builtin); ok {
		tr.builtin(in, b)
		return
	}
	tr.settleCallee(&in.Call)
	f := tr.th.Top()
	if fn, free := f.Callee(&in.Call); fn != nil {
		if b, ok := tr.t.bindings[fn.String()]; ok { // of nn/functional, which has a body
			tr.operator(in, in.Call.Args, b)
			return
		}
		tr.inline(in, fn, free)
		return
	}
	tr.native(in, f.NativeName(&in.Call))
}

// settleCallee guards what decides which function a call reaches.
func (tr *trace) settleCallee(c *ssa.CallCommon) {
	n := tr.noteOf(c.Value)
	if n == nil {
		return
	}
	if c.IsInvoke() {
		if n.src != nil {
			dyn, _ := tr.in.Dynamic(c.Value.Type(), tr.addr(c.Value))
			tr.guardType(n.src, dyn)
		}
		return
	}
	if n.src != nil {
		if cl := tr.in.ClosureOf(tr.addr(c.Value)); cl != nil {
			tr.guardFunc(n.src, cl.Fn)
			return
		}
		if value := *(*unsafe.Pointer)(tr.addr(c.Value)); value != nil {
			tr.guardNativeFunc(n.src, value)
		} else {
			tr.guardNil(n.src, true)
		}
	}
}

// inline pushes the callee's frame with the notes of arguments and bound
// variables.
func (tr *trace) inline(in *ssa.Call, fn *ssa.Function, free []unsafe.Pointer) {
	if cl := tr.closure(&in.Call); cl != nil {
		switch c, ok := cl.Compiled.(*Compiled); {
		case ok && c.disabled:
			tr.breakAt(breaks.Disabled, "%s is marked with compiler.Disable", funcName(c.fn))
		case ok && c.constant:
			tr.constantCall(in)
			return
		}
	}
	name := fn.String()
	if tr.autogradCall(in, name) {
		return
	}
	if len(tr.shadows) > maxInlined {
		tr.breakAt(breaks.TraceTooLong, "%s is called %d calls deep", funcName(fn), len(tr.shadows))
	}
	tr.gradientsBreak(in, fn)
	if tr.t.intrinsicNative(fn) {
		tr.native(in, originName(fn))
		return
	}
	args, notes := tr.arguments(&in.Call, fn)
	freeNotes := tr.freeNotes(&in.Call, fn, free)
	tr.exec()
	top := tr.th.Top()
	if top == tr.top().frame { // the host ran it natively (an intrinsic)
		tr.breakAt(breaks.UnknownNativeCall, "%s", fn)
	}
	sh := &shadow{frame: top, initial: -1, notes: map[ssa.Value]*note{}, assigned: map[ssa.Value]bool{}}
	if name == "tcdbg/torch/autograd.Apply" {
		sh.apply = in
	}
	for i, p := range args {
		sh.notes[p] = notes[i]
		sh.assigned[p] = true
	}
	for i, fv := range fn.FreeVars {
		sh.notes[fv] = freeNotes[i]
	}
	sh.free = freeNotes
	tr.shadows = append(tr.shadows, sh)
}

// arguments pairs the callee's parameters with the notes of what is passed.
func (tr *trace) arguments(c *ssa.CallCommon, fn *ssa.Function) ([]*ssa.Parameter, []*note) {
	var notes []*note
	if c.IsInvoke() {
		notes = append(notes, tr.receiverNote(c))
	}
	for _, a := range c.Args {
		notes = append(notes, tr.noteOf(a))
	}
	if len(notes) != len(fn.Params) {
		tr.breakAt(breaks.DynamicCall, "%s", tr.codeOf(tr.th.Top().Instr()))
	}
	return fn.Params, notes
}

// receiverNote is the note of the value inside the interface of an invoke.
func (tr *trace) receiverNote(c *ssa.CallCommon) *note {
	n := tr.noteOf(c.Value)
	switch {
	case n == nil:
		return nil
	case n.inner != nil:
		return n.inner
	case n.src == nil:
		return nil
	}
	dyn, _ := tr.in.Dynamic(c.Value.Type(), tr.addr(c.Value))
	return tr.fromSource(tr.src.dynamic(n.src, dyn))
}

// freeNotes are the notes of the bound variables of the closure that is called.
func (tr *trace) freeNotes(c *ssa.CallCommon, fn *ssa.Function, free []unsafe.Pointer) []*note {
	notes := make([]*note, len(fn.FreeVars))
	if len(notes) == 0 {
		return notes
	}
	// The registers that a MakeClosure bound may be dead by now; the closure is not.
	if made := tr.clos[tr.in.ClosureOf(tr.addr(c.Value))]; made != nil {
		return made.notes
	}
	if n := tr.noteOf(c.Value); n != nil && n.src != nil {
		for i, fv := range fn.FreeVars {
			notes[i] = tr.fromSource(tr.src.free(n.src, i, fv))
		}
		return notes
	}
	tr.breakAt(breaks.DynamicCall, "the bound variables of %s are unknown", fn)
	return nil
}

// callOf is the call that the frame of sh is waiting in, as the register that
// its results go to.
func (tr *trace) callOf(sh *shadow) ssa.Value {
	if pc := sh.frame.PC - 1; pc >= 0 { // a waiting frame stands behind its call
		if c, ok := sh.frame.Code.Instrs[pc].(*ssa.Call); ok {
			return c
		}
	}
	return nil
}

// builtin evaluates len, cap, append and their kin.
func (tr *trace) builtin(in *ssa.Call, b *ssa.Builtin) {
	args := in.Call.Args
	switch b.Name() {
	case "len", "cap":
		tr.length(in, args[0], b.Name())
	case "append":
		tr.appendTo(in, args)
	case "copy":
		tr.copyTo(in, args)
	case "min", "max":
		tr.extremum(in, b.Name() == "min")
	case "real", "imag", "complex":
		for _, a := range args {
			tr.constant(a)
		}
		tr.exec()
		tr.set(in, nil)
	case "print", "println":
		tr.breakAt(breaks.BuiltinPrint, "builtin %s", b.Name())
	case "delete", "clear":
		tr.mapDelete(in, args)
	case "ssa:wrapnilchk":
		n := tr.noteOf(args[0])
		if n != nil {
			tr.notNil(n)
		}
		tr.exec()
		tr.set(in, n)
	case "recover", "ssa:deferstack":
		tr.breakAt(breaks.DeferRecover, "builtin %s", b.Name())
	default:
		tr.breakAt(breaks.UnsupportedInstr, "builtin %s", b.Name())
	}
}

func (tr *trace) length(in *ssa.Call, x ssa.Value, which string) {
	n := tr.noteOf(x)
	if _, isMap := x.Type().Underlying().(*types.Map); isMap && tr.overlayOf(x, false) != nil {
		tr.breakAt(breaks.MapMutation, "the length of a map that the compiled code has changed")
	}
	if _, isMap := x.Type().Underlying().(*types.Map); isMap {
		tr.inBackward("reads a map")
	}
	if n != nil && n.src != nil {
		switch x.Type().Underlying().(type) {
		case *types.Chan:
			tr.breakAt(breaks.ChannelOperation, "%s of a channel", which)
		case *types.Slice, *types.Map, *types.Basic:
			tr.guardLen(n.src, lengthOf(tr, x.Type())(tr.addr(x)))
		}
		if which == "cap" {
			tr.breakAt(breaks.OpaqueValue, "the capacity of %s", n.src.argument())
		}
	}
	tr.exec()
	tr.set(in, nil)
}

// appendTo evaluates append. Elements that go into spare capacity of memory
// from before the trace are stored through the overlay.
func (tr *trace) appendTo(in *ssa.Call, args []ssa.Value) {
	dst, src := tr.noteOf(args[0]), tr.noteOf(args[1])
	if dst != nil && dst.src != nil {
		tr.guardLen(dst.src, (*sliceHeader)(tr.addr(args[0])).len)
	}
	if src != nil && src.src != nil {
		tr.guardLen(src.src, lengthOf(tr, args[1].Type())(tr.addr(args[1])))
	}
	old := *(*sliceHeader)(tr.addr(args[0]))
	if _, isString := args[1].Type().Underlying().(*types.Basic); isString {
		tr.constant(args[1])
		tr.exec()
		tr.backing(in.Type(), tr.shadowAddr(in))
		tr.set(in, nil)
		return
	}
	add := *(*sliceHeader)(tr.addr(args[1]))
	e := elemType(in.Type())
	size := tr.in.Rep(e).Size()
	if old.len+add.len <= old.cap && tr.mem.find(old.data) == nil && add.len > 0 && old.data != nil {
		tr.breakAt(breaks.SliceGrown, "append to spare capacity of a slice that existed before the compiled call")
	}
	tr.guardRoom(dst, old.len+add.len)
	notes := append(tr.elemNotes(e, old, dst), tr.elemNotes(e, add, src)...)
	bits := tr.elemBits(e, size, old, dst, add, src)
	tr.exec()
	h := (*sliceHeader)(tr.shadowAddr(in))
	if h.data != old.data {
		tr.backing(in.Type(), tr.shadowAddr(in))
		tr.mem.forget(h.data, uintptr(h.cap)*size)
	} else if h.len == old.len {
		tr.set(in, dst)
		return
	}
	for i, n := range notes {
		p := unsafe.Add(h.data, uintptr(i)*size)
		tr.storeNote(e, p, n)
		if bits[i] != nil {
			tr.in.Copy(e, p, bits[i])
		}
	}
	tr.set(in, nil)
}

// guardRoom demands that a slice of entry memory has no room for n elements, so
// that append makes a new array on every run.
func (tr *trace) guardRoom(dst *note, n int) {
	if dst == nil || dst.base == nil {
		return
	}
	if _, isSlice := dst.base.typ.Underlying().(*types.Slice); !isSlice {
		return
	}
	p := tr.entry.at(dst.base)
	if n += dst.off; p == nil || (*sliceHeader)(p).cap >= n { // a full slice expression limits it
		return
	}
	s := dst.base
	tr.guard("LENGTH_CHECK", s, fmt.Sprintf("cap(%s) < %d", s.name, n), fmt.Sprintf("< %d", n),
		at(s, func(p unsafe.Pointer) bool { return (*sliceHeader)(p).cap < n }),
		found(s, func(p unsafe.Pointer) failure { return plain(strconv.Itoa((*sliceHeader)(p).cap)) }))
}

// elemNotes are the notes of a slice's elements.
func (tr *trace) elemNotes(e types.Type, h sliceHeader, n *note) []*note {
	_, notes := tr.elemValues(e, h, n)
	return notes
}

// elemValues are the places of a slice's elements and their notes. An element
// of entry memory that the trace may have stored to stands in a copy, patched.
func (tr *trace) elemValues(e types.Type, h sliceHeader, n *note) ([]unsafe.Pointer, []*note) {
	places, notes := make([]unsafe.Pointer, h.len), make([]*note, h.len)
	size := tr.in.Rep(e).Size()
	for i := range places {
		p := unsafe.Add(h.data, uintptr(i)*size)
		places[i] = p
		switch {
		case tr.mem.find(p) != nil:
			notes[i] = tr.loadNote(e, p)
		case n != nil && n.base != nil:
			places[i] = tr.in.New(e)
			tr.in.Copy(e, places[i], p)
			notes[i] = tr.loadEntry(e, p, places[i], tr.src.elem(n.base, n.off+i))
		}
	}
	return places, notes
}

// elemBits are the overlaid values of elements of entry memory that the trace
// has changed; nil where the real bits hold.
func (tr *trace) elemBits(e types.Type, size uintptr, a sliceHeader, an *note, b sliceHeader, bn *note) []unsafe.Pointer {
	out := make([]unsafe.Pointer, 0, a.len+b.len)
	for _, s := range []struct {
		h sliceHeader
		n *note
	}{{a, an}, {b, bn}} {
		for i := range s.h.len {
			p := unsafe.Add(s.h.data, uintptr(i)*size)
			if len(tr.mem.writes) == 0 || s.n == nil || s.n.base == nil || tr.mem.find(p) != nil {
				out = append(out, nil)
				continue
			}
			tmp := tr.in.New(e)
			tr.in.Copy(e, tmp, p)
			tr.loadEntry(e, p, tmp, tr.src.elem(s.n.base, s.n.off+i))
			out = append(out, tmp)
		}
	}
	return out
}

// copyTo evaluates copy between slices, element by element.
func (tr *trace) copyTo(in *ssa.Call, args []ssa.Value) {
	dst, src := tr.noteOf(args[0]), tr.noteOf(args[1])
	for i, n := range []*note{dst, src} {
		if n != nil && n.src != nil {
			tr.guardLen(n.src, lengthOf(tr, args[i].Type())(tr.addr(args[i])))
		}
	}
	to := *(*sliceHeader)(tr.addr(args[0]))
	if _, isString := args[1].Type().Underlying().(*types.Basic); isString {
		tr.constant(args[1])
		if tr.mem.find(to.data) == nil && to.len > 0 {
			tr.breakAt(breaks.OpaqueValue, "copy of a string into memory that existed before the compiled call")
		}
		tr.exec()
		tr.set(in, nil)
		return
	}
	from := *(*sliceHeader)(tr.addr(args[1]))
	e := elemType(args[0].Type())
	size := tr.in.Rep(e).Size()
	n := min(to.len, from.len)
	from.len = n
	notes := tr.elemNotes(e, from, src)
	bits := tr.elemBits(e, size, from, src, sliceHeader{}, nil)
	vals := make([]unsafe.Pointer, n)
	for i := range vals {
		if vals[i] = bits[i]; vals[i] == nil {
			vals[i] = tr.in.New(e)
			tr.in.Copy(e, vals[i], unsafe.Add(from.data, uintptr(i)*size))
		}
	}
	for i := range n {
		tr.storeElem(e, unsafe.Add(to.data, uintptr(i)*size), vals[i], dst, i, notes[i])
	}
	tr.in.Copy(in.Type(), tr.addr(in), unsafe.Pointer(&n))
	tr.skip()
	tr.set(in, nil)
}

// storeElem stores element i of a slice with note dst.
func (tr *trace) storeElem(e types.Type, p, val unsafe.Pointer, dst *note, i int, n *note) {
	switch {
	case tr.mem.find(p) != nil:
		tr.in.Copy(e, p, val)
		tr.storeNote(e, p, n)
	case dst != nil && dst.base != nil:
		tr.storeEntry(e, p, val, tr.src.elem(dst.base, dst.off+i), n)
	default:
		tr.breakAt(breaks.OpaqueValue, "a store into a slice of unknown origin")
	}
}

// native evaluates a call of a function of the binary: an operator becomes a
// node, a query of a tensor's metadata is answered, a pure function runs on
// constants; anything else breaks the graph.
func (tr *trace) native(in *ssa.Call, name string) {
	switch {
	case tr.t.bindings[name].Op != 0:
		tr.operator(in, in.Call.Args, tr.t.bindings[name])
	case strings.HasPrefix(name, "tcdbg/torch.Functional") && tr.t.bindings[in.Parent().String()].Op != 0: // of nn/functional, compiled itself
		fn := in.Parent()
		args := make([]ssa.Value, len(fn.Params))
		for i, p := range fn.Params {
			args[i] = p
		}
		tr.operator(in, args, tr.t.bindings[fn.String()])
	case name == "(*tcdbg/torch.Tensor).At":
		tr.at(in)
	case name == "(*tcdbg/torch.Tensor).SetAt":
		tr.setAt(in)
	case name == "tcdbg/torch.Range":
		tr.sliceRange(in)
	case name == "tcdbg/torch.NewTensor":
		tr.newTensor(in, name)
	case name == "(*tcdbg/torch.Tensor).Grad":
		tr.gradient(in)
	case name == "(*tcdbg/torch.Tensor).SetGrad":
		tr.setGradient(in)
	case tr.marker(in, name):
	case name == "errors.New", name == "fmt.Errorf":
		tr.newError(in)
	case tensorQueries[name]:
		tr.query(in, name)
	case pure(name):
		tr.pureCall(in, name)
	default:
		tr.refuseNative(in, name)
	}
}

// constantCall runs a function under compiler.AssumeConstantResult now, whatever it
// does to the program's memory.
func (tr *trace) constantCall(in *ssa.Call) {
	for _, a := range in.Call.Args {
		tr.constantDeep(a)
	}
	func() {
		defer func() {
			if r := recover(); r != nil {
				tr.breakAt(breaks.ObservedPanic, "%s panics: %v", localName(in.Call.Value), r)
			}
		}()
		tr.th.StepOver()
	}()
	tr.set(in, nil)
}

// marker evaluates the functions by which a program speaks to the compiler.
func (tr *trace) marker(in *ssa.Call, name string) bool {
	switch name {
	case "tcdbg/torch/compiler.IsCompiling":
		*(*bool)(tr.addr(in)) = true
		tr.skip()
		tr.set(in, nil)
	case "tcdbg/torch.GradEnabled":
		if !tr.underNoGrad() {
			tr.inBackward("asks for the gradient mode")
		}
		tr.fixGradMode()
		*(*bool)(tr.addr(in)) = torch.GradEnabled() && !tr.underNoGrad()
		tr.skip()
		tr.set(in, nil)
	case "tcdbg/torch.NoGrad":
		tr.underNoGradCall(in)
	case "tcdbg/torch/compiler.GraphBreak":
		tr.breakAt(breaks.GraphBreakCall, "compiler.GraphBreak()")
	default:
		return false
	}
	return true
}

// refuseNative names the break of a native call that no graph can hold.
func (tr *trace) refuseNative(in *ssa.Call, name string) {
	if method, ok := strings.CutPrefix(name, "(*tcdbg/torch.Tensor)."); ok {
		panic(&breakSignal{tr.refuseMethod(in, method)})
	}
	switch {
	case name == "tcdbg/torch/compiler.Cond":
		tr.breakAt(breaks.DataDependentBranching, "compiler.Cond, of which the graph would hold one branch only")
	case name == "tcdbg/torch/compiler.WhileLoop":
		tr.breakAt(breaks.DataDependentLoop, "compiler.WhileLoop")
	case name == "tcdbg/torch.Grad", name == "tcdbg/torch.Backward":
		tr.apartFrom(in)
		tr.breakAt(breaks.TensorBackward, "call of %s", shortFunc(name))
	case strings.HasPrefix(name, "fmt.Print"), strings.HasPrefix(name, "fmt.Fprint"), strings.HasPrefix(name, "log."):
		tr.breakAt(breaks.BuiltinPrint, "call of %s", name)
	case strings.HasPrefix(name, "time."):
		tr.breakAt(breaks.TimeFunction, "call of %s", name)
	case strings.HasPrefix(name, "(*sync/atomic."), strings.HasPrefix(name, "sync/atomic."):
		tr.breakAt(breaks.GlobalWrite, "call of %s", name)
	case strings.HasPrefix(name, "(*sync."):
		tr.breakAt(breaks.LockHeld, "call of %s", name)
	case name == "tcdbg/torch.Compile":
		tr.breakAt(breaks.RecursiveCompile, "call of torch.Compile")
	case strings.HasPrefix(name, "math/rand"), strings.HasPrefix(name, "(*math/rand"):
		tr.breakAt(breaks.RandomState, "call of %s", name)
	case strings.HasPrefix(name, "(reflect.") || strings.HasPrefix(name, "reflect."):
		tr.breakAt(breaks.ReflectCall, "call of %s", name)
	case name == "":
		tr.breakAt(breaks.DynamicCall, "%s", tr.codeOf(in))
	}
	tr.breakAt(breaks.UnknownNativeCall, "call of %s", name)
}

// refuseMethod is the break of a tensor's method that no graph can hold.
func (tr *trace) refuseMethod(in *ssa.Call, method string) *breakPoint {
	b := &breakPoint{code: breaks.UnsupportedMethod, detail: "call of Tensor." + method, value: receiver(in)}
	switch method {
	case "Bool":
		b.code, b.detail = breaks.DataDependentBranching, "branch on the value of "+tr.tensorName(in)
	case "Item", "ItemInt":
		b.code = breaks.TensorItem
	case "Backward":
		b.code = breaks.TensorBackward
	case "RequiresGrad_":
		b.code = breaks.TensorRequiresGrad
	case "Data", "Float32s", "Float64s", "Ints", "Int64s", "Bools", "Complex64s", "String", "Format", "Storage", "Ptr":
		b.code = breaks.TensorDataRead
	}
	return b
}

func shortFunc(name string) string {
	return strings.NewReplacer("(*tcdbg/torch.Tensor)", "Tensor", "tcdbg/torch", "torch").Replace(name)
}

func receiver(in *ssa.Call) ssa.Value {
	if len(in.Call.Args) > 0 {
		return in.Call.Args[0]
	}
	return nil
}

// tensorName is what the receiver's tensor is called in the graph.
func (tr *trace) tensorName(in *ssa.Call) string {
	if t, ok := tensorOf(tr, receiver(in)); ok {
		return tr.nodes[t].Name
	}
	return localName(receiver(in))
}

// pureCall runs a pure function now, on arguments that are made constants.
func (tr *trace) pureCall(in *ssa.Call, name string) {
	if strings.HasPrefix(name, "tcdbg/torch/kw.") {
		tr.option(in)
		return
	}
	for _, a := range in.Call.Args {
		tr.constantDeep(a)
	}
	tr.exec()
	tr.fresh(in)
	tr.set(in, nil)
}

// constantDeep is constant, with the elements of slices that the trace made
// (variadic arguments).
func (tr *trace) constantDeep(v ssa.Value) {
	if t, ok := v.Type().Underlying().(*types.Slice); ok {
		h := *(*sliceHeader)(tr.addr(v))
		if tr.mem.find(h.data) != nil {
			size := tr.in.Rep(t.Elem()).Size()
			for i := range h.len {
				p := unsafe.Add(h.data, uintptr(i)*size)
				tr.freeze(tr.loadNote(t.Elem(), p), t.Elem(), p)
				tr.refuseTensors(t.Elem(), p)
			}
			return
		}
	}
	tr.constant(v)
	tr.refuseTensors(v.Type(), tr.addr(v))
}

// refuseTensors breaks when a value handed to native code is a tensor of the
// graph, which has no data yet.
func (tr *trace) refuseTensors(t types.Type, p unsafe.Pointer) {
	if isTensor(t) {
		tr.breakAt(breaks.UnknownNativeCall, "a tensor is passed to %s", tr.calledHere())
	}
	if types.IsInterface(t) {
		dyn, _ := tr.in.Dynamic(t, p)
		if dyn != nil && !types.IsInterface(dyn) && (holdsPointer(dyn) || types.NewMethodSet(dyn).Len() > 0) {
			tr.breakAt(breaks.UnknownNativeCall, "a %s is passed to %s", typeName(dyn), tr.calledHere())
		}
	}
}

// calledHere is the function that the next instruction calls, as a program writes it.
func (tr *trace) calledHere() string {
	f := tr.th.Top()
	if in, ok := f.Instr().(*ssa.Call); ok {
		if name := f.NativeName(&in.Call); name != "" {
			return shortFunc(name)
		}
	}
	return tr.codeOf(f.Instr())
}

// holdsPointer reports whether native code could reach other objects from t.
func holdsPointer(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return false
	case *types.Array:
		return holdsPointer(u.Elem())
	case *types.Struct:
		for i := range u.NumFields() {
			if holdsPointer(u.Field(i).Type()) {
				return true
			}
		}
		return false
	}
	return true
}

// fresh registers slices that a native function has returned as objects of the
// trace.
func (tr *trace) fresh(in *ssa.Call) {
	t := in.Type()
	n, at := 1, func(int) types.Type { return t }
	tuple, isTuple := t.(*types.Tuple)
	if isTuple {
		n, at = tuple.Len(), func(i int) types.Type { return tuple.At(i).Type() }
	}
	for i := range n {
		if _, ok := at(i).Underlying().(*types.Slice); ok {
			p := tr.shadowAddr(in)
			if isTuple {
				p = unsafe.Add(p, tr.offset(t, i))
			}
			tr.backing(at(i), p)
		}
	}
}

// option evaluates kw.Name(value): the option carries the value's note, which is
// settled when an operator reads it.
func (tr *trace) option(in *ssa.Call) {
	var n *note
	if args := in.Call.Args; len(args) == 1 {
		if n = tr.noteOf(args[0]); n != nil && !types.IsInterface(args[0].Type()) {
			n = &note{inner: n}
		}
	}
	tr.exec()
	if n == nil {
		tr.set(in, nil)
		return
	}
	tr.set(in, &note{parts: []*note{nil, n}})
}

// constantLayout makes strides and offset of an input constants of the segment.
func (tr *trace) constantLayout(t *torch.Tensor, node *graph.Node) {
	for _, s := range node.TensorMeta().Stride {
		sym.Force(s)
	}
	in := tr.inputOf[t]
	if in == nil {
		return
	}
	_, _, offset := t.Layout()
	s := in.src
	tr.guard("EQUALS_MATCH", s, fmt.Sprintf("%s.storage_offset() == %d", s.name, offset), strconv.Itoa(offset),
		at(s, func(p unsafe.Pointer) bool {
			_, _, o := (*(**torch.Tensor)(p)).Layout()
			return o == offset
		}),
		found(s, func(p unsafe.Pointer) failure {
			_, _, o := (*(**torch.Tensor)(p)).Layout()
			return plain(strconv.Itoa(o))
		}))
}

// query answers a question about a tensor's metadata.
func (tr *trace) query(in *ssa.Call, name string) {
	if f := shortFunc(name); f == "Tensor.RequiresGrad" || f == "Tensor.IsLeaf" {
		tr.history(in, f)
		return
	}
	switch f := shortFunc(name); f {
	case "Tensor.Stride", "Tensor.StorageOffset", "Tensor.IsContiguous":
		tr.inBackward("asks for strides, which are not those of the trace: %s", f)
	}
	x := in.Call.Args[0]
	t := tr.tensorAt(x)
	node := tr.tensorNode(x)
	for _, a := range in.Call.Args[1:] {
		tr.constantDeep(a)
	}
	meta := node.TensorMeta()
	var n *note
	var list []sym.Int
	switch shortFunc(name) {
	case "Tensor.Size":
		d := int(kindOf(types.Typ[types.Int]).load(tr.addr(in.Call.Args[1])).i)
		if d < 0 {
			d += len(meta.Shape)
		}
		if d >= 0 && d < len(meta.Shape) {
			n = symNote(meta.Shape[d])
		}
	case "Tensor.Numel":
		n = symNote(sym.Product(meta.Shape))
	case "Tensor.StorageOffset":
		tr.constantLayout(t, node)
	case "Tensor.Shape":
		list = meta.Shape
	case "Tensor.Stride":
		list = meta.Stride
	}
	tr.exec()
	tr.fresh(in)
	if list != nil {
		h := (*sliceHeader)(tr.shadowAddr(in))
		for i, s := range list {
			tr.storeNote(types.Typ[types.Int], unsafe.Add(h.data, i*8), symNote(s))
		}
	}
	tr.set(in, n)
}
