package host

import (
	"go/types"
	"reflect"
	"unsafe"

	"golang.org/x/tools/go/ssa"
)

// This file is conversions between basic types, strings and slices.

func (b *builder) convert(dst, x ssa.Value) op {
	d, r := b.dst(dst), b.ref(x)
	to, from := b.in.info(dst.Type()), b.in.info(x.Type())
	if o := convertNumeric(to.R.Kind(), from.R.Kind(), d, r); o != nil {
		return o
	}
	switch {
	case to.R.Kind() == reflect.String && from.R.Kind() == reflect.Slice:
		return sliceToString(from.R.Elem().Kind(), d, r)
	case to.R.Kind() == reflect.Slice && from.R.Kind() == reflect.String:
		return stringToSlice(to.R.Elem().Kind(), d, r)
	case to.R.Kind() == reflect.String && isInteger(from.R.Kind()):
		return intToString(from, d, r)
	case from.R.Kind() == reflect.Slice && to.R.Kind() == reflect.Array:
		n := int(dst.Type().Underlying().(*types.Array).Len())
		return func(f *Frame) *Frame {
			h := (*sliceHeader)(r.at(f))
			if h.len < n {
				panic(runtimeErrorf("cannot convert slice with length %d to array or pointer to array with length %d", h.len, n))
			}
			if to.size > 0 {
				to.store(unsafe.Add(f.fp, d), h.data)
			}
			return f
		}
	case from.R.Kind() == reflect.Slice && to.class == clsPtr:
		n := int(dst.Type().Underlying().(*types.Pointer).Elem().Underlying().(*types.Array).Len())
		return func(f *Frame) *Frame {
			h := (*sliceHeader)(r.at(f))
			if h.len < n {
				panic(runtimeErrorf("cannot convert slice with length %d to array or pointer to array with length %d", h.len, n))
			}
			*at[unsafe.Pointer](f, d) = h.data
			return f
		}
	case to.class == from.class && to.size == from.size:
		// Pointers, unsafe.Pointer and types of one underlying type.
		return func(f *Frame) *Frame { to.store(unsafe.Add(f.fp, d), r.at(f)); return f }
	case to.size == from.size && to.size == 8: // unsafe.Pointer and uintptr
		if to.class == clsPtr {
			return func(f *Frame) *Frame { *at[unsafe.Pointer](f, d) = *(*unsafe.Pointer)(r.at(f)); return f }
		}
		return func(f *Frame) *Frame { *at[uintptr](f, d) = *(*uintptr)(r.at(f)); return f }
	}
	return refuse("host: conversion of " + x.Type().String() + " to " + dst.Type().String())
}

func isInteger(k reflect.Kind) bool { return k >= reflect.Int && k <= reflect.Uintptr }

func isNumeric(k reflect.Kind) bool { return k >= reflect.Int && k <= reflect.Complex128 }

func convertNumeric(to, from reflect.Kind, d uintptr, x ref) op {
	if !isNumeric(to) || !isNumeric(from) {
		return nil
	}
	switch from {
	case reflect.Int:
		return convertFrom[int](to, d, x)
	case reflect.Int8:
		return convertFrom[int8](to, d, x)
	case reflect.Int16:
		return convertFrom[int16](to, d, x)
	case reflect.Int32:
		return convertFrom[int32](to, d, x)
	case reflect.Int64:
		return convertFrom[int64](to, d, x)
	case reflect.Uint:
		return convertFrom[uint](to, d, x)
	case reflect.Uint8:
		return convertFrom[uint8](to, d, x)
	case reflect.Uint16:
		return convertFrom[uint16](to, d, x)
	case reflect.Uint32:
		return convertFrom[uint32](to, d, x)
	case reflect.Uint64:
		return convertFrom[uint64](to, d, x)
	case reflect.Uintptr:
		return convertFrom[uintptr](to, d, x)
	case reflect.Float32:
		return convertFrom[float32](to, d, x)
	case reflect.Float64:
		return convertFrom[float64](to, d, x)
	case reflect.Complex64:
		return convertComplex(to, func(f *Frame) complex128 { return complex128(*(*complex64)(x.at(f))) }, d)
	case reflect.Complex128:
		return convertComplex(to, func(f *Frame) complex128 { return *(*complex128)(x.at(f)) }, d)
	}
	return nil
}

func convertComplex(to reflect.Kind, get func(f *Frame) complex128, d uintptr) op {
	switch to {
	case reflect.Complex64:
		return func(f *Frame) *Frame { *at[complex64](f, d) = complex64(get(f)); return f }
	case reflect.Complex128:
		return func(f *Frame) *Frame { *at[complex128](f, d) = get(f); return f }
	}
	return nil
}

type realNumber interface {
	integer | ~float32 | ~float64
}

func convertFrom[F realNumber](to reflect.Kind, d uintptr, x ref) op {
	switch to {
	case reflect.Int:
		return convertOp[int, F](d, x)
	case reflect.Int8:
		return convertOp[int8, F](d, x)
	case reflect.Int16:
		return convertOp[int16, F](d, x)
	case reflect.Int32:
		return convertOp[int32, F](d, x)
	case reflect.Int64:
		return convertOp[int64, F](d, x)
	case reflect.Uint:
		return convertOp[uint, F](d, x)
	case reflect.Uint8:
		return convertOp[uint8, F](d, x)
	case reflect.Uint16:
		return convertOp[uint16, F](d, x)
	case reflect.Uint32:
		return convertOp[uint32, F](d, x)
	case reflect.Uint64:
		return convertOp[uint64, F](d, x)
	case reflect.Uintptr:
		return convertOp[uintptr, F](d, x)
	case reflect.Float32:
		return convertOp[float32, F](d, x)
	case reflect.Float64:
		return convertOp[float64, F](d, x)
	}
	return nil
}

func convertOp[T, F realNumber](d uintptr, x ref) op {
	return func(f *Frame) *Frame { *at[T](f, d) = T(*(*F)(x.at(f))); return f }
}

func sliceToString(elem reflect.Kind, d uintptr, x ref) op {
	if elem == reflect.Int32 {
		return func(f *Frame) *Frame { *at[string](f, d) = string(*(*[]rune)(x.at(f))); return f }
	}
	return func(f *Frame) *Frame { *at[string](f, d) = string(*(*[]byte)(x.at(f))); return f }
}

func stringToSlice(elem reflect.Kind, d uintptr, x ref) op {
	if elem == reflect.Int32 {
		return func(f *Frame) *Frame { *at[[]rune](f, d) = []rune(*(*string)(x.at(f))); return f }
	}
	return func(f *Frame) *Frame { *at[[]byte](f, d) = []byte(*(*string)(x.at(f))); return f }
}

func intToString(from *typeInfo, d uintptr, x ref) op {
	k := kindOf(from.T.Underlying().(*types.Basic))
	return func(f *Frame) *Frame {
		n := loadInt(k, x.at(f))
		if n < 0 || n > 0x10ffff {
			n = 0xfffd
		}
		*at[string](f, d) = string(rune(n))
		return f
	}
}
