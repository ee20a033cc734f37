package eval

import (
	"go/types"
	"strings"
	"unsafe"

	"tcdbg/graph"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer/breaks"
	"tcdbg/tracer/guard"
	"tcdbg/tracer/host"
	"tcdbg/tracer/replay"
	"tcdbg/tracer/ssainfo"
	"tcdbg/tracer/value"

	"golang.org/x/tools/go/ssa"
)

// This file evaluates calls: builtins, operators, functions of the program
// (inlined), the compiler's own markers and native functions.

func (tr *Trace) call(in *ssa.Call) {
	if b, ok := in.Call.Value.(*ssa.Builtin); ok {
		builtins{tr}.builtin(in, b)
		return
	}
	tr.guardCallee(&in.Call)
	f := tr.th.Top()
	if logsLater(tr, in) {
		return
	}
	if fn, free := f.Callee(&in.Call); fn != nil {
		if b, ok := tr.env.Bindings[tr.fullName(fn)]; ok { // of nn/functional, which has a body
			tr.operator(in, in.Call.Args, b)
			return
		}
		tr.inline(in, fn, free)
		return
	}
	natives{tr}.native(in, f.NativeName(&in.Call))
}

// guardCallee guards what decides which function a call reaches.
func (tr *Trace) guardCallee(c *ssa.CallCommon) {
	n := tr.tracked(c.Value)
	if n == nil {
		return
	}
	if c.IsInvoke() {
		if n.Src != nil {
			dyn, _ := tr.In.Dynamic(c.Value.Type(), tr.addr(c.Value))
			tr.Guards.Type(n.Src, dyn)
		}
		return
	}
	if n.Src != nil {
		if cl := tr.In.ClosureOf(tr.addr(c.Value)); cl != nil {
			tr.Guards.Func(n.Src, cl.Fn)
			return
		}
		if fn := *(*unsafe.Pointer)(tr.addr(c.Value)); fn != nil {
			tr.Guards.NativeFunc(n.Src, fn)
		} else {
			tr.Guards.Nil(n.Src, true)
		}
	}
}

// Marked is what a closure carries that torch.Compile or another marker has made.
type Marked interface {
	Disabled() bool // by compiler.Disable
	Constant() bool // by compiler.AssumeConstantResult
}

// inline pushes the callee's frame with what is tracked of arguments and bound
// variables.
func (tr *Trace) inline(in *ssa.Call, fn *ssa.Function, free []unsafe.Pointer) {
	if cl := tr.closure(&in.Call); cl != nil {
		switch m, ok := cl.Compiled.(Marked); {
		case ok && m.Disabled():
			breakAt(breaks.Disabled, "%s is marked with compiler.Disable", value.FuncName(cl.Fn))
		case ok && m.Constant():
			natives{tr}.constantCall(in)
			return
		}
	}
	name := tr.fullName(fn)
	if len(tr.shadows) > MaxInlined {
		breakAt(breaks.TraceTooLong, "%s is called %d calls deep", value.FuncName(fn), len(tr.shadows))
	}
	if i := intrinsics[name]; i.eval != nil && i.eval(tr, in) {
		return
	}
	if tr.env.Native(fn) {
		natives{tr}.native(in, originName(fn))
		return
	}
	args, tracked := tr.arguments(&in.Call, fn)
	freeTracked := tr.freeTracked(&in.Call, fn, free)
	tr.exec()
	top := tr.th.Top()
	if top == tr.top().frame { // the host ran it natively (an intrinsic)
		breakAt(breaks.UnknownNativeCall, "%s", fn)
	}
	sh := tr.newShadow(top, -1)
	if name == autogradPath+"Apply" {
		sh.apply = in
	}
	for i, p := range args {
		sh.set(p, tracked[i])
	}
	sh.bind(freeTracked)
	tr.shadows = append(tr.shadows, sh)
}

// arguments pairs the callee's parameters with what is tracked of what is passed.
func (tr *Trace) arguments(c *ssa.CallCommon, fn *ssa.Function) ([]*ssa.Parameter, []*value.Tracked) {
	var tracked []*value.Tracked
	if c.IsInvoke() {
		tracked = append(tracked, tr.receiverTracked(c))
	}
	for _, a := range c.Args {
		tracked = append(tracked, tr.tracked(a))
	}
	if len(tracked) != len(fn.Params) {
		breakAt(breaks.DynamicCall, "%s", tr.codeOf(tr.th.Top().Instr()))
	}
	return fn.Params, tracked
}

// receiverTracked is what is tracked of the value inside the interface of an invoke.
func (tr *Trace) receiverTracked(c *ssa.CallCommon) *value.Tracked {
	n := tr.tracked(c.Value)
	switch {
	case n == nil:
		return nil
	case n.Inner != nil:
		return n.Inner
	case n.Src == nil:
		return nil
	}
	dyn, _ := tr.In.Dynamic(c.Value.Type(), tr.addr(c.Value))
	return tr.src.Track(tr.src.Dynamic(n.Src, dyn))
}

// freeTracked is what is tracked of the bound variables of the closure that is called.
func (tr *Trace) freeTracked(c *ssa.CallCommon, fn *ssa.Function, free []unsafe.Pointer) []*value.Tracked {
	if len(fn.FreeVars) == 0 {
		return nil
	}
	return tr.boundTracked(tr.In.ClosureOf(tr.addr(c.Value)), fn, tr.tracked(c.Value))
}

// boundTracked is what is tracked of the bound variables of cl, of which n is tracked.
func (hp *heap) boundTracked(cl *host.Closure, fn *ssa.Function, n *value.Tracked) []*value.Tracked {
	tracked := make([]*value.Tracked, len(fn.FreeVars))
	if len(tracked) == 0 {
		return tracked
	}
	// The registers that a MakeClosure bound may be dead by now; the closure is not.
	if made := hp.clos[cl]; made != nil {
		return made.tracked
	}
	if n != nil && n.Src != nil {
		for i, fv := range fn.FreeVars {
			tracked[i] = hp.frames.src.Track(hp.frames.src.Free(n.Src, i, fv))
		}
		return tracked
	}
	breakAt(breaks.DynamicCall, "the bound variables of %s are unknown", fn)
	return nil
}

// callOf is the call that the frame of sh is waiting in, as the register that
// its results go to.
func (fs *frames) callOf(sh *shadow) ssa.Value {
	if pc := sh.frame.PC - 1; pc >= 0 { // a waiting frame is after its call
		if c, ok := sh.frame.Code.Instrs[pc].(*ssa.Call); ok {
			return c
		}
	}
	return nil
}

// builtins evaluates calls of Go's builtins.
type builtins struct{ *Trace }

// builtin evaluates len, cap, append and their kin.
func (bs builtins) builtin(in *ssa.Call, b *ssa.Builtin) {
	args := in.Call.Args
	switch b.Name() {
	case "len", "cap":
		bs.length(in, args[0], b.Name())
	case "append":
		bs.appendTo(in, args)
	case "copy":
		bs.copyTo(in, args)
	case "min", "max":
		bs.extremum(in, b.Name() == "min")
	case "real", "imag", "complex":
		for _, a := range args {
			bs.constant(a)
		}
		bs.exec()
		bs.set(in, nil)
	case "print", "println":
		breakAt(breaks.BuiltinPrint, "builtin %s", b.Name())
	case "delete", "clear":
		mapOps(bs).mapDelete(in, args)
	case "ssa:wrapnilchk":
		n := bs.tracked(args[0])
		if n != nil {
			bs.notNil(n)
		}
		bs.exec()
		bs.set(in, n)
	case "recover", "ssa:deferstack":
		breakAt(breaks.DeferRecover, "builtin %s", b.Name())
	default:
		breakAt(breaks.UnsupportedInstr, "builtin %s", b.Name())
	}
}

func (bs builtins) length(in *ssa.Call, x ssa.Value, which string) {
	n := bs.tracked(x)
	if _, isMap := x.Type().Underlying().(*types.Map); isMap && mapOps(bs).overlayOf(x, false) != nil {
		breakAt(breaks.MapMutation, "the length of a map that the compiled code has changed")
	}
	if _, isMap := x.Type().Underlying().(*types.Map); isMap {
		bs.inBackward("reads a map")
	}
	if n != nil && n.Src != nil {
		switch x.Type().Underlying().(type) {
		case *types.Chan:
			breakAt(breaks.ChannelOperation, "%s of a channel", which)
		case *types.Slice, *types.Map, *types.Basic:
			bs.Guards.Len(n.Src, guard.LengthOf(bs.In, x.Type())(bs.addr(x)))
		}
		if which == "cap" {
			breakAt(breaks.OpaqueValue, "the capacity of %s", n.Src.Argument())
		}
	}
	bs.exec()
	bs.set(in, nil)
}

// appendTo evaluates append. Elements that go into spare capacity of memory
// from before the trace are stored through the overlay.
func (bs builtins) appendTo(in *ssa.Call, args []ssa.Value) {
	dst, src := bs.tracked(args[0]), bs.tracked(args[1])
	if dst != nil && dst.Src != nil {
		bs.Guards.Len(dst.Src, (*value.SliceHeader)(bs.addr(args[0])).Len)
	}
	if src != nil && src.Src != nil {
		bs.Guards.Len(src.Src, guard.LengthOf(bs.In, args[1].Type())(bs.addr(args[1])))
	}
	old := *(*value.SliceHeader)(bs.addr(args[0]))
	if _, isString := args[1].Type().Underlying().(*types.Basic); isString {
		bs.constant(args[1])
		bs.exec()
		bs.backing(in.Type(), bs.shadowAddr(in))
		bs.set(in, nil)
		return
	}
	add := *(*value.SliceHeader)(bs.addr(args[1]))
	e := value.ElemType(in.Type())
	size := bs.In.Rep(e).Size()
	if old.Len+add.Len <= old.Cap && bs.mem.find(old.Data) == nil && add.Len > 0 && old.Data != nil {
		breakAt(breaks.SliceGrown, "append to spare capacity of a slice that existed before the compiled call")
	}
	bs.guardRoom(dst, old.Len+add.Len)
	tracked := append(bs.elemTracked(e, old, dst), bs.elemTracked(e, add, src)...)
	bits := bs.elemBits(e, size, old, dst, add, src)
	bs.exec()
	h := (*value.SliceHeader)(bs.shadowAddr(in))
	if h.Data != old.Data {
		bs.backing(in.Type(), bs.shadowAddr(in))
		bs.mem.forget(h.Data, uintptr(h.Cap)*size)
	} else if h.Len == old.Len {
		bs.set(in, dst)
		return
	}
	for i, n := range tracked {
		p := unsafe.Add(h.Data, uintptr(i)*size)
		bs.storeTracked(e, p, n)
		if bits[i] != nil {
			bs.In.Copy(e, p, bits[i])
		}
	}
	bs.set(in, nil)
}

// guardRoom demands that a slice of entry memory has no room for n elements, so
// that append makes a new array on every run.
func (bs builtins) guardRoom(dst *value.Tracked, n int) {
	if dst == nil || dst.Base == nil {
		return
	}
	if _, isSlice := dst.Base.Type.Underlying().(*types.Slice); !isSlice {
		return
	}
	p := bs.Entry.At(dst.Base)
	if n += dst.Off; p == nil || (*value.SliceHeader)(p).Cap >= n { // a full slice expression limits it
		return
	}
	bs.Guards.Room(dst.Base, n)
}

// elemTracked is what is tracked of a slice's elements.
func (hp *heap) elemTracked(e types.Type, h value.SliceHeader, n *value.Tracked) []*value.Tracked {
	_, tracked := hp.elemValues(e, h, n)
	return tracked
}

// elemValues are the places of a slice's elements and what is tracked of them. An element
// of entry memory that the trace may have stored to is in a copy, patched.
func (hp *heap) elemValues(e types.Type, h value.SliceHeader, n *value.Tracked) ([]unsafe.Pointer, []*value.Tracked) {
	places, tracked := make([]unsafe.Pointer, h.Len), make([]*value.Tracked, h.Len)
	size := hp.frames.In.Rep(e).Size()
	for i := range places {
		p := unsafe.Add(h.Data, uintptr(i)*size)
		places[i] = p
		switch {
		case hp.mem.find(p) != nil:
			tracked[i] = hp.loadTracked(e, p)
		case n != nil && n.Base != nil:
			places[i] = hp.frames.In.New(e)
			hp.frames.In.Copy(e, places[i], p)
			tracked[i] = hp.loadEntry(e, p, places[i], hp.frames.src.Elem(n.Base, n.Off+i))
		}
	}
	return places, tracked
}

// elemBits are the overlaid values of elements of entry memory that the trace
// has changed; nil where the real bits hold.
func (hp *heap) elemBits(
	e types.Type, size uintptr, a value.SliceHeader, an *value.Tracked, b value.SliceHeader, bn *value.Tracked,
) []unsafe.Pointer {
	out := make([]unsafe.Pointer, 0, a.Len+b.Len)
	for _, s := range []struct {
		h value.SliceHeader
		n *value.Tracked
	}{{a, an}, {b, bn}} {
		for i := range s.h.Len {
			p := unsafe.Add(s.h.Data, uintptr(i)*size)
			if len(hp.mem.writes) == 0 || s.n == nil || s.n.Base == nil || hp.mem.find(p) != nil {
				out = append(out, nil)
				continue
			}
			tmp := hp.frames.In.New(e)
			hp.frames.In.Copy(e, tmp, p)
			hp.loadEntry(e, p, tmp, hp.frames.src.Elem(s.n.Base, s.n.Off+i))
			out = append(out, tmp)
		}
	}
	return out
}

// copyTo evaluates copy between slices, element by element.
func (bs builtins) copyTo(in *ssa.Call, args []ssa.Value) {
	dst, src := bs.tracked(args[0]), bs.tracked(args[1])
	for i, n := range []*value.Tracked{dst, src} {
		if n != nil && n.Src != nil {
			bs.Guards.Len(n.Src, guard.LengthOf(bs.In, args[i].Type())(bs.addr(args[i])))
		}
	}
	to := *(*value.SliceHeader)(bs.addr(args[0]))
	if _, isString := args[1].Type().Underlying().(*types.Basic); isString {
		bs.constant(args[1])
		if bs.mem.find(to.Data) == nil && to.Len > 0 {
			breakAt(breaks.OpaqueValue, "copy of a string into memory that existed before the compiled call")
		}
		bs.exec()
		bs.set(in, nil)
		return
	}
	from := *(*value.SliceHeader)(bs.addr(args[1]))
	e := value.ElemType(args[0].Type())
	size := bs.In.Rep(e).Size()
	n := min(to.Len, from.Len)
	from.Len = n
	tracked := bs.elemTracked(e, from, src)
	bits := bs.elemBits(e, size, from, src, value.SliceHeader{}, nil)
	vals := make([]unsafe.Pointer, n)
	for i := range vals {
		if vals[i] = bits[i]; vals[i] == nil {
			vals[i] = bs.In.New(e)
			bs.In.Copy(e, vals[i], unsafe.Add(from.Data, uintptr(i)*size))
		}
	}
	for i := range n {
		bs.storeElem(e, unsafe.Add(to.Data, uintptr(i)*size), vals[i], dst, i, tracked[i])
	}
	bs.In.Copy(in.Type(), bs.addr(in), unsafe.Pointer(&n))
	bs.skip()
	bs.set(in, nil)
}

// storeElem stores element i of a slice tracked as dst.
func (hp *heap) storeElem(e types.Type, p, val unsafe.Pointer, dst *value.Tracked, i int, n *value.Tracked) {
	switch {
	case hp.mem.find(p) != nil:
		hp.frames.In.Copy(e, p, val)
		hp.storeTracked(e, p, n)
	case dst != nil && dst.Base != nil:
		hp.storeEntry(e, p, val, hp.frames.src.Elem(dst.Base, dst.Off+i), n)
	default:
		breakAt(breaks.OpaqueValue, "a store into a slice of unknown origin")
	}
}

// natives evaluates calls of functions of the binary.
type natives struct{ *Trace }

// native evaluates a call of a function of the binary: an operator becomes a
// node, a query of a tensor's metadata is answered, a pure function runs on
// constants; anything else breaks the graph.
func (ns natives) native(in *ssa.Call, name string) {
	switch {
	case ns.env.Bindings[name].Op != 0:
		ns.operator(in, in.Call.Args, ns.env.Bindings[name])
	case isFunctional(name) && ns.env.Bindings[in.Parent().String()].Op != 0: // the function is compiled itself
		fn := in.Parent()
		args := make([]ssa.Value, len(fn.Params))
		for i, p := range fn.Params {
			args[i] = p
		}
		ns.operator(in, args, ns.env.Bindings[fn.String()])
	case intrinsics[name].eval != nil:
		intrinsics[name].eval(ns.Trace, in)
	case pure(name):
		ns.pureCall(in, name)
	default:
		ns.refuseNative(in, name)
	}
}

// constantCall runs a function under compiler.AssumeConstantResult now, whatever it
// does to the program's memory.
func (ns natives) constantCall(in *ssa.Call) {
	for _, a := range in.Call.Args {
		ns.constantDeep(a)
	}
	func() {
		defer func() {
			if r := recover(); r != nil {
				breakAt(breaks.ObservedPanic, "%s panics: %v", value.LocalName(in.Call.Value), r)
			}
		}()
		ns.th.StepOver()
	}()
	ns.set(in, nil)
}

// refuseNative names the break of a native call that no graph can hold.
func (ns natives) refuseNative(in *ssa.Call, name string) {
	if method, ok := strings.CutPrefix(name, tensorMethod); ok {
		panic(&breakSignal{ns.refuseMethod(in, method)})
	}
	for _, r := range refusals {
		if strings.HasPrefix(name, r.prefix) {
			breakAt(r.code, "call of %s", name)
		}
	}
	if name == "" {
		breakAt(breaks.DynamicCall, "%s", ns.codeOf(in))
	}
	breakAt(breaks.UnknownNativeCall, "call of %s", name)
}

// refuseMethod is the break of a tensor's method that no graph can hold.
func (ns natives) refuseMethod(in *ssa.Call, method string) *replay.Break {
	b := &replay.Break{Code: breaks.UnsupportedMethod, Detail: "call of Tensor." + method, Value: receiver(in)}
	if code, ok := methodBreaks[method]; ok {
		b.Code = code
	}
	if method == "Bool" {
		b.Detail = "branch on the value of " + ns.tensorName(in) + ssainfo.WayOut(in, ns.env.Bindings, func() bool {
			return ns.wantsGrad(ns.tensorNode(in.Call.Args[0]))
		})
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
func (c *capture) tensorName(in *ssa.Call) string {
	if t, ok := c.TensorOf(receiver(in)); ok {
		return c.Nodes[t].Name
	}
	return value.LocalName(receiver(in))
}

// pureCall runs a pure function now, on arguments that are made constants.
func (ns natives) pureCall(in *ssa.Call, name string) {
	if makesOption(name) {
		ns.option(in)
		return
	}
	if floats(ns).function(in, name) {
		return
	}
	for _, a := range in.Call.Args {
		ns.constantDeep(a)
	}
	ns.exec()
	ns.fresh(in)
	ns.set(in, nil)
}

// constantDeep is constant, with the elements of slices that the trace made
// (variadic arguments).
func (ns natives) constantDeep(v ssa.Value) {
	if t, ok := v.Type().Underlying().(*types.Slice); ok {
		h := *(*value.SliceHeader)(ns.addr(v))
		if ns.mem.find(h.Data) != nil {
			size := ns.In.Rep(t.Elem()).Size()
			for i := range h.Len {
				p := unsafe.Add(h.Data, uintptr(i)*size)
				ns.specialize(ns.loadTracked(t.Elem(), p), t.Elem(), p)
				ns.refuseTensors(t.Elem(), p)
			}
			return
		}
	}
	ns.constant(v)
	ns.refuseTensors(v.Type(), ns.addr(v))
}

// refuseTensors breaks when a value handed to native code is a tensor of the
// graph, which has no data yet.
func (ns natives) refuseTensors(t types.Type, p unsafe.Pointer) {
	if isTensor(t) {
		breakAt(breaks.UnknownNativeCall, "a tensor is passed to %s", ns.calledHere())
	}
	if types.IsInterface(t) {
		dyn, _ := ns.In.Dynamic(t, p)
		if dyn != nil && !types.IsInterface(dyn) && (value.HoldsPointer(dyn) || types.NewMethodSet(dyn).Len() > 0) {
			breakAt(breaks.UnknownNativeCall, "a %s is passed to %s", value.TypeName(dyn), ns.calledHere())
		}
	}
}

// calledHere is the function that the next instruction calls, as a program writes it.
func (fs *frames) calledHere() string {
	f := fs.th.Top()
	if in, ok := f.Instr().(*ssa.Call); ok {
		if name := f.NativeName(&in.Call); name != "" {
			return shortFunc(name)
		}
	}
	return fs.codeOf(f.Instr())
}

// fresh registers slices that a native function has returned as objects of the
// trace.
func (ns natives) fresh(in *ssa.Call) {
	t := in.Type()
	n, at := 1, func(int) types.Type { return t }
	tuple, isTuple := t.(*types.Tuple)
	if isTuple {
		n, at = tuple.Len(), func(i int) types.Type { return tuple.At(i).Type() }
	}
	for i := range n {
		if _, ok := at(i).Underlying().(*types.Slice); ok {
			p := ns.shadowAddr(in)
			if isTuple {
				p = unsafe.Add(p, ns.src.Offset(t, i))
			}
			ns.backing(at(i), p)
		}
	}
}

// option evaluates kw.Name(value): the option carries the tracked value, which is
// settled when an operator reads it.
func (ns natives) option(in *ssa.Call) {
	var n *value.Tracked
	if args := in.Call.Args; len(args) == 1 {
		if n = ns.tracked(args[0]); n != nil && !types.IsInterface(args[0].Type()) {
			n = &value.Tracked{Inner: n}
		}
	}
	ns.exec()
	if n == nil {
		ns.set(in, nil)
		return
	}
	ns.set(in, &value.Tracked{Parts: []*value.Tracked{nil, n}})
}

// constantLayout makes strides and offset of an input constants of the cache entry.
func (c *capture) constantLayout(t *torch.Tensor, node *graph.Node) {
	for _, s := range node.TensorMeta().Stride {
		sym.Force(s)
	}
	in := c.inputOf[t]
	if in == nil {
		return
	}
	_, _, offset := t.Layout()
	c.guards.StorageOffset(in.src, offset)
}

// query answers a question about a tensor's metadata.
func (ns natives) query(in *ssa.Call, name string) {
	if f := name; f == "Tensor.RequiresGrad" || f == "Tensor.IsLeaf" {
		ns.askHistory(in, f)
		return
	}
	switch f := name; f {
	case "Tensor.Stride", "Tensor.StorageOffset", "Tensor.IsContiguous":
		ns.inBackward("asks for strides, which are not those of the trace: %s", f)
	}
	x := in.Call.Args[0]
	t := ns.tensorAt(x)
	node := ns.tensorNode(x)
	for _, a := range in.Call.Args[1:] {
		ns.constantDeep(a)
	}
	meta := node.TensorMeta()
	var n *value.Tracked
	var list []sym.Int
	switch name {
	case "Tensor.Size":
		d := int(value.KindOf(types.Typ[types.Int]).Load(ns.addr(in.Call.Args[1])).I)
		if d < 0 {
			d += len(meta.Shape)
		}
		if d >= 0 && d < len(meta.Shape) {
			n = sizeTracked(meta.Shape[d])
		}
	case "Tensor.Numel":
		n = sizeTracked(sym.Product(meta.Shape))
	case "Tensor.StorageOffset":
		ns.constantLayout(t, node)
	case "Tensor.Shape":
		list = meta.Shape
	case "Tensor.Stride":
		list = meta.Stride
	}
	ns.exec()
	ns.fresh(in)
	if list != nil {
		h := (*value.SliceHeader)(ns.shadowAddr(in))
		for i, s := range list {
			ns.storeTracked(types.Typ[types.Int], unsafe.Add(h.Data, i*8), sizeTracked(s))
		}
	}
	ns.set(in, n)
}

// closure is the closure that is the callee of a call through a func value.
func (fs *frames) closure(c *ssa.CallCommon) *host.Closure {
	if c.IsInvoke() || c.StaticCallee() != nil {
		return nil
	}
	return fs.In.ClosureOf(fs.addr(c.Value))
}
