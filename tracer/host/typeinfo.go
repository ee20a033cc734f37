package host

import (
	"fmt"
	"go/types"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"tcdbg/torch"
	"tcdbg/tracer/host/rt"

	"golang.org/x/tools/go/types/typeutil"
)

// This file maps Go types of the program to their representation: the
// reflect.Type whose memory layout their values have.
//
// Native named types represent themselves. Types of the program are
// represented by their underlying type; a pointer to one is unsafe.Pointer, so
// that recursive types need no knot. Interfaces that the program declares are
// `any`, native ones themselves. A func type is the Go func type over the
// representations, so native code can call its values.

// class says how values are copied.
type class uint8

const (
	cls0 class = iota // no size
	cls1              // scalars by size in bytes
	cls2
	cls4
	cls8
	clsPtr    // one pointer word
	clsString // also any other (pointer, scalar) pair
	clsSlice
	clsAny   // empty interface
	clsIface // native interface with methods
	clsWords // small composite, copied word by word
	clsBytes // composite without pointers
	clsTyped // anything else
)

// typeInfo is what the interpreter knows of a type.
type typeInfo struct {
	T     types.Type // canonical: identical types share it
	R     reflect.Type
	size  uintptr
	class class
	// exact is set when R identifies T: it is the Go type of T as well.
	exact  bool
	direct bool // an interface holds the value itself, not its address
	words  []wordMove
	in     *Interp
	// gotype is the type by which interfaces know the values, typeWord its
	// address; both are made when they are asked for.
	gotype   atomic.Pointer[reflect.Type]
	typeWord unsafe.Pointer
	iface    bool
	native   bool // interface represented by itself, not by any
	offs     []uintptr
	// methods caches method look-ups: name to *method.
	methods sync.Map
	impl    sync.Map // implements: *typeInfo of an interface to bool
}

type wordMove struct {
	off uintptr
	cls class
}

// typeTable is the types of one interpreter.
type typeTable struct {
	in     *Interp
	byPtr  sync.Map // types.Type to *typeInfo, by address
	mu     sync.Mutex
	hasher typeutil.Hasher
	byID   typeutil.Map // types.Type to *typeInfo, by identity
	exacts typeutil.Map // types.Type to bool
	busy   map[*types.Named]bool
	rtypes sync.Map // reflect.Type to types.Type, of exact types
	// foreign is the compiled types that no package exports: *types.Named to
	// reflect.Type.
	foreign sync.Map
	reach   sync.Map // import path to the result of reachable
}

var (
	tyAny       = reflect.TypeFor[any]()
	tyError     = reflect.TypeFor[error]()
	tyPointer   = reflect.TypeFor[unsafe.Pointer]()
	basicTypes  = basicReps()
	tyWordSlice = reflect.TypeFor[[]struct{}]()
)

func basicReps() map[types.BasicKind]reflect.Type {
	return map[types.BasicKind]reflect.Type{
		types.Bool: reflect.TypeFor[bool](), types.UntypedBool: reflect.TypeFor[bool](),
		types.Int: reflect.TypeFor[int](), types.UntypedInt: reflect.TypeFor[int](),
		types.Int8: reflect.TypeFor[int8](), types.Int16: reflect.TypeFor[int16](),
		types.Int32: reflect.TypeFor[int32](), types.UntypedRune: reflect.TypeFor[int32](),
		types.Int64: reflect.TypeFor[int64](), types.Uint: reflect.TypeFor[uint](),
		types.Uint8: reflect.TypeFor[uint8](), types.Uint16: reflect.TypeFor[uint16](),
		types.Uint32: reflect.TypeFor[uint32](), types.Uint64: reflect.TypeFor[uint64](),
		types.Uintptr: reflect.TypeFor[uintptr](), types.Float32: reflect.TypeFor[float32](),
		types.Float64: reflect.TypeFor[float64](), types.UntypedFloat: reflect.TypeFor[float64](),
		types.Complex64: reflect.TypeFor[complex64](), types.Complex128: reflect.TypeFor[complex128](),
		types.UntypedComplex: reflect.TypeFor[complex128](),
		types.String:         reflect.TypeFor[string](), types.UntypedString: reflect.TypeFor[string](),
		types.UnsafePointer: tyPointer, types.UntypedNil: tyPointer,
	}
}

// info returns the description of t.
func (in *Interp) info(t types.Type) *typeInfo {
	if ti, ok := in.types.byPtr.Load(t); ok {
		return ti.(*typeInfo)
	}
	tt := &in.types
	tt.mu.Lock()
	defer tt.mu.Unlock()
	return tt.infoLocked(t)
}

func (tt *typeTable) infoLocked(t types.Type) *typeInfo {
	if ti, ok := tt.byPtr.Load(t); ok {
		return ti.(*typeInfo)
	}
	ti, _ := tt.byID.At(t).(*typeInfo)
	if ti == nil {
		ti = tt.build(t)
		tt.byID.Set(t, ti)
	}
	tt.byPtr.Store(t, ti)
	return ti
}

func (tt *typeTable) build(t types.Type) *typeInfo {
	ti := &typeInfo{T: t, R: tt.rep(t), exact: tt.exact(t), in: tt.in}
	ti.size = ti.R.Size()
	ti.iface = types.IsInterface(t)
	ti.native = ti.iface && ti.R != tyAny
	ti.class, ti.words = classify(ti.R)
	ti.direct = isDirect(ti.R)
	if tuple, ok := t.(*types.Tuple); ok {
		for i := range tuple.Len() {
			ti.offs = append(ti.offs, ti.R.Field(i).Offset)
		}
		return ti
	}
	if ti.exact && !ti.iface {
		tt.rtypes.LoadOrStore(ti.R, t)
	}
	return ti
}

// classify chooses how values of r are copied.
func classify(r reflect.Type) (class, []wordMove) {
	switch r.Kind() {
	case reflect.Pointer, reflect.UnsafePointer, reflect.Map, reflect.Chan, reflect.Func:
		return clsPtr, nil
	case reflect.String:
		return clsString, nil
	case reflect.Slice:
		return clsSlice, nil
	case reflect.Interface:
		if r.NumMethod() == 0 {
			return clsAny, nil
		}
		return clsIface, nil
	case reflect.Struct, reflect.Array:
		return classifyComposite(r)
	}
	return scalarClass(r.Size()), nil
}

func scalarClass(size uintptr) class {
	switch size {
	case 0:
		return cls0
	case 1:
		return cls1
	case 2:
		return cls2
	case 4:
		return cls4
	case 8:
		return cls8
	}
	return clsBytes
}

func classifyComposite(r reflect.Type) (class, []wordMove) {
	if r.Size() == 0 {
		return cls0, nil
	}
	if !hasPointers(r) {
		if r.Size() <= 8 && r.Size()&(r.Size()-1) == 0 && r.Align() == int(r.Size()) {
			return scalarClass(r.Size()), nil
		}
		return clsBytes, nil
	}
	if words, ok := appendWords(nil, r, 0); ok && len(words) <= 12 {
		return clsWords, words
	}
	return clsTyped, nil
}

// appendWords lists the copies that make up one of r; false when there are too
// many or r holds an interface with methods, whose layout is the runtime's.
func appendWords(words []wordMove, r reflect.Type, off uintptr) ([]wordMove, bool) {
	ok := len(words) <= 12
	switch r.Kind() {
	case reflect.Struct:
		for i := 0; ok && i < r.NumField(); i++ {
			words, ok = appendWords(words, r.Field(i).Type, off+r.Field(i).Offset)
		}
		return words, ok
	case reflect.Array:
		for i := 0; ok && i < r.Len(); i++ {
			words, ok = appendWords(words, r.Elem(), off+uintptr(i)*r.Elem().Size())
		}
		return words, ok
	case reflect.Interface:
		if r.NumMethod() > 0 {
			return words, false
		}
	case reflect.Complex128:
		return append(words, wordMove{off, cls8}, wordMove{off + 8, cls8}), ok
	}
	c, _ := classify(r)
	return append(words, wordMove{off, c}), ok
}

func hasPointers(r reflect.Type) bool {
	switch r.Kind() {
	case reflect.Pointer, reflect.UnsafePointer, reflect.Map, reflect.Chan, reflect.Func,
		reflect.String, reflect.Slice, reflect.Interface:
		return true
	case reflect.Array:
		return r.Len() > 0 && hasPointers(r.Elem())
	case reflect.Struct:
		for i := range r.NumField() {
			if hasPointers(r.Field(i).Type) {
				return true
			}
		}
	}
	return false
}

// exact reports whether the representation of t identifies t.
func (tt *typeTable) exact(t types.Type) bool {
	t = types.Unalias(t) // the map takes an alias for what it stands for
	if e, ok := tt.exacts.At(t).(bool); ok {
		return e
	}
	tt.exacts.Set(t, false) // recursion goes through types of the program only
	e := tt.exactNew(t)
	tt.exacts.Set(t, e)
	return e
}

func (tt *typeTable) exactNew(t types.Type) bool {
	switch t := t.(type) {
	case *types.Basic:
		return true
	case *types.Named:
		return tt.nativeType(t) != nil
	case *types.Pointer:
		return tt.exact(t.Elem())
	case *types.Slice:
		return tt.exact(t.Elem())
	case *types.Array:
		return tt.exact(t.Elem())
	case *types.Chan:
		return tt.exact(t.Elem())
	case *types.Map:
		return tt.exact(t.Key()) && tt.exact(t.Elem())
	case *types.Signature:
		return t.Recv() == nil && t.TypeParams() == nil && tt.exactTuple(t.Params()) && tt.exactTuple(t.Results())
	case *types.Struct:
		for i := range t.NumFields() {
			f := t.Field(i)
			if !f.Exported() || f.Embedded() || !tt.exact(f.Type()) {
				return false
			}
		}
		return true
	case *types.Interface:
		return t.NumMethods() == 0 && t.IsMethodSet()
	}
	return false
}

func (tt *typeTable) exactTuple(t *types.Tuple) bool {
	for i := range t.Len() {
		if !tt.exact(t.At(i).Type()) {
			return false
		}
	}
	return true
}

// nativeType returns the compiled type behind a named type, nil when the
// program defines it or the symbol tables lack it.
func (tt *typeTable) nativeType(t *types.Named) reflect.Type {
	if r, ok := tt.foreign.Load(t); ok {
		return r.(reflect.Type)
	}
	obj := t.Obj()
	if obj.Pkg() == nil {
		if obj.Name() == "error" {
			return tyError
		}
		return nil // comparable
	}
	if t.TypeArgs().Len() > 0 || obj.Parent() != obj.Pkg().Scope() {
		return nil
	}
	if p := tt.in.nativePkg(obj.Pkg().Path()); p != nil {
		if r := p.Types[obj.Name()]; r != nil || obj.Exported() || tt.in.Prog.interpreted(obj.Pkg().Path()) {
			return r
		}
		return tt.reachable(p)[obj.Name()]
	}
	return aliasedTypes[obj.Pkg().Path()+"."+obj.Name()]
}

// aliasedTypes are types of packages without symbol table that torch gives a
// name; without them a torch.Float32 in an `any` would be of another type than
// native code asks for.
var aliasedTypes = map[string]reflect.Type{
	"tcdbg/ops.DType":  reflect.TypeFor[torch.DType](),
	"tcdbg/ops.Device": reflect.TypeFor[torch.Device](),
}

// reachable finds the unexported types of a package that its variables and the
// fields of its types have.
func (tt *typeTable) reachable(p *rt.Pkg) map[string]reflect.Type {
	if m, ok := tt.reach.Load(p.Path); ok {
		return m.(map[string]reflect.Type)
	}
	m := map[string]reflect.Type{}
	var visit func(r reflect.Type)
	visit = func(r reflect.Type) {
		switch r.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array:
			visit(r.Elem())
		}
		if r.PkgPath() == p.Path {
			if m[r.Name()] != nil {
				return
			}
			m[r.Name()] = r
		} else if r.Name() != "" {
			return
		}
		if r.Kind() == reflect.Struct {
			for i := range r.NumField() {
				visit(r.Field(i).Type)
			}
		}
	}
	for _, v := range p.Vars {
		visit(reflect.TypeOf(v).Elem())
	}
	for _, r := range p.Types {
		visit(r)
	}
	tt.reach.Store(p.Path, m)
	return m
}

// rep returns the representation of t. Within a type of the program that is
// being represented, a reference to itself gets a stand-in of equal layout.
func (tt *typeTable) rep(t types.Type) reflect.Type {
	switch t := t.(type) {
	case *types.Alias:
		return tt.rep(types.Unalias(t))
	case *types.Basic:
		return basicTypes[t.Kind()]
	case *types.Named:
		return tt.repNamed(t)
	case *types.Pointer:
		if tt.exact(t.Elem()) {
			return reflect.PointerTo(tt.rep(t.Elem()))
		}
		return tyPointer
	case *types.Slice:
		if e := tt.rep(t.Elem()); e != nil {
			return reflect.SliceOf(e)
		}
		return tyWordSlice
	case *types.Array:
		if e := tt.rep(t.Elem()); e != nil {
			return reflect.ArrayOf(int(t.Len()), e)
		}
		return nil
	case *types.Chan:
		return tt.repChan(t)
	case *types.Map:
		k, e := tt.rep(t.Key()), tt.rep(t.Elem())
		if k == nil || e == nil {
			return tyPointer
		}
		return reflect.MapOf(k, e)
	case *types.Signature:
		return tt.repFunc(t)
	case *types.Struct:
		return tt.repStruct(t)
	case *types.Interface:
		return tyAny
	case *types.Tuple:
		return tt.repTuple(t)
	case *types.TypeParam:
		return tyAny
	}
	if t.String() == "deferStack" || strings.HasPrefix(fmt.Sprintf("%T", t), "*ssa.") {
		return tyPointer // range iterators and defer stacks of SSA
	}
	panic(fmt.Sprintf("host: no representation for %T %s", t, t))
}

func (tt *typeTable) repNamed(t *types.Named) reflect.Type {
	if r := tt.nativeType(t); r != nil {
		return r
	}
	if ti, ok := tt.byID.At(t).(*typeInfo); ok {
		return ti.R
	}
	if tt.busy[t] {
		return nil
	}
	tt.busy[t] = true
	defer delete(tt.busy, t)
	return tt.rep(t.Underlying())
}

func (tt *typeTable) repChan(t *types.Chan) reflect.Type {
	e := tt.rep(t.Elem())
	if e == nil {
		return tyPointer
	}
	return reflect.ChanOf(chanDir(t), e)
}

func (tt *typeTable) repFunc(t *types.Signature) reflect.Type {
	list := func(tuple *types.Tuple) []reflect.Type {
		var out []reflect.Type
		for i := range tuple.Len() {
			r := tt.rep(tuple.At(i).Type())
			if r == nil {
				r = tyPointer
			}
			out = append(out, r)
		}
		return out
	}
	in, out := list(t.Params()), list(t.Results())
	variadic := t.Variadic()
	if variadic && in[len(in)-1].Kind() != reflect.Slice {
		variadic = false // append([]byte, string...)
	}
	if len(in)+len(out) > 50 {
		return tyPointer // no native code has such a function
	}
	return reflect.FuncOf(in, out, variadic)
}

// repStruct keeps exported names and tags, so that native code that reflects
// sees them; the other names are invented, so blank fields cannot collide.
func (tt *typeTable) repStruct(t *types.Struct) reflect.Type {
	fields := make([]reflect.StructField, t.NumFields())
	seen := map[string]bool{}
	for i := range fields {
		f := t.Field(i)
		r := tt.rep(f.Type())
		if r == nil {
			return nil
		}
		name := f.Name()
		sf := reflect.StructField{Name: name, Type: r, Tag: reflect.StructTag(t.Tag(i))}
		if !f.Exported() || seen[name] {
			sf.Name, sf.PkgPath = fmt.Sprintf("f%d_%s", i, asciiName(name)), "main"
		}
		seen[name] = true
		fields[i] = sf
	}
	return reflect.StructOf(fields)
}

func asciiName(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 128 {
			return r
		}
		return 'x'
	}, s)
}

func (tt *typeTable) repTuple(t *types.Tuple) reflect.Type {
	fields := make([]reflect.StructField, t.Len())
	for i := range fields {
		fields[i] = reflect.StructField{Name: fmt.Sprintf("R%d", i), Type: tt.infoLocked(tupleElem(t.At(i).Type())).R}
	}
	return reflect.StructOf(fields)
}

// tupleElem replaces the invalid types that SSA puts into tuples for results
// that nobody wants (the key of a range).
func tupleElem(t types.Type) types.Type {
	if b, ok := t.(*types.Basic); ok && b.Kind() == types.Invalid {
		return types.NewStruct(nil, nil)
	}
	return t
}
