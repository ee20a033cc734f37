package host

import (
	"go/types"
	"reflect"
	"runtime"
	"unsafe"

	"golang.org/x/tools/go/ssa"
)

// This file is interface values. Inside an interface a value has its Go type
// (see gotype.go), so compiled code can look at it.

// readIface reads the interface value of type ti at p.
func (ti *typeInfo) readIface(p unsafe.Pointer) any {
	if !ti.native {
		return *(*any)(p)
	}
	if ti.R == tyError {
		return *(*error)(p)
	}
	v := ti.value(p)
	if v.IsNil() {
		return nil
	}
	return v.Interface()
}

// box makes the interface content of the value of type ti at p.
func (ti *typeInfo) box(p unsafe.Pointer) any {
	if ti.exact {
		switch ti.R {
		case basicTypes[types.Int]:
			return *(*int)(p)
		case tyString:
			return *(*string)(p)
		case basicTypes[types.Float64]:
			return *(*float64)(p)
		}
		if !ti.direct {
			return ti.value(p).Interface()
		}
	}
	word := ti.word()
	var data unsafe.Pointer
	if ti.direct {
		data = *(*unsafe.Pointer)(p)
	} else {
		data = ti.alloc()
		ti.store(data, p)
	}
	return makeEface(word, data)
}

// writeIface stores content v into the interface of type ti at dst; v fits.
func (in *Interp) writeIface(ti *typeInfo, dst unsafe.Pointer, v any) {
	switch {
	case !ti.native:
		*(*any)(dst) = v
	case v == nil:
		ti.zero(dst)
	case ti.R == tyError:
		*(*error)(dst) = v.(error)
	default:
		ti.value(dst).Set(reflect.ValueOf(v))
	}
}

// dynamicInfo returns the type of interface content v, nil for a nil interface.
func (in *Interp) dynamicInfo(v any) *typeInfo {
	if v == nil {
		return nil
	}
	return in.info(in.typeOf(reflect.TypeOf(v)))
}

// content returns the address of the value inside v; nobody may write to it.
func content(v *any, ti *typeInfo) unsafe.Pointer { return dataOf(v, ti.direct) }

// Dynamic returns the dynamic type of the interface value of static type t at
// p and the address of (a copy of) its value; nil, nil for a nil interface.
func (in *Interp) Dynamic(t types.Type, p unsafe.Pointer) (types.Type, unsafe.Pointer) {
	v := in.info(t).readIface(p)
	ti := in.dynamicInfo(v)
	if ti == nil {
		return nil, nil
	}
	q := ti.alloc()
	ti.store(q, content(&v, ti))
	return ti.T, q
}

// TypeWord is the word by which the interface value of static type t at p, not nil, knows the
// type of its content: values with one word are of one type. direct says that the second word
// is the content itself. It is 0 where the first word does not tell the type, as where a type of
// the program travels in one of ours.
func TypeWord(in *Interp, t types.Type, p unsafe.Pointer) (word uintptr, direct bool) {
	if in.info(t).native {
		return 0, false
	}
	ti := in.dynamicInfo(*(*any)(p))
	if ti == nil {
		return 0, false
	}
	return uintptr((*eface)(p).typ), ti.direct
}

// MakeInterface stores at dst (of interface type t) the value of dynamic type
// d at src.
func (in *Interp) MakeInterface(dst unsafe.Pointer, t, d types.Type, src unsafe.Pointer) {
	in.writeIface(in.info(t), dst, in.info(d).box(src))
}

// ChangeInterface stores at dst, of interface type to, the interface value of
// type from at src.
func (in *Interp) ChangeInterface(to types.Type, dst unsafe.Pointer, from types.Type, src unsafe.Pointer) {
	in.writeIface(in.info(to), dst, in.info(from).readIface(src))
}

func (b *builder) iface(in ssa.Instruction) op {
	switch in := in.(type) {
	case *ssa.MakeInterface:
		return b.makeInterface(in)
	case *ssa.ChangeInterface:
		return b.changeInterface(in)
	case *ssa.TypeAssert:
		return b.typeAssert(in)
	}
	panic("unreachable")
}

func (b *builder) makeInterface(in *ssa.MakeInterface) op {
	d, x, from, to := b.dst(in), b.ref(in.X), b.in.info(in.X.Type()), b.in.info(in.Type())
	if !to.native {
		if x.isConst() && from.exact { // constants are boxed once
			v := from.box(x.abs)
			return func(f *Frame) *Frame { *at[any](f, d) = v; return f }
		}
		return func(f *Frame) *Frame { *at[any](f, d) = from.box(x.at(f)); return f }
	}
	host := b.in
	return func(f *Frame) *Frame {
		host.writeIface(to, unsafe.Add(f.fp, d), from.box(x.at(f)))
		return f
	}
}

func (b *builder) changeInterface(in *ssa.ChangeInterface) op {
	d, x, from, to := b.dst(in), b.ref(in.X), b.in.info(in.X.Type()), b.in.info(in.Type())
	host := b.in
	if from.R == to.R {
		return func(f *Frame) *Frame { to.store(unsafe.Add(f.fp, d), x.at(f)); return f }
	}
	return func(f *Frame) *Frame {
		host.writeIface(to, unsafe.Add(f.fp, d), from.readIface(x.at(f)))
		return f
	}
}

func (b *builder) typeAssert(in *ssa.TypeAssert) op {
	d, x, from, to := b.dst(in), b.ref(in.X), b.in.info(in.X.Type()), b.in.info(in.AssertedType)
	host := b.in
	okOff := uintptr(0)
	if in.CommaOk {
		okOff = d + b.in.info(in.Type()).offs[1]
	}
	zeroSized := in.CommaOk && to.size == 0
	return func(f *Frame) *Frame {
		v := from.readIface(x.at(f))
		ok := assertable(host, v, to)
		switch {
		case ok && to.iface:
			host.writeIface(to, unsafe.Add(f.fp, d), v)
		case ok && !zeroSized:
			if to.size > 0 {
				to.store(unsafe.Add(f.fp, d), content(&v, to))
			}
		case !in.CommaOk:
			panic(assertError(host, v, from, to))
		case !zeroSized:
			to.zero(unsafe.Add(f.fp, d))
		}
		if in.CommaOk {
			*at[bool](f, okOff) = ok
		}
		return f
	}
}

// assertable reports whether content v may be asserted to be of type to.
func assertable(in *Interp, v any, to *typeInfo) bool {
	if v == nil {
		return false
	}
	if !to.iface {
		return (*eface)(unsafe.Pointer(&v)).typ == to.word()
	}
	r := reflect.TypeOf(v)
	if t, ok := in.types.rtypes.Load(r); ok {
		if ti := in.info(t.(types.Type)); !ti.exact {
			return implements(in, ti, to)
		}
	}
	return nativeImplements(in, r, to)
}

func implements(in *Interp, ti, to *typeInfo) bool {
	if ok, found := ti.impl.Load(to); found {
		return ok.(bool)
	}
	ok := types.Implements(ti.T, to.T.Underlying().(*types.Interface))
	ti.impl.Store(to, ok)
	return ok
}

type implKey struct {
	r  reflect.Type
	to *typeInfo
}

// nativeImplements is implements for compiled types, some of which no symbol
// table names.
func nativeImplements(in *Interp, r reflect.Type, to *typeInfo) bool {
	if to.native {
		return r.Implements(to.R)
	}
	it := to.T.Underlying().(*types.Interface)
	if it.NumMethods() == 0 {
		return true
	}
	key := implKey{r, to}
	if ok, found := in.nativeImpl.Load(key); found {
		return ok.(bool)
	}
	ok := hasMethods(in, r, it)
	in.nativeImpl.Store(key, ok)
	return ok
}

func hasMethods(in *Interp, r reflect.Type, it *types.Interface) bool {
	for i := range it.NumMethods() {
		m := it.Method(i)
		rm, ok := r.MethodByName(m.Name())
		if !ok || !m.Exported() {
			return false
		}
		want := in.info(m.Signature()).R
		if rm.Type.NumIn()-1 != want.NumIn() || rm.Type.NumOut() != want.NumOut() {
			return false
		}
		for k := range want.NumIn() {
			if rm.Type.In(k+1) != want.In(k) {
				return false
			}
		}
		for k := range want.NumOut() {
			if rm.Type.Out(k) != want.Out(k) {
				return false
			}
		}
	}
	return true
}

// assertion is the memory of a runtime.TypeAssertionError; TestLayout compares them.
type assertion struct {
	static, concrete, asserted unsafe.Pointer
	missing                    string
}

// assertError is Go's own error, so that the program can look for its type.
func assertError(in *Interp, v any, from, to *typeInfo) *runtime.TypeAssertionError {
	err := new(runtime.TypeAssertionError)
	e := (*assertion)(unsafe.Pointer(err))
	e.asserted = typeWord(to.goType())
	if v != nil {
		e.concrete = typeWord(reflect.TypeOf(v))
		if to.iface {
			e.missing = missingMethod(in, v, to.T.Underlying().(*types.Interface))
		}
	}
	if from.iface && (v != nil || !to.iface) {
		_, named := types.Unalias(from.T).(*types.Named)
		if named || from.T.Underlying().(*types.Interface).NumMethods() == 0 { // Go says "interface" of others
			e.static = typeWord(from.goType())
		}
	}
	return err
}

// missingMethod is the first method, by name, that v lacks.
func missingMethod(in *Interp, v any, it *types.Interface) string {
	ti := in.dynamicInfo(v)
	for i := range it.NumMethods() {
		m := it.Method(i)
		one := types.NewInterfaceType([]*types.Func{m}, nil)
		one.Complete()
		if !types.Implements(ti.T, one) {
			return m.Name()
		}
	}
	return ""
}
