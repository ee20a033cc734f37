package strided

import (
	"unsafe"

	"tcdbg/ops"
	"tcdbg/torch/internal/simd"
)

// This file copies runs of elements between dtypes and strides.

// Number is every Go type that elements are computed in.
type Number interface {
	float32 | float64 | int64 | int32 | int16 | int8 | uint8
}

// CopyFunc copies n elements; strides are in bytes.
type CopyFunc func(dst, src unsafe.Pointer, ds, ss, n int)

// Copier returns the function that converts elements of type from to type to.
func Copier(to, from ops.DType) CopyFunc {
	if to == from {
		return sameCopy(to.Size())
	}
	switch {
	case to == ops.Float32 && from == ops.BFloat16:
		return widenBFloat
	case to == ops.BFloat16 && from == ops.Float32:
		return narrowBFloat
	case to == ops.Float32 && from == ops.Float16:
		return widenHalf
	case to == ops.Float16 && from == ops.Float32:
		return narrowHalf
	}
	switch from {
	case ops.Uint8, ops.Bool:
		return copyFrom[uint8](to)
	case ops.Int8:
		return copyFrom[int8](to)
	case ops.Int16:
		return copyFrom[int16](to)
	case ops.Int32:
		return copyFrom[int32](to)
	case ops.Int64:
		return copyFrom[int64](to)
	case ops.Float32:
		return copyFrom[float32](to)
	case ops.Float64:
		return copyFrom[float64](to)
	case ops.Float16:
		return copyFromHalf(to, HalfToFloat)
	case ops.BFloat16:
		return copyFromHalf(to, BfloatToFloat)
	case ops.Complex64:
		return copyFromComplex(to)
	}
	panic("torch: no conversion from " + from.String())
}

func copyFrom[S Number](to ops.DType) CopyFunc {
	switch to {
	case ops.Uint8:
		return castCopy[uint8, S]
	case ops.Int8:
		return castCopy[int8, S]
	case ops.Int16:
		return castCopy[int16, S]
	case ops.Int32:
		return castCopy[int32, S]
	case ops.Int64:
		return castCopy[int64, S]
	case ops.Float32:
		return castCopy[float32, S]
	case ops.Float64:
		return castCopy[float64, S]
	case ops.Bool:
		return mapCopy(func(s S) bool { return s != 0 })
	case ops.Float16:
		return mapCopy(func(s S) uint16 { return floatToHalf(float32(s)) })
	case ops.BFloat16:
		return mapCopy(func(s S) uint16 { return floatToBfloat(float32(s)) })
	case ops.Complex64:
		return mapCopy(func(s S) complex64 { return complex(float32(s), 0) })
	}
	panic("torch: no conversion to " + to.String())
}

func copyFromHalf(to ops.DType, f func(uint16) float32) CopyFunc {
	switch to {
	case ops.Uint8:
		return mapCopy(func(s uint16) uint8 { return uint8(f(s)) })
	case ops.Int8:
		return mapCopy(func(s uint16) int8 { return int8(f(s)) })
	case ops.Int16:
		return mapCopy(func(s uint16) int16 { return int16(f(s)) })
	case ops.Int32:
		return mapCopy(func(s uint16) int32 { return int32(f(s)) })
	case ops.Int64:
		return mapCopy(func(s uint16) int64 { return int64(f(s)) })
	case ops.Float32:
		return mapCopy(f)
	case ops.Float64:
		return mapCopy(func(s uint16) float64 { return float64(f(s)) })
	case ops.Bool:
		return mapCopy(func(s uint16) bool { return f(s) != 0 })
	case ops.Float16:
		return mapCopy(func(s uint16) uint16 { return floatToHalf(f(s)) })
	case ops.BFloat16:
		return mapCopy(func(s uint16) uint16 { return floatToBfloat(f(s)) })
	case ops.Complex64:
		return mapCopy(func(s uint16) complex64 { return complex(f(s), 0) })
	}
	panic("torch: no conversion to " + to.String())
}

func copyFromComplex(to ops.DType) CopyFunc {
	inner := Copier(to, ops.Float32)
	if to == ops.Bool {
		return mapCopy(func(s complex64) bool { return s != 0 })
	}
	return inner // the real part comes first
}

func castCopy[D, S Number](dst, src unsafe.Pointer, ds, ss, n int) {
	if ds == int(unsafe.Sizeof(D(0))) && ss == int(unsafe.Sizeof(S(0))) {
		d, s := unsafe.Slice((*D)(dst), n), unsafe.Slice((*S)(src), n)
		for i, v := range s {
			d[i] = D(v)
		}
		return
	}
	for i := range n {
		*(*D)(unsafe.Add(dst, i*ds)) = D(*(*S)(unsafe.Add(src, i*ss)))
	}
}

var (
	widenBFloat  = widening(simd.BFloat, BfloatToFloat)
	narrowBFloat = narrowing(simd.BFloat, floatToBfloat)
	widenHalf    = widening(simd.Float16, HalfToFloat)
	narrowHalf   = narrowing(simd.Float16, floatToHalf)
)

// widening converts a format of 16 bits to float32: what lies side by side by vectors,
// the rest by plain.
func widening(format simd.Half, plain func(uint16) float32) CopyFunc {
	apart := mapCopy(plain)
	return func(dst, src unsafe.Pointer, ds, ss, n int) {
		done := 0
		if ds == 4 && ss == 2 {
			done = simd.Active().Widen(format, unsafe.Slice((*float32)(dst), n), unsafe.Slice((*uint16)(src), n))
		}
		if done < n {
			apart(unsafe.Add(dst, done*ds), unsafe.Add(src, done*ss), ds, ss, n-done)
		}
	}
}

// narrowing is the way back.
func narrowing(format simd.Half, plain func(float32) uint16) CopyFunc {
	apart := mapCopy(plain)
	return func(dst, src unsafe.Pointer, ds, ss, n int) {
		done := 0
		if ds == 2 && ss == 4 {
			done = simd.Active().Narrow(format, unsafe.Slice((*uint16)(dst), n), unsafe.Slice((*float32)(src), n))
		}
		if done < n {
			apart(unsafe.Add(dst, done*ds), unsafe.Add(src, done*ss), ds, ss, n-done)
		}
	}
}

func mapCopy[D, S any](f func(S) D) CopyFunc {
	return func(dst, src unsafe.Pointer, ds, ss, n int) {
		for i := range n { // no pointer may leave its block, not even unused
			*(*D)(unsafe.Add(dst, i*ds)) = f(*(*S)(unsafe.Add(src, i*ss)))
		}
	}
}

func sameCopy(size int) CopyFunc {
	switch size {
	case 1:
		return plainCopy[uint8]
	case 2:
		return plainCopy[uint16]
	case 4:
		return plainCopy[uint32]
	}
	return plainCopy[uint64]
}

func plainCopy[T uint8 | uint16 | uint32 | uint64](dst, src unsafe.Pointer, ds, ss, n int) {
	size := int(unsafe.Sizeof(T(0)))
	switch {
	case n == 0:
	case ds == size && ss == size:
		copy(unsafe.Slice((*T)(dst), n), unsafe.Slice((*T)(src), n))
	case ds == size && ss == 0:
		d, v := unsafe.Slice((*T)(dst), n), *(*T)(src)
		for i := range d {
			d[i] = v
		}
	default:
		for i := range n {
			*(*T)(unsafe.Add(dst, i*ds)) = *(*T)(unsafe.Add(src, i*ss))
		}
	}
}
