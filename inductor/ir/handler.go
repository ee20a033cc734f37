package ir

import "tcdbg/ops"

// This file is the one door to what element operations mean. A target spells them, the
// interpreter computes them, intervals bound them: each is a Handler, so that an operation
// that is added is asked of all of them.

// Handler gives constants, casts and the element operations from Where on a meaning in
// values of type T.
type Handler[T any] interface {
	// Constant is the value of v, a Const.
	Constant(v *Value) T
	// Cast converts x, an element of type from.
	Cast(x T, from, to ops.DType) T
	// Apply is o of operands of type from (the last one's, where they differ), with a
	// result of type to.
	Apply(o Op, from, to ops.DType, x []T) T
}

// Evaluate is what v means to h: from is the type of its last operand, x are the operands.
func Evaluate[T any](h Handler[T], v *Value, from ops.DType, x []T) T {
	switch v.Op {
	case Const:
		return h.Constant(v)
	case Cast:
		return h.Cast(x[0], from, v.DType)
	}
	return h.Apply(v.Op, from, v.DType, x)
}

// OperandType is the type of v's last operand in its body; without one the type of v.
func OperandType(body []Value, v *Value) ops.DType {
	if len(v.Args) == 0 {
		return v.DType
	}
	return body[v.Args[len(v.Args)-1]].DType
}
