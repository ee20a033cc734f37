package host

import (
	"go/types"
	"reflect"
	"strings"
	"unsafe"

	"tcdbg/tracer/host/rt"

	"golang.org/x/tools/go/ssa"
)

// This file is interface values. Inside an interface a value of an exact type
// is itself, any other an rt.Boxed; native interfaces hold boxed values in the
// adapter of the interface.

// hostBoxed is what adapters and rt.Boxed have in common.
type hostBoxed interface{ HostBoxed() rt.Boxed }

// unwrap removes the adapter around a boxed value.
func unwrap(v any) any {
	if h, ok := v.(hostBoxed); ok {
		if _, plain := v.(rt.Boxed); !plain {
			return h.HostBoxed()
		}
	}
	return v
}

// readIface reads the interface value of type ti at p, without adapter.
func (ti *typeInfo) readIface(p unsafe.Pointer) any {
	if !ti.native {
		return *(*any)(p)
	}
	if ti.R == tyError {
		if e := *(*error)(p); e != nil {
			return unwrap(e)
		}
		return nil
	}
	v := ti.value(p)
	if v.IsNil() {
		return nil
	}
	return unwrap(v.Interface())
}

// box makes the interface content of the value of type ti at p.
func (ti *typeInfo) box(p unsafe.Pointer) any {
	var v any
	if ti.direct {
		e := (*eface)(unsafe.Pointer(&v))
		e.typ, e.data = typeWord(ti.R), *(*unsafe.Pointer)(p)
	} else {
		switch ti.R {
		case basicTypes[types.Int]:
			v = *(*int)(p)
		case tyString:
			v = *(*string)(p)
		case basicTypes[types.Float64]:
			v = *(*float64)(p)
		default:
			v = ti.value(p).Interface()
		}
	}
	if ti.exact {
		return v
	}
	return rt.Boxed{T: ti.desc, V: v}
}

// writeIface stores content v into the interface of type ti at dst; v fits.
func (in *Interp) writeIface(ti *typeInfo, dst unsafe.Pointer, v any) {
	switch {
	case !ti.native:
		*(*any)(dst) = v
	case v == nil:
		ti.zero(dst)
	default:
		if b, ok := v.(rt.Boxed); ok {
			v = in.adapt(ti, b)
		}
		if ti.R == tyError {
			*(*error)(dst) = v.(error)
			return
		}
		ti.value(dst).Set(reflect.ValueOf(v))
	}
}

// adapt wraps a boxed value for a native interface.
func (in *Interp) adapt(ti *typeInfo, b rt.Boxed) any {
	if ti.R == tyError {
		many := false
		if m := in.methodOf(in.info(b.T.Type), "Unwrap", nil); m != nil {
			_, many = m.sig.Results().At(0).Type().Underlying().(*types.Slice)
		}
		return rt.WrapError(b, many)
	}
	if w := in.adapter(ti.R); w != nil {
		return w(b)
	}
	panic(unsupported("host: values of the program cannot implement the native interface " + ti.R.String()))
}

// dynamicInfo returns the type of interface content v, nil for a nil interface.
func (in *Interp) dynamicInfo(v any) *typeInfo {
	if v == nil {
		return nil
	}
	if b, ok := v.(rt.Boxed); ok {
		return in.info(b.T.Type)
	}
	return in.info(in.typeOf(reflect.TypeOf(v)))
}

// content returns the address of the value inside v; nobody may write to it.
func content(v *any, ti *typeInfo) unsafe.Pointer {
	if b, ok := (*v).(rt.Boxed); ok {
		inner := new(any)
		*inner = b.V
		return dataOf(inner, ti.direct)
	}
	return dataOf(v, ti.direct)
}

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
		ok := host.assertable(v, to)
		switch {
		case ok && to.iface:
			host.writeIface(to, unsafe.Add(f.fp, d), v)
		case ok && !zeroSized:
			if to.size > 0 {
				to.store(unsafe.Add(f.fp, d), content(&v, to))
			}
		case !in.CommaOk:
			panic(host.assertError(v, from, to))
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
func (in *Interp) assertable(v any, to *typeInfo) bool {
	if v == nil {
		return false
	}
	b, boxed := v.(rt.Boxed)
	if !to.iface {
		if boxed {
			return to.desc == b.T
		}
		return to.exact && reflect.TypeOf(v) == to.R
	}
	if boxed {
		return in.implements(in.info(b.T.Type), to)
	}
	return in.nativeImplements(reflect.TypeOf(v), to)
}

func (in *Interp) implements(ti, to *typeInfo) bool {
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
func (in *Interp) nativeImplements(r reflect.Type, to *typeInfo) bool {
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
	ok := in.hasMethods(r, it)
	in.nativeImpl.Store(key, ok)
	return ok
}

func (in *Interp) hasMethods(r reflect.Type, it *types.Interface) bool {
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

func (in *Interp) assertError(v any, from, to *typeInfo) assertionError {
	static, want := typeString(from.T), typeString(to.T)
	if from.T.String() == "any" {
		static = "interface {}"
	}
	if !from.iface || strings.HasPrefix(static, "interface") && from.T.Underlying().(*types.Interface).NumMethods() > 0 {
		static = "interface"
	}
	if v == nil {
		if to.iface {
			return assertionError{"interface conversion: interface is nil, not " + want}
		}
		return assertionError{"interface conversion: " + static + " is nil, not " + want}
	}
	got := in.dynamicString(v)
	if !to.iface {
		if got == want {
			return assertionError{"interface conversion: " + static + " is " + got + ", not " + want + " (types from different scopes)"}
		}
		return assertionError{"interface conversion: " + static + " is " + got + ", not " + want}
	}
	missing := in.missingMethod(v, to.T.Underlying().(*types.Interface))
	return assertionError{"interface conversion: " + got + " is not " + want + ": missing method " + missing}
}

// missingMethod is the first method, by name, that v lacks.
func (in *Interp) missingMethod(v any, it *types.Interface) string {
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

// dynamicString is the name of the dynamic type of v.
func (in *Interp) dynamicString(v any) string {
	if b, ok := v.(rt.Boxed); ok {
		return typeString(b.T.Type)
	}
	return reflect.TypeOf(v).String()
}
