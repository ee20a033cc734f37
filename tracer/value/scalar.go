package value

import (
	"go/types"
	"math"
	"strconv"
	"unsafe"
)

// This file is numbers and bools of any of Go's types, and its conversions between them.

// ScalarKind is a basic type by its arithmetic.
type ScalarKind struct {
	Class Class
	Bits  int
}

type Class uint8

const (
	NotScalar Class = iota
	SignedInt
	UnsignedInt
	Floating
	Boolean
)

// KindOf classifies t; class NotScalar for anything but numbers and bools.
func KindOf(t types.Type) ScalarKind {
	b, ok := t.Underlying().(*types.Basic)
	if !ok {
		return ScalarKind{}
	}
	switch b.Kind() {
	case types.Bool, types.UntypedBool:
		return ScalarKind{Boolean, 8}
	case types.Int, types.Int64, types.UntypedInt:
		return ScalarKind{SignedInt, 64}
	case types.Int32, types.UntypedRune:
		return ScalarKind{SignedInt, 32}
	case types.Int16:
		return ScalarKind{SignedInt, 16}
	case types.Int8:
		return ScalarKind{SignedInt, 8}
	case types.Uint, types.Uint64, types.Uintptr:
		return ScalarKind{UnsignedInt, 64}
	case types.Uint32:
		return ScalarKind{UnsignedInt, 32}
	case types.Uint16:
		return ScalarKind{UnsignedInt, 16}
	case types.Uint8:
		return ScalarKind{UnsignedInt, 8}
	case types.Float64, types.UntypedFloat:
		return ScalarKind{Floating, 64}
	case types.Float32:
		return ScalarKind{Floating, 32}
	}
	return ScalarKind{}
}

// Scalar is a value of any kind: ints and bools in i, floats in f.
type Scalar struct {
	I int64
	F float64
}

// Same compares by bits: -0 is not 0 (a graph divides by it), and NaN is what it was.
func (v Scalar) Same(w Scalar) bool {
	return v.I == w.I && math.Float64bits(v.F) == math.Float64bits(w.F)
}

func (k ScalarKind) Load(p unsafe.Pointer) Scalar {
	switch k {
	case ScalarKind{SignedInt, 64}, ScalarKind{UnsignedInt, 64}:
		return Scalar{I: *(*int64)(p)}
	case ScalarKind{SignedInt, 32}:
		return Scalar{I: int64(*(*int32)(p))}
	case ScalarKind{SignedInt, 16}:
		return Scalar{I: int64(*(*int16)(p))}
	case ScalarKind{SignedInt, 8}:
		return Scalar{I: int64(*(*int8)(p))}
	case ScalarKind{UnsignedInt, 32}:
		return Scalar{I: int64(*(*uint32)(p))}
	case ScalarKind{UnsignedInt, 16}:
		return Scalar{I: int64(*(*uint16)(p))}
	case ScalarKind{UnsignedInt, 8}, ScalarKind{Boolean, 8}:
		return Scalar{I: int64(*(*uint8)(p))}
	case ScalarKind{Floating, 64}:
		return Scalar{F: *(*float64)(p)}
	case ScalarKind{Floating, 32}:
		return Scalar{F: float64(*(*float32)(p))}
	}
	panic("tracer: load of no scalar")
}

func (k ScalarKind) Store(p unsafe.Pointer, v Scalar) {
	switch {
	case k.Class == Floating && k.Bits == 64:
		*(*float64)(p) = v.F
	case k.Class == Floating:
		*(*float32)(p) = float32(v.F)
	case k.Bits == 64:
		*(*int64)(p) = v.I
	case k.Bits == 32:
		*(*int32)(p) = int32(v.I)
	case k.Bits == 16:
		*(*int16)(p) = int16(v.I)
	default:
		*(*int8)(p) = int8(v.I)
	}
}

// wrap reduces v to what a variable of kind k holds.
func (k ScalarKind) wrap(v Scalar) Scalar {
	switch {
	case k.Class == Floating && k.Bits == 32:
		v.F = float64(float32(v.F))
	case k.Class == SignedInt && k.Bits < 64:
		s := 64 - k.Bits
		v.I = v.I << s >> s
	case k.Class == UnsignedInt && k.Bits < 64:
		v.I &= 1<<k.Bits - 1
	}
	return v
}

func (k ScalarKind) Text(v Scalar) string {
	switch k.Class {
	case Floating:
		return strconv.FormatFloat(v.F, 'g', -1, k.Bits)
	case Boolean:
		return strconv.FormatBool(v.I != 0)
	case UnsignedInt:
		return strconv.FormatUint(uint64(v.I), 10)
	}
	return strconv.FormatInt(v.I, 10)
}

// Name is the type of kind k as a program writes it, the word-sized ones without
// their size.
func (k ScalarKind) Name() string {
	switch k.Class {
	case Floating:
		if k.Bits == 64 {
			return "float"
		}
		return "float32"
	case Boolean:
		return "bool"
	case UnsignedInt:
		return "u" + ScalarKind{SignedInt, k.Bits}.Name()
	}
	if k.Bits == 64 {
		return "int"
	}
	return "int" + strconv.Itoa(k.Bits)
}
