package ops

import (
	"math"

	"tcdbg/ops/sym"
)

// This file is PyTorch's type promotion.

// Promote returns the smallest type that holds both (torch.promote_types).
func Promote(a, b DType) DType {
	switch {
	case a == b:
		return a
	case a.IsComplex() || b.IsComplex():
		return Complex64
	case a.IsFloat() && b.IsFloat():
		if a == Float64 || b == Float64 {
			return Float64
		}
		return Float32 // float16 with bfloat16, or either with float32
	case a.IsFloat():
		return a
	case b.IsFloat():
		return b
	case a == Bool:
		return b
	case b == Bool:
		return a
	}
	return promoteInts(a, b)
}

func promoteInts(a, b DType) DType {
	if a == Uint8 || b == Uint8 {
		other := max(a, b) // Uint8 is the smallest value
		if other == Int8 {
			return Int16
		}
		return other
	}
	return max(a, b)
}

// scalarDType is the type of a Python number: int64, float32 (the default
// dtype), bool.
func scalarDType(a Arg) DType {
	switch x := a.(type) {
	case bool:
		return Bool
	case float64:
		return Float32
	case complex128:
		return Complex64
	case sym.Int:
		return Int64
	case scalarValue:
		if d, ok := x.ScalarDType(); ok {
			if d.IsFloat() {
				return Float32
			}
			return d
		}
	}
	return Int64
}

// scalarValue is a Value that may be a number (a graph node of item).
type scalarValue interface {
	ScalarDType() (DType, bool)
}

type tensorValue interface{ IsTensor() bool }

// MetaOf returns the description of a tensor argument, nil for everything else.
func MetaOf(a Arg) *TensorMeta {
	v, ok := a.(Value)
	if !ok || v == nil {
		return nil
	}
	if t, ok := a.(tensorValue); ok && !t.IsTensor() {
		return nil
	}
	return v.TensorMeta()
}

// category collects the operands of one rank of promotion.
type category struct {
	dtype DType
	set   bool
}

func (c *category) add(d DType) {
	if c.set {
		d = Promote(c.dtype, d)
	}
	c.dtype, c.set = d, true
}

// over lets the higher category win unless the lower one is of a higher kind.
func (c category) over(low category) category {
	switch {
	case !c.set:
		return low
	case !low.set:
		return c
	case c.dtype.IsComplex():
		return c
	case c.dtype.IsFloat() && !low.dtype.IsComplex():
		return c
	case c.dtype.IsFloat(), c.dtype == Bool, low.dtype.IsFloat(), low.dtype.IsComplex():
		return category{Promote(c.dtype, low.dtype), true}
	}
	return c
}

// ResultType is torch.result_type: tensors with dimensions decide, then 0-dim
// tensors, then numbers. A list counts as its elements.
func ResultType(args ...Arg) DType {
	var dims, zero, number category
	for _, a := range args {
		if a == nil {
			continue
		}
		if m := MetaOf(a); m != nil {
			if len(m.Shape) > 0 {
				dims.add(m.DType)
			} else {
				zero.add(m.DType)
			}
			continue
		}
		number.add(scalarDType(a))
	}
	return dims.over(zero.over(number)).dtype
}

// FloatType is d, or the default dtype float32 where d holds no fractions.
func FloatType(d DType) DType {
	if d.IsFloat() || d.IsComplex() {
		return d
	}
	return Float32
}

// numberAs is a number as an operator on tensors of type d takes it: integers
// lose its fraction.
func numberAs(d DType, a Arg) Arg {
	if f, ok := a.(float64); ok && d.IsInt() {
		return sym.Const(int64(f))
	}
	return a
}

// roundedTo is numberAs with the precision of d.
func roundedTo(d DType, a Arg) Arg {
	f, ok := a.(float64)
	switch {
	case !ok:
		return a
	case d == BFloat16:
		bits := math.Float32bits(float32(f))
		bits += 0x7fff + bits>>16&1
		return float64(math.Float32frombits(bits &^ 0xffff))
	case d == Float16: // 11 bits of precision, steps of 2^-24 at the least
		_, e := math.Frexp(f)
		step := math.Ldexp(1, max(e-11, -24))
		return math.RoundToEven(f/step) * step
	}
	return numberAs(d, a)
}

// OpMath is the type in which arithmetic on d is done.
func OpMath(d DType) DType {
	if d == Float16 || d == BFloat16 {
		return Float32
	}
	return d
}
