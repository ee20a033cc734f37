package host

import (
	"go/types"
	"iter"
	"reflect"
	"slices"
	"strings"
	"unsafe"

	"tcdbg/tracer/host/rt"
)

// This file is what package reflect cannot know. A Go type of the program that is
// an interface has the layout of an empty one, and no methods (see
// Interp.interfaceOf); and the code of all its functions is one entry point.

func addReflect(m map[string]Intrinsic) {
	m["(reflect.Value).Pointer"] = func(th *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		v := arg[reflect.Value](a, 0)
		if pc, ok := funcPC(th.In, v); ok {
			put(r, pc)
			return
		}
		put(r, v.Pointer())
	}
	m["(reflect.Value).NumMethod"] = func(th *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		v := arg[reflect.Value](a, 0)
		if it := interfaceOfValue(th.In, v); it != nil {
			put(r, it.NumMethods())
			return
		}
		put(r, v.NumMethod())
	}
	m["(reflect.Value).Method"] = func(th *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		v, i := arg[reflect.Value](a, 0), arg[int](a, 1)
		if it := interfaceOfValue(th.In, v); it != nil {
			put(r, v.Elem().MethodByName(interfaceMethods(it)[i].Name()))
			return
		}
		put(r, v.Method(i))
	}
	m["(reflect.Value).Methods"] = func(th *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		v := arg[reflect.Value](a, 0)
		it := interfaceOfValue(th.In, v)
		if it == nil {
			put(r, v.Methods())
			return
		}
		ms := interfaceMethods(it)
		put(r, iter.Seq2[reflect.Method, reflect.Value](func(yield func(reflect.Method, reflect.Value) bool) {
			for i, m := range ms {
				if !yield(interfaceMethod(th.In, ms, i), v.Elem().MethodByName(m.Name())) {
					return
				}
			}
		}))
	}
	m["(reflect.Value).MethodByName"] = func(th *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		v, name := arg[reflect.Value](a, 0), arg[string](a, 1)
		if it := interfaceOfValue(th.In, v); it != nil {
			if slices.ContainsFunc(interfaceMethods(it), func(m *types.Func) bool { return m.Exported() && m.Name() == name }) {
				put(r, v.Elem().MethodByName(name))
			} else {
				put(r, reflect.Value{})
			}
			return
		}
		put(r, v.MethodByName(name))
	}
	m["(reflect.Value).Set"] = func(th *Thread, _ *Frame, a []unsafe.Pointer, _ unsafe.Pointer) {
		v, x := arg[reflect.Value](a, 0), arg[reflect.Value](a, 1)
		if v.IsValid() {
			checkAssignable(th.In, "reflect.Set", v.Type(), x)
		}
		v.Set(x)
	}
	addReflectAssign(m)
	m["(reflect.Value).Convert"] = func(th *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		v, t := arg[reflect.Value](a, 0), arg[reflect.Type](a, 1)
		if it := interfaceOf(th.In, t); it != nil && v.IsValid() && !reflectImplements(th.In, v.Type(), it) {
			panic("reflect.Value.Convert: value of type " + v.Type().String() + " cannot be converted to type " + t.String())
		}
		put(r, v.Convert(t))
	}
	m["(reflect.Value).CanConvert"] = func(th *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		v, t := arg[reflect.Value](a, 0), arg[reflect.Type](a, 1)
		it := interfaceOf(th.In, t)
		put(r, v.CanConvert(t) && (it == nil || reflectImplements(th.In, v.Type(), it)))
	}
}

// funcPC is the code address of a function of the program.
func funcPC(in *Interp, v reflect.Value) (uintptr, bool) {
	if v.Kind() != reflect.Func || v.IsNil() || !v.CanInterface() {
		return 0, false
	}
	x := v.Interface()
	cl := closureAt((*eface)(unsafe.Pointer(&x)).data)
	if cl == nil {
		return 0, false
	}
	if len(cl.Fn.Blocks) == 0 { // compiled code that an intrinsic replaces
		if f := in.bind(cl.Fn).native; f.IsValid() {
			return f.Pointer(), true
		}
		return 0, false
	}
	return pcOf(in, stackEntry{cl.Fn, cl.Fn.Blocks[0].Instrs[0]}), true
}

// interfaceOf returns the interface that the Go type r of the program is; nil for
// other types, and for an interface without methods.
func interfaceOf(in *Interp, r reflect.Type) *types.Interface {
	if r == nil || r.Kind() != reflect.Interface || r.NumMethod() > 0 || r == tyAny {
		return nil
	}
	t, ok := in.types.rtypes.Load(r)
	if !ok {
		return nil
	}
	if it, ok := t.(types.Type).Underlying().(*types.Interface); ok && it.NumMethods() > 0 {
		return it
	}
	return nil
}

func interfaceOfValue(in *Interp, v reflect.Value) *types.Interface {
	if v.Kind() != reflect.Interface {
		return nil
	}
	return interfaceOf(in, v.Type())
}

func reflectImplements(in *Interp, r reflect.Type, it *types.Interface) bool {
	return types.Implements(in.typeOf(r), it)
}

// interfaceMethods lists the methods as package reflect orders them.
func interfaceMethods(it *types.Interface) []*types.Func {
	ms := slices.Collect(it.Methods())
	slices.SortFunc(ms, func(a, b *types.Func) int {
		if a.Exported() != b.Exported() {
			if a.Exported() {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Name(), b.Name())
	})
	return ms
}

var tyReflectType = reflect.TypeOf(tyAny) // the type behind all values of reflect.Type

// typeMethod replaces a method of reflect.Type where an interface of the program
// is the receiver or the argument; nil for methods that need none.
func typeMethod(in *Interp, name string, native rt.Thunk) rt.Thunk {
	own := func(a []unsafe.Pointer) (reflect.Type, *types.Interface) {
		t := typeOfWord(*(*unsafe.Pointer)(a[0]))
		return t, interfaceOf(in, t)
	}
	switch name {
	case "NumMethod":
		return func(a []unsafe.Pointer, r unsafe.Pointer) {
			if _, it := own(a); it != nil {
				put(r, it.NumMethods())
				return
			}
			native(a, r)
		}
	case "Method":
		return func(a []unsafe.Pointer, r unsafe.Pointer) {
			if _, it := own(a); it != nil {
				put(r, interfaceMethod(in, interfaceMethods(it), arg[int](a, 1)))
				return
			}
			native(a, r)
		}
	case "MethodByName":
		return func(a []unsafe.Pointer, r unsafe.Pointer) {
			_, it := own(a)
			if it == nil {
				native(a, r)
				return
			}
			ms, want := interfaceMethods(it), arg[string](a, 1)
			var out struct {
				m  reflect.Method
				ok bool
			}
			if i := slices.IndexFunc(ms, func(m *types.Func) bool { return m.Name() == want }); i >= 0 {
				out.m, out.ok = interfaceMethod(in, ms, i), true
			}
			put(r, out)
		}
	case "Methods":
		return func(a []unsafe.Pointer, r unsafe.Pointer) {
			_, it := own(a)
			if it == nil {
				native(a, r)
				return
			}
			ms := interfaceMethods(it)
			put(r, func(yield func(reflect.Method) bool) {
				for i := range ms {
					if !yield(interfaceMethod(in, ms, i)) {
						return
					}
				}
			})
		}
	case "Implements", "AssignableTo", "ConvertibleTo":
		return func(a []unsafe.Pointer, r unsafe.Pointer) {
			t, it := own(a)
			u := arg[reflect.Type](a, 1)
			switch {
			case u == nil || it == nil && interfaceOf(in, u) == nil:
				native(a, r)
			case u.Kind() != reflect.Interface && name == "Implements":
				native(a, r) // reflect says what is wrong
			case u.Kind() != reflect.Interface:
				put(r, false)
			default:
				to := in.typeOf(u).Underlying().(*types.Interface)
				put(r, types.Implements(in.typeOf(t), to))
			}
		}
	}
	return nil
}

func interfaceMethod(in *Interp, ms []*types.Func, i int) reflect.Method {
	if i < 0 || i >= len(ms) {
		return reflect.Method{}
	}
	m := ms[i]
	out := reflect.Method{Name: m.Name(), Index: i, Type: in.info(m.Signature()).goType()}
	if !m.Exported() {
		out.PkgPath = m.Pkg().Path()
	}
	return out
}
