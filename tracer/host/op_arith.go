package host

import (
	"go/constant"
	"go/token"
	"go/types"
	"unsafe"

	"golang.org/x/tools/go/ssa"
)

// This file is arithmetic, comparison and logic on basic types.

type integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr
}

type ordered interface {
	integer | ~float32 | ~float64 | ~string
}

type number interface {
	integer | ~float32 | ~float64 | ~complex64 | ~complex128
}

func constBool(c *ssa.Const) bool     { return constant.BoolVal(c.Value) }
func constString(c *ssa.Const) string { return constant.StringVal(c.Value) }

// at reads register off of f.
func at[T any](f *Frame, off uintptr) *T { return (*T)(unsafe.Add(f.fp, off)) }

func (b *builder) binOp(in *ssa.BinOp) op {
	d, x, y := b.dst(in), b.ref(in.X), b.ref(in.Y)
	switch in.Op {
	case token.EQL, token.NEQ:
		return b.equality(in, d, x, y)
	case token.SHL, token.SHR:
		return b.shift(in, d, x, y)
	}
	basic, ok := in.X.Type().Underlying().(*types.Basic)
	if !ok {
		return refuse("host: " + in.String())
	}
	var o op
	switch kindOf(basic) {
	case types.Int:
		o = intOp[int](in.Op, d, x, y)
	case types.Int8:
		o = intOp[int8](in.Op, d, x, y)
	case types.Int16:
		o = intOp[int16](in.Op, d, x, y)
	case types.Int32:
		o = intOp[int32](in.Op, d, x, y)
	case types.Int64:
		o = intOp[int64](in.Op, d, x, y)
	case types.Uint:
		o = intOp[uint](in.Op, d, x, y)
	case types.Uint8:
		o = intOp[uint8](in.Op, d, x, y)
	case types.Uint16:
		o = intOp[uint16](in.Op, d, x, y)
	case types.Uint32:
		o = intOp[uint32](in.Op, d, x, y)
	case types.Uint64:
		o = intOp[uint64](in.Op, d, x, y)
	case types.Uintptr:
		o = intOp[uintptr](in.Op, d, x, y)
	case types.Float32:
		o = floatOp[float32](in.Op, d, x, y)
	case types.Float64:
		o = floatOp[float64](in.Op, d, x, y)
	case types.Complex64:
		o = numOp[complex64](in.Op, d, x, y)
	case types.Complex128:
		o = numOp[complex128](in.Op, d, x, y)
	case types.String:
		o = stringOp(in.Op, d, x, y)
	}
	if o == nil {
		return refuse("host: " + in.String())
	}
	return o
}

// kindOf is the kind of a basic type, untyped ones by their default.
func kindOf(b *types.Basic) types.BasicKind {
	if b.Info()&types.IsUntyped != 0 {
		return types.Default(b).(*types.Basic).Kind()
	}
	return b.Kind()
}

// Additive operators get a form for each of register and constant; the rest
// goes through ref.
func numOp[T number](tok token.Token, d uintptr, x, y ref) op {
	reg := !x.isConst() && !y.isConst()
	xo, yo := x.off, y.off
	switch {
	case tok == token.ADD && reg:
		return func(f *Frame) *Frame { *at[T](f, d) = *at[T](f, xo) + *at[T](f, yo); return f }
	case tok == token.SUB && reg:
		return func(f *Frame) *Frame { *at[T](f, d) = *at[T](f, xo) - *at[T](f, yo); return f }
	case tok == token.MUL && reg:
		return func(f *Frame) *Frame { *at[T](f, d) = *at[T](f, xo) * *at[T](f, yo); return f }
	case tok == token.ADD && !x.isConst():
		c := *(*T)(y.abs)
		return func(f *Frame) *Frame { *at[T](f, d) = *at[T](f, xo) + c; return f }
	case tok == token.SUB && !x.isConst():
		c := *(*T)(y.abs)
		return func(f *Frame) *Frame { *at[T](f, d) = *at[T](f, xo) - c; return f }
	}
	switch tok {
	case token.ADD:
		return func(f *Frame) *Frame { *at[T](f, d) = *(*T)(x.at(f)) + *(*T)(y.at(f)); return f }
	case token.SUB:
		return func(f *Frame) *Frame { *at[T](f, d) = *(*T)(x.at(f)) - *(*T)(y.at(f)); return f }
	case token.MUL:
		return func(f *Frame) *Frame { *at[T](f, d) = *(*T)(x.at(f)) * *(*T)(y.at(f)); return f }
	case token.QUO:
		return func(f *Frame) *Frame { *at[T](f, d) = *(*T)(x.at(f)) / *(*T)(y.at(f)); return f }
	}
	return nil
}

func floatOp[T ~float32 | ~float64](tok token.Token, d uintptr, x, y ref) op {
	if o := numOp[T](tok, d, x, y); o != nil {
		return o
	}
	return orderOp[T](tok, d, x, y)
}

func stringOp(tok token.Token, d uintptr, x, y ref) op {
	if tok == token.ADD {
		return func(f *Frame) *Frame { *at[string](f, d) = *(*string)(x.at(f)) + *(*string)(y.at(f)); return f }
	}
	return orderOp[string](tok, d, x, y)
}

func intOp[T integer](tok token.Token, d uintptr, x, y ref) op {
	if o := numOp[T](tok, d, x, y); o != nil {
		return o
	}
	switch tok {
	case token.REM:
		return func(f *Frame) *Frame { *at[T](f, d) = *(*T)(x.at(f)) % *(*T)(y.at(f)); return f }
	case token.AND:
		return func(f *Frame) *Frame { *at[T](f, d) = *(*T)(x.at(f)) & *(*T)(y.at(f)); return f }
	case token.OR:
		return func(f *Frame) *Frame { *at[T](f, d) = *(*T)(x.at(f)) | *(*T)(y.at(f)); return f }
	case token.XOR:
		return func(f *Frame) *Frame { *at[T](f, d) = *(*T)(x.at(f)) ^ *(*T)(y.at(f)); return f }
	case token.AND_NOT:
		return func(f *Frame) *Frame { *at[T](f, d) = *(*T)(x.at(f)) &^ *(*T)(y.at(f)); return f }
	}
	return orderOp[T](tok, d, x, y)
}

func orderOp[T ordered](tok token.Token, d uintptr, x, y ref) op {
	switch tok {
	case token.LSS:
		return func(f *Frame) *Frame { *at[bool](f, d) = *(*T)(x.at(f)) < *(*T)(y.at(f)); return f }
	case token.LEQ:
		return func(f *Frame) *Frame { *at[bool](f, d) = *(*T)(x.at(f)) <= *(*T)(y.at(f)); return f }
	case token.GTR:
		return func(f *Frame) *Frame { *at[bool](f, d) = *(*T)(x.at(f)) > *(*T)(y.at(f)); return f }
	case token.GEQ:
		return func(f *Frame) *Frame { *at[bool](f, d) = *(*T)(x.at(f)) >= *(*T)(y.at(f)); return f }
	}
	return nil
}

// fuseCompare lets the comparison before an If take the branch itself. Each
// instruction keeps its own op for single steps and for frames that resume
// between the two.
func (b *builder) fuseCompare(pc int, in *ssa.If) {
	cmp, ok := b.c.Instrs[pc-1].(*ssa.BinOp)
	if !ok || in.Cond != ssa.Value(cmp) || cmp.Block() != in.Block() {
		return
	}
	basic, ok := cmp.X.Type().Underlying().(*types.Basic)
	if !ok {
		return
	}
	x, y, d := b.ref(cmp.X), b.ref(cmp.Y), b.dst(cmp)
	yes, no := b.target(in.Block(), 0), b.target(in.Block(), 1)
	var o op
	switch kindOf(basic) {
	case types.Int:
		o = branchOp[int](cmp.Op, d, x, y, yes, no)
	case types.Int64:
		o = branchOp[int64](cmp.Op, d, x, y, yes, no)
	case types.Int32:
		o = branchOp[int32](cmp.Op, d, x, y, yes, no)
	case types.Uint8:
		o = branchOp[uint8](cmp.Op, d, x, y, yes, no)
	case types.Float64:
		o = branchOp[float64](cmp.Op, d, x, y, yes, no)
	}
	if o != nil {
		b.c.fast[pc-1] = o
	}
}

func branchOp[T ordered](tok token.Token, d uintptr, x, y ref, yes, no target) op {
	if x.isConst() {
		return nil
	}
	xo := x.off
	switch tok {
	case token.LSS:
		return func(f *Frame) *Frame { return fork(f, d, *at[T](f, xo) < *(*T)(y.at(f)), &yes, &no) }
	case token.LEQ:
		return func(f *Frame) *Frame { return fork(f, d, *at[T](f, xo) <= *(*T)(y.at(f)), &yes, &no) }
	case token.GTR:
		return func(f *Frame) *Frame { return fork(f, d, *at[T](f, xo) > *(*T)(y.at(f)), &yes, &no) }
	case token.GEQ:
		return func(f *Frame) *Frame { return fork(f, d, *at[T](f, xo) >= *(*T)(y.at(f)), &yes, &no) }
	case token.EQL:
		return func(f *Frame) *Frame { return fork(f, d, *at[T](f, xo) == *(*T)(y.at(f)), &yes, &no) }
	case token.NEQ:
		return func(f *Frame) *Frame { return fork(f, d, *at[T](f, xo) != *(*T)(y.at(f)), &yes, &no) }
	}
	return nil
}

func fork(f *Frame, d uintptr, cond bool, yes, no *target) *Frame {
	*at[bool](f, d) = cond
	if cond {
		return yes.enter(f)
	}
	return no.enter(f)
}

func (b *builder) shift(in *ssa.BinOp, d uintptr, x, y ref) op {
	count, signed := b.shiftCount(in.Y, y)
	basic := in.X.Type().Underlying().(*types.Basic)
	switch kindOf(basic) {
	case types.Int:
		return shiftOp[int](in.Op, d, x, count, signed)
	case types.Int8:
		return shiftOp[int8](in.Op, d, x, count, signed)
	case types.Int16:
		return shiftOp[int16](in.Op, d, x, count, signed)
	case types.Int32:
		return shiftOp[int32](in.Op, d, x, count, signed)
	case types.Int64:
		return shiftOp[int64](in.Op, d, x, count, signed)
	case types.Uint:
		return shiftOp[uint](in.Op, d, x, count, signed)
	case types.Uint8:
		return shiftOp[uint8](in.Op, d, x, count, signed)
	case types.Uint16:
		return shiftOp[uint16](in.Op, d, x, count, signed)
	case types.Uint32:
		return shiftOp[uint32](in.Op, d, x, count, signed)
	case types.Uint64:
		return shiftOp[uint64](in.Op, d, x, count, signed)
	case types.Uintptr:
		return shiftOp[uintptr](in.Op, d, x, count, signed)
	}
	return refuse("host: " + in.String())
}

// shiftCount returns a reader of the shift count, widened to 64 bits.
func (b *builder) shiftCount(v ssa.Value, y ref) (count func(f *Frame) int64, signed bool) {
	basic := v.Type().Underlying().(*types.Basic)
	signed = basic.Info()&types.IsUnsigned == 0
	if y.isConst() {
		n := loadInt(kindOf(basic), y.abs)
		return func(*Frame) int64 { return n }, signed
	}
	k := kindOf(basic)
	return func(f *Frame) int64 { return loadInt(k, y.at(f)) }, signed
}

// loadInt reads an integer of any kind as 64 bits.
func loadInt(k types.BasicKind, p unsafe.Pointer) int64 {
	switch k {
	case types.Int, types.Int64, types.Uint, types.Uint64, types.Uintptr:
		return *(*int64)(p)
	case types.Int8:
		return int64(*(*int8)(p))
	case types.Int16:
		return int64(*(*int16)(p))
	case types.Int32:
		return int64(*(*int32)(p))
	case types.Uint8:
		return int64(*(*uint8)(p))
	case types.Uint16:
		return int64(*(*uint16)(p))
	case types.Uint32:
		return int64(*(*uint32)(p))
	}
	panic("host: no integer")
}

func shiftOp[T integer](tok token.Token, d uintptr, x ref, count func(*Frame) int64, signed bool) op {
	if tok == token.SHL {
		return func(f *Frame) *Frame {
			n := count(f)
			if signed {
				*at[T](f, d) = *(*T)(x.at(f)) << n // a negative count panics
			} else {
				*at[T](f, d) = *(*T)(x.at(f)) << uint64(n)
			}
			return f
		}
	}
	return func(f *Frame) *Frame {
		n := count(f)
		if signed {
			*at[T](f, d) = *(*T)(x.at(f)) >> n
		} else {
			*at[T](f, d) = *(*T)(x.at(f)) >> uint64(n)
		}
		return f
	}
}

func (b *builder) unOp(in *ssa.UnOp) op {
	d, x := b.dst(in), b.ref(in.X)
	switch in.Op {
	case token.MUL:
		return b.load(in, d, x)
	case token.ARROW:
		return receive(b, in, d, x)
	case token.NOT:
		return func(f *Frame) *Frame { *at[bool](f, d) = !*(*bool)(x.at(f)); return f }
	}
	switch kindOf(in.X.Type().Underlying().(*types.Basic)) {
	case types.Int:
		return negOp[int](in.Op, d, x)
	case types.Int8:
		return negOp[int8](in.Op, d, x)
	case types.Int16:
		return negOp[int16](in.Op, d, x)
	case types.Int32:
		return negOp[int32](in.Op, d, x)
	case types.Int64:
		return negOp[int64](in.Op, d, x)
	case types.Uint:
		return negOp[uint](in.Op, d, x)
	case types.Uint8:
		return negOp[uint8](in.Op, d, x)
	case types.Uint16:
		return negOp[uint16](in.Op, d, x)
	case types.Uint32:
		return negOp[uint32](in.Op, d, x)
	case types.Uint64:
		return negOp[uint64](in.Op, d, x)
	case types.Uintptr:
		return negOp[uintptr](in.Op, d, x)
	case types.Float32:
		return minusOp[float32](d, x)
	case types.Float64:
		return minusOp[float64](d, x)
	case types.Complex64:
		return minusOp[complex64](d, x)
	case types.Complex128:
		return minusOp[complex128](d, x)
	}
	return refuse("host: " + in.String())
}

func minusOp[T number](d uintptr, x ref) op {
	return func(f *Frame) *Frame { *at[T](f, d) = -*(*T)(x.at(f)); return f }
}

func negOp[T integer](tok token.Token, d uintptr, x ref) op {
	if tok == token.XOR {
		return func(f *Frame) *Frame { *at[T](f, d) = ^*(*T)(x.at(f)); return f }
	}
	return minusOp[T](d, x)
}
