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
	IndexOf // the address itself as an int64 (arange), or an int32 where it is known to fit
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

// opRow describes one operation; its meaning in C, in Triton and in numbers is with the
// targets and the interpreter, each of which a test asks for every row.
type opRow struct {
	name  string
	arity int
	cost  int64 // of an element, in simple operations
	types typeRule
}

// typeRule is what an operation wants of its operands' types.
type typeRule uint8

const (
	freeType      typeRule = iota // no operands
	sameType                      // operands are of the result's type
	castType                      // any operand
	comparedType                  // bool from operands of one type
	choosesType                   // a bool, then two of the result's type
	placedType                    // a position, which is an int64
	scatteredType                 // one of the buffer's type, then a position
	reducedType                   // one of the result's type; of an argmax any, for an int64
)

var opRows = [NumOps]opRow{
	Const:      {"const", 0, 1, freeType},
	Load:       {"load", 0, 1, freeType},
	Store:      {"store", 1, 1, sameType},
	IndexOf:    {"index", 0, 1, freeType},
	LoadAt:     {"loadat", 1, 4, placedType},
	StoreAt:    {"storeat", 2, 4, scatteredType},
	FoldAt:     {"foldat", 2, 4, scatteredType},
	Check:      {"check", 1, 1, sameType},
	Reduce:     {"reduce", 1, 1, reducedType},
	Scan:       {"scan", 1, 1, sameType},
	Cast:       {"cast", 1, 1, castType},
	Where:      {"where", 3, 1, choosesType},
	Neg:        {"neg", 1, 1, sameType},
	Abs:        {"abs", 1, 1, sameType},
	Exp:        {"exp", 1, 12, sameType},
	Expm1:      {"expm1", 1, 12, sameType},
	Log:        {"log", 1, 12, sameType},
	Log1p:      {"log1p", 1, 12, sameType},
	Sqrt:       {"sqrt", 1, 4, sameType},
	Rsqrt:      {"rsqrt", 1, 4, sameType},
	Sin:        {"sin", 1, 12, sameType},
	Cos:        {"cos", 1, 12, sameType},
	Tanh:       {"tanh", 1, 12, sameType},
	Sigmoid:    {"sigmoid", 1, 12, sameType},
	Erf:        {"erf", 1, 12, sameType},
	Relu:       {"relu", 1, 1, sameType},
	Reciprocal: {"reciprocal", 1, 1, sameType},
	Floor:      {"floor", 1, 1, sameType},
	Ceil:       {"ceil", 1, 1, sameType},
	Trunc:      {"trunc", 1, 1, sameType},
	Round:      {"round", 1, 1, sameType},
	Sign:       {"sign", 1, 1, sameType},
	Not:        {"not", 1, 1, comparedType},
	IsNaN:      {"isnan", 1, 1, comparedType},
	Exp2:       {"exp2", 1, 40, sameType},
	Log2:       {"log2", 1, 40, sameType},
	Log10:      {"log10", 1, 40, sameType},
	Tan:        {"tan", 1, 40, sameType},
	Asin:       {"asin", 1, 40, sameType},
	Acos:       {"acos", 1, 40, sameType},
	Atan:       {"atan", 1, 40, sameType},
	Sinh:       {"sinh", 1, 40, sameType},
	Cosh:       {"cosh", 1, 40, sameType},
	Asinh:      {"asinh", 1, 40, sameType},
	Acosh:      {"acosh", 1, 40, sameType},
	Atanh:      {"atanh", 1, 40, sameType},
	Erfc:       {"erfc", 1, 40, sameType},
	Lgamma:     {"lgamma", 1, 40, sameType},
	Add:        {"add", 2, 1, sameType},
	Sub:        {"sub", 2, 1, sameType},
	Mul:        {"mul", 2, 1, sameType},
	Div:        {"div", 2, 4, sameType},
	FloorDiv:   {"floordiv", 2, 1, sameType},
	Rem:        {"rem", 2, 1, sameType},
	Pow:        {"pow", 2, 12, sameType},
	Max:        {"max", 2, 1, sameType},
	Min:        {"min", 2, 1, sameType},
	Lt:         {"lt", 2, 1, comparedType},
	Le:         {"le", 2, 1, comparedType},
	Gt:         {"gt", 2, 1, comparedType},
	Ge:         {"ge", 2, 1, comparedType},
	Eq:         {"eq", 2, 1, comparedType},
	Ne:         {"ne", 2, 1, comparedType},
	And:        {"and", 2, 1, sameType},
	Or:         {"or", 2, 1, sameType},
	Xor:        {"xor", 2, 1, sameType},
	Shl:        {"shl", 2, 1, sameType},
	Shr:        {"shr", 2, 1, sameType},
	Atan2:      {"atan2", 2, 40, sameType},
	Hypot:      {"hypot", 2, 40, sameType},
	CopySign:   {"copysign", 2, 1, sameType},
	Fmod:       {"fmod", 2, 40, sameType},
}

// String is the operation's name in the text form.
func (o Op) String() string { return opRows[o].name }

// Arity is the number of operands.
func (o Op) Arity() int { return opRows[o].arity }

// Compares reports whether o yields bool from operands of another type.
func (o Op) Compares() bool { return opRows[o].types == comparedType }

// Cost is what the operation takes for an element, in simple operations.
func (o Op) Cost() int64 { return opRows[o].cost }

var reduceNames = [...]string{"sum", "prod", "max", "min", "any", "all", "argmax", "argmin"}

// combine are the operations by which reductions combine two elements; an argmax and an
// argmin compare instead.
var combine = [...]Op{RSum: Add, RProd: Mul, RMax: Max, RMin: Min, RAny: Or, RAll: And}

// Combine is the operation by which r combines two elements; not for argmax and argmin.
func (r ReduceOp) Combine() Op { return combine[r] }

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
