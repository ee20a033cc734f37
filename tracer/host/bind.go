package host

import (
	"fmt"
	"go/token"
	"go/types"
	"reflect"
	"unsafe"

	"tcdbg/tracer/host/native"
	"tcdbg/tracer/host/rt"

	"golang.org/x/tools/go/ssa"
)

// This file finds what a function of the program is at run time: interpreted
// code, an intrinsic, or a native function behind a thunk.

// boundFunc is a function that can be called; exactly one of code, intrinsic
// and thunk is set, none when nothing of that name is bound.
type boundFunc struct {
	name      string
	code      *Code
	intrinsic Intrinsic
	thunk     rt.Thunk
	native    reflect.Value
}

// Intrinsic replaces a function, found by its full name (generic origins
// included). args are the addresses of the arguments (receiver first), result
// the address where the results go (several results are laid out as a struct
// of the tuple's types; TupleOffsets gives the places); it is nil where nobody
// wants them. call is the calling frame, nil for calls from native code.
type Intrinsic func(th *Thread, call *Frame, args []unsafe.Pointer, result unsafe.Pointer)

// fullName is the name by which bindings and intrinsics know fn: generic
// instances go by their origin's.
func fullName(fn *ssa.Function) string {
	if o := fn.Origin(); o != nil {
		return o.String()
	}
	return fn.String()
}

// bind resolves fn, once.
func (in *Interp) bind(fn *ssa.Function) *boundFunc {
	if b, ok := in.bound.Load(fn); ok {
		return b.(*boundFunc)
	}
	b := bindNew(in, fn)
	keep(in, b, fn)
	got, _ := in.bound.LoadOrStore(fn, b)
	return got.(*boundFunc)
}

func bindNew(in *Interp, fn *ssa.Function) *boundFunc {
	b := &boundFunc{name: fullName(fn)}
	if i, ok := in.Config.Intrinsics[b.name]; ok {
		b.intrinsic = i
	} else if i, ok := in.intrinsics[b.name]; ok {
		b.intrinsic = i
	} else if g, ok := in.generics[b.name]; ok {
		b.intrinsic = g(in, fn)
	}
	if b.intrinsic != nil {
		b.native = in.nativeFunc(fn)
		return b
	}
	if b.code = in.code(fn); b.code != nil {
		return b
	}
	if fn.Name() == "init" && fn.Pkg != nil && fn.Signature.Recv() == nil {
		b.thunk = func([]unsafe.Pointer, unsafe.Pointer) {} // native packages are initialised
		return b
	}
	if b.native = in.nativeFunc(fn); b.native.IsValid() {
		b.thunk = thunk(in, b.native, fn.Signature)
	}
	return b
}

// nativeFunc finds the compiled function or method behind fn.
func (in *Interp) nativeFunc(fn *ssa.Function) reflect.Value {
	if recv := fn.Signature.Recv(); recv != nil {
		t := recv.Type()
		r := in.info(t).R
		if !in.info(t).exact {
			return reflect.Value{}
		}
		m, ok := r.MethodByName(fn.Name())
		if !ok || r.Kind() == reflect.Interface {
			return reflect.Value{}
		}
		return m.Func
	}
	if fn.Pkg == nil || fn.Parent() != nil {
		return reflect.Value{}
	}
	if p := in.nativePkg(fn.Pkg.Pkg.Path()); p != nil {
		if f, ok := p.Funcs[fn.Name()]; ok {
			return reflect.ValueOf(f)
		}
	}
	return reflect.Value{}
}

// thunk makes the caller of a native function. sig is the static signature.
func thunk(in *Interp, fn reflect.Value, sig *types.Signature) rt.Thunk {
	if t := native.Thunk(fn.Interface()); t != nil {
		return t
	}
	return reflectThunk(in, fn)
}

// reflectThunk calls any function, slowly.
func reflectThunk(in *Interp, fn reflect.Value) rt.Thunk {
	t := fn.Type()
	offs := make([]uintptr, t.NumOut())
	var off uintptr
	for i := range offs {
		a := uintptr(t.Out(i).Align())
		off = (off + a - 1) &^ (a - 1)
		offs[i] = off
		off += t.Out(i).Size()
	}
	return func(args []unsafe.Pointer, result unsafe.Pointer) {
		vals := make([]reflect.Value, len(args))
		for i, a := range args {
			vals[i] = nativeArg(in, t.In(i), a)
		}
		var out []reflect.Value
		if t.IsVariadic() {
			out = fn.CallSlice(vals)
		} else {
			out = fn.Call(vals)
		}
		if result == nil {
			return
		}
		for i, v := range out {
			to := unsafe.Add(result, offs[i])
			if anonymousInterface(t.Out(i)) {
				*(*any)(to) = v.Interface()
			} else {
				reflect.NewAt(t.Out(i), to).Elem().Set(v)
			}
		}
	}
}

// anonymousInterface reports whether the program represents r by any although
// native code does not: interfaces with methods but without a name.
func anonymousInterface(r reflect.Type) bool {
	return r.Kind() == reflect.Interface && r.NumMethod() > 0 && r.Name() == ""
}

// ValueAt is the value at p, as an argument of type r of native code.
func ValueAt(in *Interp, r reflect.Type, p unsafe.Pointer) reflect.Value { return nativeArg(in, r, p) }

func nativeArg(in *Interp, r reflect.Type, p unsafe.Pointer) reflect.Value {
	if !anonymousInterface(r) {
		return reflect.NewAt(r, p).Elem()
	}
	v := reflect.New(r).Elem()
	if c := *(*any)(p); c != nil {
		v.Set(reflect.ValueOf(c))
	}
	return v
}

// nativePkg returns the table of a native package, nil when it is not bound.
func (in *Interp) nativePkg(path string) *rt.Pkg {
	if p, ok := in.pkgs.Load(path); ok {
		return p.(*rt.Pkg)
	}
	got, _ := in.pkgs.LoadOrStore(path, native.Package(path))
	return got.(*rt.Pkg)
}

// GlobalAddr returns where a package-level variable lives.
func (in *Interp) GlobalAddr(g *ssa.Global) unsafe.Pointer {
	if p, ok := in.globals.Load(g); ok {
		return p.(unsafe.Pointer)
	}
	got, _ := in.globals.LoadOrStore(g, in.newGlobal(g))
	return got.(unsafe.Pointer)
}

func (in *Interp) newGlobal(g *ssa.Global) unsafe.Pointer {
	path := g.Pkg.Pkg.Path()
	if p := in.stdVar(path, g.Name()); p != nil {
		return p
	}
	if p := in.nativePkg(path); p != nil && !in.Prog.interpreted(path) {
		v, ok := p.Vars[g.Name()]
		if !ok {
			panic(unsupported(fmt.Sprintf("host: variable %s.%s is not bound", path, g.Name())))
		}
		return reflect.ValueOf(v).UnsafePointer()
	}
	return in.info(g.Type().Underlying().(*types.Pointer).Elem()).alloc()
}

// method is a method of a type of the program.
type method struct {
	fn  *ssa.Function
	sig *types.Signature
	b   *boundFunc
}

// methodOf finds a method by name; pkg qualifies unexported names. nil when
// the type has none.
func (in *Interp) methodOf(ti *typeInfo, name string, pkg *types.Package) *method {
	key := name
	if pkg != nil && !token.IsExported(name) {
		key = pkg.Path() + "." + name
	}
	if m, ok := ti.methods.Load(key); ok {
		return m.(*method)
	}
	m := findMethod(in, ti, name, pkg)
	got, _ := ti.methods.LoadOrStore(key, m)
	return got.(*method)
}

func findMethod(in *Interp, ti *typeInfo, name string, pkg *types.Package) *method {
	fn := in.Prog.methodValue(ti.T, name, pkg)
	if fn == nil {
		return nil
	}
	return &method{fn: fn, sig: fn.Signature, b: in.bind(fn)}
}

func (p *Program) methodValue(t types.Type, name string, pkg *types.Package) *ssa.Function {
	p.ssaMu.RLock()
	defer p.ssaMu.RUnlock()
	sel := p.SSA.MethodSets.MethodSet(t).Lookup(pkg, name)
	if sel == nil {
		return nil
	}
	return p.SSA.MethodValue(sel)
}
