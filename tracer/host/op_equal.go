package host

import (
	"go/token"
	"go/types"
	"reflect"
	"unsafe"

	"golang.org/x/tools/go/ssa"
)

// This file is == and !=.

func (b *builder) equality(in *ssa.BinOp, d uintptr, x, y ref) op {
	want := in.Op == token.EQL
	switch ti := b.in.info(in.X.Type()); {
	case isBasic(in.X.Type(), types.IsInteger|types.IsBoolean) || ti.class == clsPtr:
		switch ti.size {
		case 1:
			return eqOp[uint8](want, d, x, y)
		case 2:
			return eqOp[uint16](want, d, x, y)
		case 4:
			return eqOp[uint32](want, d, x, y)
		case 8:
			return eqOp[uint64](want, d, x, y)
		}
	case isBasic(in.X.Type(), types.IsString):
		return eqOp[string](want, d, x, y)
	case ti.R.Kind() == reflect.Float64:
		return eqOp[float64](want, d, x, y)
	case ti.R.Kind() == reflect.Float32:
		return eqOp[float32](want, d, x, y)
	case ti.class == clsSlice:
		// Only comparisons with nil get here; either side may be the nil.
		return func(f *Frame) *Frame {
			nils := (*(*sliceHeader)(x.at(f))).data == nil && (*(*sliceHeader)(y.at(f))).data == nil
			*at[bool](f, d) = nils == want
			return f
		}
	}
	eq := b.in.equal(in.X.Type())
	return func(f *Frame) *Frame {
		*at[bool](f, d) = eq(x.at(f), y.at(f)) == want
		return f
	}
}

func isBasic(t types.Type, info types.BasicInfo) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&info != 0
}

func eqOp[T comparable](want bool, d uintptr, x, y ref) op {
	if want {
		return func(f *Frame) *Frame { *at[bool](f, d) = *(*T)(x.at(f)) == *(*T)(y.at(f)); return f }
	}
	return func(f *Frame) *Frame { *at[bool](f, d) = *(*T)(x.at(f)) != *(*T)(y.at(f)); return f }
}

// Equal is Go's == on two values of type t; it panics as Go does on
// uncomparable dynamic types.
func (in *Interp) Equal(t types.Type, a, b unsafe.Pointer) bool { return in.equal(t)(a, b) }

type equaler func(a, b unsafe.Pointer) bool

// equal returns the comparison of a type; blank fields do not count.
func (in *Interp) equal(t types.Type) equaler {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return equalBasic(in, t)
	case *types.Interface:
		ti := in.info(t)
		if !ti.native {
			return func(a, b unsafe.Pointer) bool { return *(*any)(a) == *(*any)(b) }
		}
		return func(a, b unsafe.Pointer) bool { return ti.value(a).Interface() == ti.value(b).Interface() }
	case *types.Struct:
		return equalStruct(in, t, u)
	case *types.Array:
		eq, size := in.equal(u.Elem()), in.info(u.Elem()).size
		return func(a, b unsafe.Pointer) bool {
			for i := range uintptr(u.Len()) {
				if !eq(unsafe.Add(a, i*size), unsafe.Add(b, i*size)) {
					return false
				}
			}
			return true
		}
	case *types.Slice:
		return func(a, b unsafe.Pointer) bool { return *(*unsafe.Pointer)(a) == *(*unsafe.Pointer)(b) }
	}
	return func(a, b unsafe.Pointer) bool { return *(*unsafe.Pointer)(a) == *(*unsafe.Pointer)(b) }
}

func equalBasic(in *Interp, t types.Type) equaler {
	switch ti := in.info(t); ti.R.Kind() {
	case reflect.String:
		return func(a, b unsafe.Pointer) bool { return *(*string)(a) == *(*string)(b) }
	case reflect.Float64:
		return func(a, b unsafe.Pointer) bool { return *(*float64)(a) == *(*float64)(b) }
	case reflect.Float32:
		return func(a, b unsafe.Pointer) bool { return *(*float32)(a) == *(*float32)(b) }
	case reflect.Complex128:
		return func(a, b unsafe.Pointer) bool { return *(*complex128)(a) == *(*complex128)(b) }
	case reflect.Complex64:
		return func(a, b unsafe.Pointer) bool { return *(*complex64)(a) == *(*complex64)(b) }
	default:
		switch ti.size {
		case 1:
			return func(a, b unsafe.Pointer) bool { return *(*uint8)(a) == *(*uint8)(b) }
		case 2:
			return func(a, b unsafe.Pointer) bool { return *(*uint16)(a) == *(*uint16)(b) }
		case 4:
			return func(a, b unsafe.Pointer) bool { return *(*uint32)(a) == *(*uint32)(b) }
		}
		return func(a, b unsafe.Pointer) bool { return *(*uint64)(a) == *(*uint64)(b) }
	}
}

func equalStruct(in *Interp, t types.Type, u *types.Struct) equaler {
	type field struct {
		off uintptr
		eq  equaler
	}
	var fields []field
	r := in.info(t).R
	for i := range u.NumFields() {
		if u.Field(i).Name() != "_" {
			fields = append(fields, field{r.Field(i).Offset, in.equal(u.Field(i).Type())})
		}
	}
	return func(a, b unsafe.Pointer) bool {
		for _, f := range fields {
			if !f.eq(unsafe.Add(a, f.off), unsafe.Add(b, f.off)) {
				return false
			}
		}
		return true
	}
}
