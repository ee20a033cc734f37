package host

import (
	"go/types"
	"reflect"
	"sync/atomic"
	"unsafe"

	"tcdbg/tracer/host/rt"

	"golang.org/x/tools/go/ssa"
)

// This file is calls: call, go and defer of interpreted and native functions,
// func values and interface methods.

// invocation is what a call resolves to.
type invocation struct {
	b       *boundFunc
	closure *Closure
	free    []unsafe.Pointer
	thunk   rt.Thunk       // of a native func value or method
	recv    unsafe.Pointer // of an interface method: the receiver's address
	recover bool           // the builtin recover, deferred
	name    string
}

// invoke runs a resolved call to its end.
func (th *Thread) invoke(c invocation, args []unsafe.Pointer, result unsafe.Pointer) {
	if c.b != nil && c.b.code != nil {
		th.call(c.b.code, c.closure, c.free, args, result)
		return
	}
	th.native(c, th.top, args, result)
}

// native runs a call that is not interpreted; args include the receiver.
func (th *Thread) native(c invocation, f *Frame, args []unsafe.Pointer, result unsafe.Pointer) {
	switch {
	case c.thunk != nil:
		c.thunk(args, result)
	case c.b.intrinsic != nil:
		c.b.intrinsic(th, f, args, result)
	case c.b.thunk != nil:
		c.b.thunk(args, result)
	default:
		panic(unsupported("host: " + c.b.name + " is not bound: the program cannot use it under tcdbg"))
	}
}

// withScratch gives native calls a place for results that nobody wants: thunks
// always store them.
func (r resultInfo) place(p unsafe.Pointer) unsafe.Pointer {
	if p == nil && r.ti != nil {
		return r.ti.alloc()
	}
	return p
}

func (b *builder) callInstr(in ssa.CallInstruction) op {
	switch in := in.(type) {
	case *ssa.Call:
		return b.call(in)
	case *ssa.Go:
		return b.goOp(in)
	case *ssa.Defer:
		return b.deferOp(in)
	}
	panic("unreachable")
}

func (b *builder) call(in *ssa.Call) op {
	c := &in.Call
	if blt, ok := c.Value.(*ssa.Builtin); ok {
		return b.builtin(in, blt.Name(), c)
	}
	args := b.refs(c.Args)
	d := b.dst(in)
	if fn, ok := c.Value.(*ssa.Function); ok {
		return b.staticCall(fn, args, d)
	}
	if c.IsInvoke() {
		return b.methodCall(c, args, d)
	}
	return b.funcCall(c, args, d)
}

func (b *builder) staticCall(fn *ssa.Function, args []ref, d uintptr) op {
	bound := b.in.bind(fn)
	if bound.code == nil {
		return b.counted(bound.name, b.nativeStatic(invocation{b: bound}, fn.Signature, args, d))
	}
	code := bound.code
	switch len(args) {
	case 0:
		return func(f *Frame) *Frame { return f.th.push(code, unsafe.Add(f.fp, d)) }
	case 1:
		a := args[0]
		return func(f *Frame) *Frame {
			g := f.th.push(code, unsafe.Add(f.fp, d))
			p := &code.params[0]
			p.ti.store(unsafe.Add(g.fp, p.off), a.at(f))
			if code.compiled.Load() != nil {
				return f.th.enterMethod(g)
			}
			return g
		}
	}
	return func(f *Frame) *Frame {
		g := f.th.push(code, unsafe.Add(f.fp, d))
		g.setArgs(f, args, 0)
		if code.compiled.Load() != nil {
			return f.th.enterMethod(g)
		}
		return g
	}
}

// nativeStatic calls a native function by name.
func (b *builder) nativeStatic(c invocation, sig *types.Signature, args []ref, d uintptr) op {
	at := functionArgs(sig)
	if len(at) == 0 || b.in.Config.Counted == nil {
		return nativeOp(c, args, d)
	}
	return b.withCallbacks(c, sig, args, at, d)
}

// counted adds the counting of a call, where that is wanted.
func (b *builder) counted(name string, call op) op {
	if b.in.Config.Counted == nil || !b.in.Config.Counted(name) {
		return call
	}
	return func(f *Frame) *Frame {
		f.th.Counted++
		return call(f)
	}
}

// setArgs stores the arguments of a call by f into the parameters from first.
func (g *Frame) setArgs(f *Frame, args []ref, first int) {
	params := g.Code.params[first:]
	for i := range args {
		p := &params[i]
		p.ti.store(unsafe.Add(g.fp, p.off), args[i].at(f))
	}
}

// nativeOp calls a native function; its argument addresses are stacked on the
// thread, so that a call allocates nothing.
func nativeOp(c invocation, args []ref, d uintptr) op {
	thunk := c.thunk
	if thunk == nil && c.b.intrinsic == nil {
		thunk = c.b.thunk
	}
	if thunk == nil {
		return func(f *Frame) *Frame {
			th := f.th
			base := th.pushArgs(f, args)
			th.native(c, f, th.argv[base:], unsafe.Add(f.fp, d))
			th.popArgs(base)
			return th.top
		}
	}
	return func(f *Frame) *Frame {
		th := f.th
		base := th.pushArgs(f, args)
		thunk(th.argv[base:], unsafe.Add(f.fp, d))
		th.popArgs(base)
		return f
	}
}

func (th *Thread) pushArgs(f *Frame, args []ref) (base int) {
	base = len(th.argv)
	for i := range args {
		th.argv = append(th.argv, args[i].at(f))
	}
	return base
}

func (th *Thread) popArgs(base int) {
	clear(th.argv[base:])
	th.argv = th.argv[:base]
}

// funcCall calls a func value.
func (b *builder) funcCall(c *ssa.CallCommon, args []ref, d uintptr) op {
	x, host, r := b.ref(c.Value), b.in, b.in.info(c.Value.Type()).R
	return func(f *Frame) *Frame {
		p := *(*unsafe.Pointer)(x.at(f))
		cl := closureAt(p)
		if cl == nil {
			nativeFuncCall(host, f, r, x.at(f), args, unsafe.Add(f.fp, d))
			return f.th.top
		}
		bound := host.bindClosure(cl)
		if bound.code == nil {
			th := f.th
			base := th.pushArgs(f, args)
			th.native(invocation{b: bound}, f, th.argv[base:], unsafe.Add(f.fp, d))
			th.popArgs(base)
			return th.top
		}
		g := f.th.push(bound.code, unsafe.Add(f.fp, d))
		if len(cl.Free) > 0 {
			g.bind(cl.Free)
		}
		g.setArgs(f, args, 0)
		if cl.Compiled != nil {
			return f.th.enter(g, cl)
		}
		return g
	}
}

func (in *Interp) bindClosure(c *Closure) *boundFunc {
	if b := c.bound.Load(); b != nil {
		return b
	}
	b := in.bind(c.Fn)
	c.bound.Store(b)
	return b
}

// nativeFuncCall calls a func value of compiled code; nil faults as in Go.
func nativeFuncCall(in *Interp, f *Frame, r reflect.Type, x unsafe.Pointer, args []ref, result unsafe.Pointer) {
	fn := reflect.NewAt(r, x).Elem()
	if fn.IsNil() {
		_ = **(**byte)(x)
	}
	th := f.th
	base := th.pushArgs(f, args)
	thunk(in, fn, nil)(th.argv[base:], result)
	th.popArgs(base)
}

// methodSite is the last dynamic type that a call site met.
type methodSite struct {
	rtype reflect.Type
	ti    *typeInfo
	m     *method
	thunk rt.Thunk
}

// methodCall calls a method of an interface.
func (b *builder) methodCall(c *ssa.CallCommon, args []ref, d uintptr) op {
	x, host, it := b.ref(c.Value), b.in, b.in.info(c.Value.Type())
	name, pkg := c.Method.Name(), c.Method.Pkg()
	var cache atomic.Pointer[methodSite]
	return func(f *Frame) *Frame {
		v := it.readIface(x.at(f))
		site := host.site(&cache, v, name, pkg)
		th := f.th
		if site.m != nil && site.m.b.code != nil {
			g := th.push(site.m.b.code, unsafe.Add(f.fp, d))
			p := &g.Code.params[0]
			if site.ti.size > 0 {
				p.ti.store(unsafe.Add(g.fp, p.off), content(&v, site.ti))
			}
			g.setArgs(f, args, 1)
			if g.Code.compiled.Load() != nil {
				return th.enterMethod(g)
			}
			return g
		}
		base := len(th.argv)
		th.argv = append(th.argv, content(&v, site.ti))
		th.pushArgs(f, args)
		inv := invocation{thunk: site.thunk}
		if site.m != nil {
			inv = invocation{b: site.m.b}
		}
		th.native(inv, f, th.argv[base:], unsafe.Add(f.fp, d))
		th.popArgs(base)
		return th.top
	}
}

// site resolves a method for content v; nil faults as in Go.
func (in *Interp) site(cache *atomic.Pointer[methodSite], v any, name string, pkg *types.Package) *methodSite {
	if v == nil {
		var p *byte
		_ = *p
	}
	r := reflect.TypeOf(v)
	if s := cache.Load(); s != nil && s.rtype == r {
		return s
	}
	s := programSite(in, r, name, pkg)
	if s == nil {
		s = nativeSite(in, r, name)
	}
	cache.Store(s)
	return s
}

// programSite binds a method of a type of the program; nil for a compiled type.
func programSite(in *Interp, r reflect.Type, name string, pkg *types.Package) *methodSite {
	t, ok := in.types.rtypes.Load(r)
	if !ok {
		return nil
	}
	ti := in.info(t.(types.Type))
	if ti.exact {
		return nil
	}
	s := &methodSite{rtype: r, ti: ti, m: in.methodOf(ti, name, pkg)}
	if s.m == nil {
		panic(unsupported("host: " + r.String() + " has no method " + name))
	}
	return s
}

// nativeSite binds a method of a compiled type. An intrinsic of that method
// takes precedence.
func nativeSite(in *Interp, r reflect.Type, name string) *methodSite {
	s := &methodSite{rtype: r, ti: &typeInfo{R: r, size: r.Size(), direct: isDirect(r), exact: true}}
	s.ti.class, s.ti.words = classify(r)
	m, ok := r.MethodByName(name)
	if !ok {
		panic(unsupported("host: " + r.String() + " has no method " + name))
	}
	if t, ok := in.types.rtypes.Load(r); ok {
		if mm := in.methodOf(in.info(t.(types.Type)), name, nil); mm != nil {
			s.m = mm
			return s
		}
	}
	s.thunk = keptMethod(in, methodName(r, name), thunk(in, m.Func, nil))
	if r == tyReflectType {
		if own := typeMethod(in, name, s.thunk); own != nil {
			s.thunk = own
		}
	}
	return s
}

// resolve finds what a call of f would run now, and the receiver. The call is
// no builtin.
func (in *Interp) resolve(f *Frame, c *ssa.CallCommon) invocation {
	if fn, ok := c.Value.(*ssa.Function); ok && !c.IsInvoke() {
		b := in.bind(fn)
		return invocation{b: b, name: b.name}
	}
	p := f.Addr(c.Value)
	if c.IsInvoke() {
		v := new(any)
		*v = in.info(c.Value.Type()).readIface(p)
		var cache atomic.Pointer[methodSite]
		site := in.site(&cache, *v, c.Method.Name(), c.Method.Pkg())
		inv := invocation{recv: content(v, site.ti), thunk: site.thunk}
		if site.m != nil {
			inv.b, inv.name = site.m.b, site.m.b.name
		} else {
			inv.name = methodName(site.rtype, c.Method.Name())
		}
		return inv
	}
	if cl := closureAt(*(*unsafe.Pointer)(p)); cl != nil {
		b := in.bindClosure(cl)
		return invocation{b: b, closure: cl, free: cl.Free, name: b.name}
	}
	fn := in.info(c.Value.Type()).value(p)
	if fn.IsNil() {
		return invocation{thunk: callNil, name: "nil"}
	}
	keep := reflect.New(fn.Type()).Elem()
	keep.Set(fn)
	return invocation{thunk: thunk(in, keep, nil), name: funcName(keep)}
}

// callNil is a call of a nil func value: deferred, it faults when it runs.
func callNil([]unsafe.Pointer, unsafe.Pointer) {
	var p *byte
	_ = *p
}

// arguments copies the arguments of a go or defer statement.
func (b *builder) arguments(c *ssa.CallCommon) func(f *Frame, recv unsafe.Pointer) []unsafe.Pointer {
	refs := b.refs(c.Args)
	infos := make([]*typeInfo, len(refs))
	for i, a := range c.Args {
		infos[i] = b.in.info(a.Type())
	}
	return func(f *Frame, recv unsafe.Pointer) []unsafe.Pointer {
		var out []unsafe.Pointer
		if recv != nil {
			out = append(out, recv)
		}
		for i, r := range refs {
			p := infos[i].alloc()
			infos[i].store(p, r.at(f))
			out = append(out, p)
		}
		return out
	}
}

// later prepares a go or defer statement: f's operands are read now.
func (b *builder) later(in ssa.CallInstruction) func(f *Frame) (invocation, []unsafe.Pointer) {
	c, host := in.Common(), b.in
	args := b.arguments(c)
	if blt, ok := c.Value.(*ssa.Builtin); ok {
		name := blt.Name()
		run := builtinThunk(b, name, c)
		return func(f *Frame) (invocation, []unsafe.Pointer) {
			return invocation{thunk: run, recover: name == "recover"}, args(f, nil)
		}
	}
	results := b.in.resultsOf(c.Signature().Results())
	return func(f *Frame) (invocation, []unsafe.Pointer) {
		inv := host.resolve(f, c)
		recv := inv.recv
		if inv.b == nil || inv.b.code == nil {
			inner := inv
			inv.thunk = func(a []unsafe.Pointer, _ unsafe.Pointer) {
				nativeLater(host, inner, a, results.place(nil))
			}
		}
		return inv, args(f, recv)
	}
}

func nativeLater(in *Interp, inv invocation, args []unsafe.Pointer, result unsafe.Pointer) {
	th := in.takeThread()
	th.native(inv, nil, args, result)
	in.giveThread(th)
}

func (b *builder) goOp(in *ssa.Go) op {
	prepare, host := b.later(in), b.in
	return func(f *Frame) *Frame {
		inv, args := prepare(f)
		host.goroutine(inv, args)
		return f
	}
}

func (b *builder) deferOp(in *ssa.Defer) op {
	prepare := b.later(in)
	var stack ref
	if in.DeferStack != nil {
		stack = b.ref(in.DeferStack)
	}
	outer := in.DeferStack != nil
	return func(f *Frame) *Frame {
		inv, args := prepare(f)
		owner := f
		if outer {
			owner = *(**Frame)(stack.at(f))
		}
		owner.defers = &deferred{call: inv, args: args, next: owner.defers}
		owner.rare = true
		return f
	}
}

func (b *builder) ret(in *ssa.Return) op {
	rs := b.refs(in.Results)
	switch len(rs) {
	case 0:
		return func(f *Frame) *Frame { return f.th.returned(f) }
	case 1:
		ti, r := b.in.info(in.Results[0].Type()), rs[0]
		return func(f *Frame) *Frame {
			if f.retp != nil {
				ti.store(f.retp, r.at(f))
			}
			return f.th.returned(f)
		}
	}
	info := b.c.results
	return func(f *Frame) *Frame {
		if f.retp != nil {
			for i := range rs {
				if info.parts[i].size > 0 {
					info.parts[i].store(unsafe.Add(f.retp, info.offs[i]), rs[i].at(f))
				}
			}
		}
		return f.th.returned(f)
	}
}

// NativeName returns the full name of the native function that instruction
// call would call ("(*tcdbg/torch.Tensor).Add"), "" when the callee is
// interpreted. It resolves func values and interface methods by the operands.
func (f *Frame) NativeName(call *ssa.CallCommon) string {
	if blt, ok := call.Value.(*ssa.Builtin); ok {
		return blt.Name()
	}
	inv, ok := f.tryResolve(call)
	if !ok || inv.b != nil && inv.b.code != nil {
		return ""
	}
	return inv.name
}

// Callee resolves the interpreted function (and its free variables) that call
// would run now; nil when it is native or a builtin.
func (f *Frame) Callee(call *ssa.CallCommon) (*ssa.Function, []unsafe.Pointer) {
	if _, ok := call.Value.(*ssa.Builtin); ok {
		return nil, nil
	}
	inv, ok := f.tryResolve(call)
	if !ok || inv.b == nil || inv.b.code == nil {
		return nil, nil
	}
	return inv.b.code.Fn, inv.free
}

// tryResolve is resolve without the fault of a nil func or interface.
func (f *Frame) tryResolve(call *ssa.CallCommon) (inv invocation, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	return f.Code.in.resolve(f, call), true
}
