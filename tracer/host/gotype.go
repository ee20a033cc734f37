package host

import (
	"go/types"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"unsafe"
	"weak"

	"tcdbg/tracer/host/rtype"
)

// This file gives the program's types the reflect types under which interface
// values hold them. The interpreter itself works on representations
// (typeInfo.R), which are only memory; a Go type has the same memory and the
// program's names, fields and methods, so compiled code sees what it would see
// under go run.

// goType is the reflect type of ti's values in interfaces.
func (ti *typeInfo) goType() reflect.Type {
	if r := ti.gotype.Load(); r != nil {
		return *r
	}
	tt := &ti.in.types
	tt.mu.Lock()
	defer tt.mu.Unlock()
	if r := ti.gotype.Load(); r != nil {
		return *r
	}
	m := typeMaker{tt: tt, done: map[*typeInfo]reflect.Type{}}
	r := m.of(ti.T)
	m.finish()
	return r
}

// word is the type word of interfaces that hold values of ti.
func (ti *typeInfo) word() unsafe.Pointer {
	if w := atomic.LoadPointer(&ti.typeWord); w != nil {
		return w
	}
	w := typeWord(ti.goType())
	atomic.StorePointer(&ti.typeWord, w)
	return w
}

// typeMaker makes Go types that may refer to each other; nobody else sees them
// before they are complete.
type typeMaker struct {
	tt   *typeTable
	done map[*typeInfo]reflect.Type
	made []*madeType
}

// madeType is a type that has a descriptor of its own: a defined type of the
// program, or a struct type that package reflect cannot make.
type madeType struct {
	ti, ptr       *typeInfo
	t, p          *rtype.Type
	methods, ptrs []*types.Selection
}

func (m *typeMaker) all(tuple *types.Tuple) []reflect.Type {
	var out []reflect.Type
	for v := range tuple.Variables() {
		out = append(out, m.of(v.Type()))
	}
	return out
}

// of returns the Go type of t, which may still lack its parts.
func (m *typeMaker) of(t types.Type) reflect.Type {
	ti := m.tt.infoLocked(t)
	if r := ti.gotype.Load(); r != nil {
		return *r
	}
	if r := m.done[ti]; r != nil {
		return r
	}
	if ti.exact {
		return m.set(ti, ti.R)
	}
	switch t := types.Unalias(ti.T).(type) {
	case *types.Pointer:
		return m.set(ti, reflect.PointerTo(m.of(t.Elem())))
	case *types.Slice:
		return m.set(ti, reflect.SliceOf(m.of(t.Elem())))
	case *types.Array:
		return m.set(ti, reflect.ArrayOf(int(t.Len()), m.of(t.Elem())))
	case *types.Chan:
		return m.set(ti, reflect.ChanOf(chanDir(t), m.of(t.Elem())))
	case *types.Map:
		return m.set(ti, reflect.MapOf(m.of(t.Key()), m.of(t.Elem())))
	case *types.Signature:
		if ti.R.Kind() != reflect.Func {
			return m.set(ti, ti.R) // more parameters than compiled code can have
		}
		return m.set(ti, reflect.FuncOf(m.all(t.Params()), m.all(t.Results()), ti.R.IsVariadic()))
	}
	return m.make(ti)
}

func (m *typeMaker) set(ti *typeInfo, r reflect.Type) reflect.Type {
	m.done[ti] = r
	return r
}

// make makes a descriptor for ti and then its parts.
func (m *typeMaker) make(ti *typeInfo) reflect.Type {
	made := &madeType{ti: ti, ptr: m.tt.infoLocked(types.NewPointer(ti.T))}
	pkg := ""
	if n, ok := types.Unalias(ti.T).(*types.Named); ok && n.Obj().Pkg() != nil {
		pkg = n.Obj().Pkg().Path()
	}
	if !ti.iface {
		made.methods, made.ptrs = m.methods(ti.T), m.methods(made.ptr.T)
	}
	made.t = rtype.New(m.layout(ti), goTypeString(ti.T), pkg, len(made.methods))
	made.p = made.t.PointerTo(len(made.ptrs))
	m.made = append(m.made, made)
	m.set(ti, made.t.Reflect())
	switch u := ti.T.Underlying().(type) {
	case *types.Pointer:
		made.t.SetElem(m.of(u.Elem()))
	case *types.Slice:
		made.t.SetElem(m.of(u.Elem()))
	case *types.Array:
		made.t.SetElem(m.of(u.Elem()))
	case *types.Chan:
		made.t.SetElem(m.of(u.Elem()))
	case *types.Map:
		made.t.SetKey(m.of(u.Key()))
		made.t.SetElem(m.of(u.Elem()))
	case *types.Signature:
		if ti.R.Kind() == reflect.Func {
			made.t.SetFunc(m.all(u.Params()), m.all(u.Results()))
		}
	case *types.Struct:
		m.fields(made.t, u)
	}
	return made.t.Reflect()
}

// layout is the reflect type that a made type copies: the representation, where
// that is not a stand-in of another kind.
func (m *typeMaker) layout(ti *typeInfo) reflect.Type {
	switch u := ti.T.Underlying().(type) {
	case *types.Pointer:
		return reflect.TypeFor[*struct{}]()
	case *types.Map:
		return reflect.MapOf(m.tt.infoLocked(u.Key()).R, m.tt.infoLocked(u.Elem()).R)
	case *types.Chan:
		return reflect.ChanOf(chanDir(u), m.tt.infoLocked(u.Elem()).R)
	}
	return ti.R
}

func chanDir(t *types.Chan) reflect.ChanDir {
	switch t.Dir() {
	case types.SendOnly:
		return reflect.SendDir
	case types.RecvOnly:
		return reflect.RecvDir
	}
	return reflect.BothDir
}

func (m *typeMaker) fields(t *rtype.Type, u *types.Struct) {
	var out []rtype.Field
	pkg := "main"
	for i := range u.NumFields() {
		f := u.Field(i)
		if f.Pkg() != nil {
			pkg = f.Pkg().Path()
		}
		out = append(out, rtype.Field{Name: f.Name(), Tag: u.Tag(i), Type: m.of(f.Type()), Exported: f.Exported(), Embedded: f.Embedded()})
	}
	t.SetFields(pkg, out)
}

// methods lists the methods of t that compiled code can find, as descriptors
// order them. An interface of compiled code has only methods whose types are
// compiled ones; all others can only be found by name, which takes package
// reflect.
func (m *typeMaker) methods(t types.Type) []*types.Selection {
	var out []*types.Selection
	set := m.tt.in.Prog.SSA.MethodSets.MethodSet(t)
	for i := range set.Len() {
		sel := set.At(i)
		sig := sel.Obj().(*types.Func).Signature()
		if m.tt.in.byName() || m.tt.exactTuple(sig.Params()) && m.tt.exactTuple(sig.Results()) {
			out = append(out, sel)
		}
	}
	slices.SortStableFunc(out, func(a, b *types.Selection) int {
		x, y := a.Obj(), b.Obj()
		if x.Exported() != y.Exported() {
			if x.Exported() {
				return -1
			}
			return 1
		}
		return strings.Compare(x.Name(), y.Name())
	})
	return out
}

// byName reports whether the program looks methods up by their name.
func (in *Interp) byName() bool { return in.Prog.imported["reflect"] }

// finish fills the tables of methods, whose types may need more made types, and
// lets others find all that was made.
func (m *typeMaker) finish() {
	for i := 0; i < len(m.made); i++ {
		made := m.made[i]
		made.t.SetMethods(m.table(made.ti, made.methods))
		made.p.SetMethods(m.table(made.ptr, made.ptrs))
	}
	for _, made := range m.made {
		m.of(made.ptr.T)
	}
	for ti, r := range m.done {
		m.tt.rtypes.LoadOrStore(r, ti.T)
		ti.gotype.Store(&r)
	}
}

func (m *typeMaker) table(ti *typeInfo, methods []*types.Selection) []rtype.Method {
	in := m.tt.in
	var out []rtype.Method
	for _, sel := range methods {
		fn := sel.Obj().(*types.Func)
		sig := fn.Signature()
		r := rtype.Method{Name: fn.Name(), Type: reflect.FuncOf(m.all(sig.Params()), m.all(sig.Results()), sig.Variadic())}
		if !fn.Exported() && fn.Pkg() != nil {
			r.PkgPath = fn.Pkg().Path()
		}
		reps := m.reps(sig.Params())
		results := m.reps(sig.Results())
		word := reflect.FuncOf(append([]reflect.Type{tyPointer}, reps...), results, false)
		r.Ifn = in.slots.New(word, in.entry(ti, fn, ti.direct))
		switch {
		case ti.R == tyPointer || ti.R.Kind() == reflect.Pointer:
			r.Tfn = r.Ifn
		case in.byName(): // reflect.Method.Func
			whole := reflect.FuncOf(append([]reflect.Type{ti.R}, reps...), results, false)
			r.Tfn = in.slots.New(whole, in.entry(ti, fn, true))
		}
		out = append(out, r)
	}
	return out
}

func (m *typeMaker) reps(tuple *types.Tuple) []reflect.Type {
	var out []reflect.Type
	for v := range tuple.Variables() {
		out = append(out, m.tt.infoLocked(v.Type()).R)
	}
	return out
}

// entry is a method of the program as compiled code calls it. value says that the
// first argument is the receiver itself, not its address. The entry points do not
// keep the interpreter alive: it frees them when it is collected.
func (in *Interp) entry(ti *typeInfo, fn *types.Func, value bool) func([]reflect.Value) []reflect.Value {
	ref, t, name, pkg := weak.Make(in), ti.T, fn.Name(), fn.Pkg()
	return func(args []reflect.Value) []reflect.Value {
		in := ref.Value()
		if in == nil {
			panic(unsupported("host: a method of a program that has ended is called"))
		}
		var recv unsafe.Pointer
		if value {
			p := reflect.New(args[0].Type())
			p.Elem().Set(args[0])
			recv = p.UnsafePointer()
		} else {
			recv = args[0].UnsafePointer()
		}
		m := in.methodOf(in.info(t), name, pkg)
		if m == nil {
			panic(unsupported("host: " + t.String() + " has no method " + name))
		}
		return in.callBound(m.b, nil, m.sig.Results(), append([]unsafe.Pointer{recv}, addresses(args[1:])...))
	}
}

// addresses copies arguments of a call from compiled code to where interpreted
// code reads them.
func addresses(args []reflect.Value) []unsafe.Pointer {
	ptrs := make([]unsafe.Pointer, len(args))
	for i, a := range args {
		p := reflect.New(a.Type())
		p.Elem().Set(a)
		ptrs[i] = p.UnsafePointer()
	}
	return ptrs
}

// callBound calls b from compiled code.
func (in *Interp) callBound(b *boundFunc, c *Closure, res *types.Tuple, args []unsafe.Pointer) []reflect.Value {
	results := in.resultsOf(res)
	var result unsafe.Pointer
	if results.ti != nil {
		result = results.ti.alloc()
	}
	var free []unsafe.Pointer
	if c != nil {
		free = c.Free
	}
	in.nativeCall(b, c, free, args, result)
	out := make([]reflect.Value, len(results.parts))
	for i, ti := range results.parts {
		out[i] = ti.value(unsafe.Add(result, results.offs[i]))
	}
	return out
}

// freeSlots gives the entry points back when the interpreter is gone.
func (in *Interp) freeSlots() {
	in.slots = new(rtype.Slots)
	runtime.AddCleanup(in, func(s *rtype.Slots) { s.Free() }, in.slots)
}

// goTypeString is what reflect.Type.String returns for t: as in run-time errors,
// but the arguments of generic types have whole import paths.
func goTypeString(t types.Type) string {
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || n.TypeArgs().Len() == 0 {
		return typeString(t)
	}
	var args []string
	for a := range n.TypeArgs().Types() {
		args = append(args, replaceAny(types.TypeString(unalias(a), func(p *types.Package) string { return p.Path() })))
	}
	return n.Obj().Pkg().Name() + "." + n.Obj().Name() + "[" + strings.Join(args, ",") + "]"
}
