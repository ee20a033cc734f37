package host

import (
	"go/types"
	"reflect"
	"sync/atomic"
	"unsafe"

	"golang.org/x/tools/go/ssa"
)

// This file is function values. One of the program is a real Go func value, so
// that native code can call it, whose closure is found again from its word.

// Closure is an interpreted (or bound) function value.
type Closure struct {
	Fn   *ssa.Function
	Free []unsafe.Pointer // addresses of the bound values
	// Compiled, where set, routes calls to Config.Compiled.
	Compiled any

	in    *Interp
	bound atomic.Pointer[boundFunc]
	// ran, where set, gets what calls from native code counted.
	ran *atomic.Int64
}

// ClosureOf finds the closure behind the func value at p; nil for native
// functions (Go code of the binary) and nil func values.
func (in *Interp) ClosureOf(p unsafe.Pointer) *Closure { return closureAt(*(*unsafe.Pointer)(p)) }

// MakeFunc stores at dst a func value of type t that calls c.
func (in *Interp) MakeFunc(dst unsafe.Pointer, t *types.Signature, c *Closure) {
	c.in = in
	*(*unsafe.Pointer)(dst) = newFunc(template(in, t), c)
}

// template returns what all func values of a type are copied from.
func template(in *Interp, t types.Type) *makeFunc {
	r := in.info(t.Underlying()).R
	if r.Kind() != reflect.Func {
		r = reflect.TypeFor[func()]() // too many parameters for native code
	}
	if m, ok := in.templates.Load(r); ok {
		return m.(*makeFunc)
	}
	m, _ := in.templates.LoadOrStore(r, funcTemplate(r))
	return m.(*makeFunc)
}

// funcValue is the word of the func value of a declared function.
func (in *Interp) funcValue(fn *ssa.Function) unsafe.Pointer {
	if p, ok := in.funcs.Load(fn); ok {
		return p.(unsafe.Pointer)
	}
	b := in.bind(fn)
	var p unsafe.Pointer
	if b.native.IsValid() && b.intrinsic == nil {
		v := reflect.New(b.native.Type())
		v.Elem().Set(b.native)
		p = *(*unsafe.Pointer)(v.UnsafePointer())
	} else {
		sig := fn.Signature
		if recv := sig.Recv(); recv != nil { // a method expression's function
			params := []*types.Var{types.NewVar(0, nil, "", recv.Type())}
			for v := range sig.Params().Variables() {
				params = append(params, v)
			}
			sig = types.NewSignatureType(nil, nil, nil, types.NewTuple(params...), sig.Results(), sig.Variadic())
		}
		p = newFunc(template(in, sig), &Closure{Fn: fn, in: in})
	}
	got, _ := in.funcs.LoadOrStore(fn, p)
	return got.(unsafe.Pointer)
}

// oneMethodValue is the function that all method values of a method have: in SSA each place
// that takes one has its own, and what is compiled at one place would not serve the others.
func oneMethodValue(in *Interp, fn *ssa.Function) *ssa.Function {
	method, _ := fn.Object().(*types.Func)
	if fn.Synthetic == "" || fn.Parent() != nil || method == nil || len(fn.TypeArgs()) > 0 || len(fn.FreeVars) != 1 {
		return fn
	}
	one, _ := in.methods.LoadOrStore(method, fn)
	return one.(*ssa.Function)
}

func (b *builder) makeClosure(in *ssa.MakeClosure) op {
	fn, d, host := oneMethodValue(b.in, in.Fn.(*ssa.Function)), b.dst(in), b.in
	template := template(b.in, fn.Signature)
	binds := b.refs(in.Bindings)
	infos := make([]*typeInfo, len(binds))
	pointers := true
	for i, v := range in.Bindings {
		infos[i] = b.in.info(v.Type())
		pointers = pointers && infos[i].class == clsPtr
	}
	return func(f *Frame) *Frame {
		c := &Closure{Fn: fn, in: host, Free: make([]unsafe.Pointer, len(binds))}
		if pointers { // variables: one allocation holds them all
			words := make([]unsafe.Pointer, len(binds))
			for i := range binds {
				words[i] = *(*unsafe.Pointer)(binds[i].at(f))
				c.Free[i] = unsafe.Pointer(&words[i])
			}
		} else {
			for i := range binds {
				p := infos[i].alloc()
				infos[i].store(p, binds[i].at(f))
				c.Free[i] = p
			}
		}
		*at[unsafe.Pointer](f, d) = newFunc(template, c)
		return f
	}
}

// callNative is a call of c from native code.
func (in *Interp) callNative(c *Closure, args []reflect.Value) []reflect.Value {
	return in.callBound(in.bind(c.Fn), c, c.Fn.Signature.Results(), addresses(args))
}
