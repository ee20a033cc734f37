package host

import (
	"errors"
	"go/types"
	"hash/maphash"
	"math/rand/v2"
	"reflect"
	"sync"
	"unsafe"

	"golang.org/x/tools/go/ssa"
)

// This file is the generic functions of compiled packages: export data has no
// code for them, and the types that the program gives them are its own.

// genericTable makes the intrinsic of one instance, by the name of its origin.
type genericTable map[string]func(in *Interp, fn *ssa.Function) Intrinsic

// newGenerics is a variable so that a test can leave one out.
var newGenerics = func() genericTable {
	return genericTable{
		"sync.OnceValue":               onceValues,
		"sync.OnceValues":              onceValues,
		"reflect.TypeFor":              typeFor,
		"reflect.TypeAssert":           typeAssertValue,
		"errors.AsType":                errorsAsType,
		"math/rand/v2.N":               randN,
		"hash/maphash.Comparable":      hashComparable,
		"hash/maphash.WriteComparable": hashWriteComparable,
	}
}

// onceValues is sync.OnceValue and sync.OnceValues.
func onceValues(in *Interp, fn *ssa.Function) Intrinsic {
	f := in.info(fn.Signature.Params().At(0).Type())
	return func(_ *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		call := reflect.New(f.R).Elem()
		call.Set(f.value(a[0]))
		var results []reflect.Value
		fill := func() { results = call.Call(nil) }
		once := sync.OnceFunc(fill)
		if in.baton != nil {
			once = in.baton.Locks.OnceFunc(fill)
		}
		out := reflect.MakeFunc(f.R, func([]reflect.Value) []reflect.Value {
			once()
			return results
		})
		if r != nil {
			f.value(r).Set(out)
		}
	}
}

func typeFor(in *Interp, fn *ssa.Function) Intrinsic {
	ti := in.info(fn.TypeArgs()[0])
	return func(_ *Thread, _ *Frame, _ []unsafe.Pointer, r unsafe.Pointer) {
		put(r, ti.interfaceType())
	}
}

// interfaceType is goType, also of interfaces of compiled packages.
func (ti *typeInfo) interfaceType() reflect.Type {
	if ti.native {
		return ti.R
	}
	return ti.goType()
}

// asserted stores v, asserted to be of type to, and whether it is, as the
// results of fn.
func asserted(in *Interp, fn *ssa.Function, v any, to *typeInfo, r unsafe.Pointer) {
	ok := assertable(in, v, to)
	if r == nil {
		return
	}
	res := in.resultsOf(fn.Signature.Results())
	dst := unsafe.Add(r, res.offs[0])
	switch {
	case !ok:
		to.zero(dst)
	case to.iface:
		in.writeIface(to, dst, v)
	case to.size > 0:
		to.store(dst, content(&v, to))
	}
	*(*bool)(unsafe.Add(r, res.offs[1])) = ok
}

func typeAssertValue(in *Interp, fn *ssa.Function) Intrinsic {
	to := in.info(fn.TypeArgs()[0])
	return func(_ *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		asserted(in, fn, arg[reflect.Value](a, 0).Interface(), to, r)
	}
}

// errorsAsType is errors.AsType: errors.As with the target as a result.
func errorsAsType(in *Interp, fn *ssa.Function) Intrinsic {
	to := in.info(fn.TypeArgs()[0])
	return func(_ *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		dst := to.alloc()
		ok := in.asType(arg[error](a, 0), to, dst)
		if r == nil {
			return
		}
		res := in.resultsOf(fn.Signature.Results())
		to.store(unsafe.Add(r, res.offs[0]), dst)
		*(*bool)(unsafe.Add(r, res.offs[1])) = ok
	}
}

// asType stores at dst the first error in err's tree that is of type to.
func (in *Interp) asType(err error, to *typeInfo, dst unsafe.Pointer) bool {
	for err != nil {
		if assertable(in, err, to) {
			if to.iface {
				in.writeIface(to, dst, err)
			} else {
				v := any(err)
				to.store(dst, content(&v, to))
			}
			return true
		}
		if x, ok := err.(interface{ As(any) bool }); ok {
			if x.As(reflect.NewAt(to.interfaceType(), dst).Interface()) {
				return true
			}
		}
		switch x := err.(type) {
		case interface{ Unwrap() error }:
			err = x.Unwrap()
		case interface{ Unwrap() []error }:
			for _, e := range x.Unwrap() {
				if in.asType(e, to, dst) {
					return true
				}
			}
			return false
		default:
			return false
		}
	}
	return false
}

// errorsAs is errors.As for targets that are interfaces of the program: compiled
// code does not know their methods.
func errorsAs(th *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
	err, target := arg[error](a, 0), arg[any](a, 1)
	in := th.In
	if ti := in.dynamicInfo(target); ti != nil && !ti.exact {
		if p, ok := ti.T.Underlying().(*types.Pointer); ok && types.IsInterface(p.Elem()) {
			put(r, in.asType(err, in.info(p.Elem()), *(*unsafe.Pointer)(content(&target, ti))))
			return
		}
	}
	put(r, errors.As(err, target))
}

func randN(in *Interp, fn *ssa.Function) Intrinsic {
	ti := in.info(fn.TypeArgs()[0])
	return func(th *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		v := ti.value(a[0])
		out := reflect.New(ti.R).Elem()
		j := in.Config.Journal
		if th.limited {
			j = nil
		}
		switch {
		case v.CanInt() && j != nil:
			out.SetInt(j.RandV2().Int64N(v.Int()))
		case v.CanInt():
			out.SetInt(rand.N(v.Int()))
		case j != nil:
			out.SetUint(j.RandV2().Uint64N(v.Uint()))
		default:
			out.SetUint(rand.N(v.Uint()))
		}
		if r != nil {
			ti.value(r).Set(out)
		}
	}
}

func hashComparable(in *Interp, fn *ssa.Function) Intrinsic {
	ti := in.info(fn.TypeArgs()[0])
	return func(_ *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		put(r, maphash.Comparable(arg[maphash.Seed](a, 0), ti.content(a[1])))
	}
}

func hashWriteComparable(in *Interp, fn *ssa.Function) Intrinsic {
	ti := in.info(fn.TypeArgs()[0])
	return func(_ *Thread, _ *Frame, a []unsafe.Pointer, _ unsafe.Pointer) {
		maphash.WriteComparable(arg[*maphash.Hash](a, 0), ti.content(a[1]))
	}
}

// content is the value of type ti at p as any.
func (ti *typeInfo) content(p unsafe.Pointer) any {
	if ti.iface {
		return ti.readIface(p)
	}
	return ti.box(p)
}
