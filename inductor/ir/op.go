package ir

import "tcdbg/ops"

// Op is an operation of a body.
type Op uint8

// The operations. Arithmetic takes operands of its own result type; a
// comparison takes operands of one type and yields bool.
const (
	Const Op = iota
	Load
	Store
	IndexOf // the address itself as an int64 (arange)
	LoadAt  // the element that lies the operand, an int64, after the address
	StoreAt // to the element that lies the second operand after the address
	FoldAt  // the same, folded into what lies there
	Check   // the operand must be true, else the program fails as eager does
	Reduce
	Scan // what the iterations of the reduction loops up to this one combine to
	Cast
	Where // condition, then, else

	Neg
	Abs
	Exp
	Expm1
	Log
	Log1p
	Sqrt
	Rsqrt
	Sin
	Cos
	Tanh
	Sigmoid
	Erf
	Relu
	Reciprocal
	Floor
	Ceil
	Trunc
	Round
	Sign
	Not
	IsNaN
	Exp2
	Log2
	Log10
	Tan
	Asin
	Acos
	Atan
	Sinh
	Cosh
	Asinh
	Acosh
	Atanh
	Erfc
	Lgamma

	Add
	Sub
	Mul
	Div
	FloorDiv
	Rem // sign of the divisor, as Python
	Pow
	Max // NaN wins
	Min
	Lt
	Le
	Gt
	Ge
	Eq
	Ne
	And
	Or
	Xor
	Shl
	Shr
	Atan2
	Hypot
	CopySign
	Fmod // sign of the dividend, as C
	NumOps
)

// opRow describes one operation.
type opRow struct {
	name  string
	arity int
	// boolean results whatever the operands are
	compare bool
}

var opRows = [NumOps]opRow{
	Const: {"const", 0, false}, Load: {"load", 0, false}, Store: {"store", 1, false},
	IndexOf: {"index", 0, false}, LoadAt: {"loadat", 1, false}, Check: {"check", 1, false}, Reduce: {"reduce", 1, false}, Cast: {"cast", 1, false},
	StoreAt: {"storeat", 2, false}, FoldAt: {"foldat", 2, false}, Scan: {"scan", 1, false},
	Where: {"where", 3, false},
	Neg:   {"neg", 1, false}, Abs: {"abs", 1, false}, Exp: {"exp", 1, false}, Expm1: {"expm1", 1, false},
	Log: {"log", 1, false}, Log1p: {"log1p", 1, false}, Sqrt: {"sqrt", 1, false}, Rsqrt: {"rsqrt", 1, false},
	Sin: {"sin", 1, false}, Cos: {"cos", 1, false}, Tanh: {"tanh", 1, false}, Sigmoid: {"sigmoid", 1, false},
	Erf: {"erf", 1, false}, Relu: {"relu", 1, false}, Reciprocal: {"reciprocal", 1, false},
	Floor: {"floor", 1, false}, Ceil: {"ceil", 1, false}, Trunc: {"trunc", 1, false}, Round: {"round", 1, false},
	Sign: {"sign", 1, false}, Not: {"not", 1, true}, IsNaN: {"isnan", 1, true},
	Exp2: {"exp2", 1, false}, Log2: {"log2", 1, false}, Log10: {"log10", 1, false}, Tan: {"tan", 1, false},
	Asin: {"asin", 1, false}, Acos: {"acos", 1, false}, Atan: {"atan", 1, false}, Sinh: {"sinh", 1, false},
	Cosh: {"cosh", 1, false}, Asinh: {"asinh", 1, false}, Acosh: {"acosh", 1, false}, Atanh: {"atanh", 1, false},
	Erfc: {"erfc", 1, false}, Lgamma: {"lgamma", 1, false},
	Add: {"add", 2, false}, Sub: {"sub", 2, false}, Mul: {"mul", 2, false}, Div: {"div", 2, false},
	FloorDiv: {"floordiv", 2, false}, Rem: {"rem", 2, false}, Pow: {"pow", 2, false},
	Max: {"max", 2, false}, Min: {"min", 2, false},
	Lt: {"lt", 2, true}, Le: {"le", 2, true}, Gt: {"gt", 2, true}, Ge: {"ge", 2, true},
	Eq: {"eq", 2, true}, Ne: {"ne", 2, true},
	And: {"and", 2, false}, Or: {"or", 2, false}, Xor: {"xor", 2, false},
	Shl: {"shl", 2, false}, Shr: {"shr", 2, false}, Atan2: {"atan2", 2, false}, Hypot: {"hypot", 2, false},
	CopySign: {"copysign", 2, false}, Fmod: {"fmod", 2, false},
}

// String is the operation's name in the text form.
func (o Op) String() string { return opRows[o].name }

// Arity is the number of operands.
func (o Op) Arity() int { return opRows[o].arity }

// Compares reports whether o yields bool from operands of another type.
func (o Op) Compares() bool { return opRows[o].compare }

var reduceNames = [...]string{"sum", "prod", "max", "min", "any", "all", "argmax", "argmin"}

// String is the reduction's name in the text form.
func (r ReduceOp) String() string { return reduceNames[r] }

// Supported reports whether bodies can compute with elements of type d.
func Supported(d ops.DType) bool {
	switch Register(d) {
	case ops.Float32, ops.Float64, ops.Int32, ops.Int64, ops.Uint8, ops.Bool:
		return true
	}
	return false
}

// Register is the type that elements of type d have in a body: a load widens
// what is too narrow to compute with, a store rounds or wraps it, once for each
// value that the program could see.
func Register(d ops.DType) ops.DType {
	switch d {
	case ops.Float16, ops.BFloat16:
		return ops.Float32
	case ops.Int8, ops.Int16:
		return ops.Int32
	}
	return d
}

// Narrow reports whether elements of type d are wider in a body.
func Narrow(d ops.DType) bool { return Register(d) != d }
