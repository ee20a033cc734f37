package ops

// ID is the dense index of a row. torch's eager kernels, inductor's lowerings
// and everything else that is keyed by operator are arrays over it.
type ID uint16

// The operators, by family. Their order has no meaning and may change; nothing
// on disk holds an ID.
const (
	None ID = iota

	// pointwise, unary
	Abs
	Neg
	Exp
	Log
	Sqrt
	Rsqrt
	Sin
	Cos
	Tanh
	Sigmoid
	Relu
	Gelu
	Silu

	// pointwise, binary and more
	Add
	Sub
	Mul
	Div
	Pow
	Maximum
	Minimum
	Lt
	Le
	Gt
	Ge
	Eq
	Ne
	Where

	// reductions
	Sum
	Mean
	Amax

	// matrix products
	Mm
	Matmul
	Addmm
	Linear

	// normalisation
	Softmax
	LayerNorm

	// views and layout
	View
	Reshape
	Transpose
	T
	Permute
	Expand
	Unsqueeze
	Squeeze
	Contiguous
	Clone
	Detach

	// data and casts
	To
	Item

	// factories
	Full
	Zeros
	Ones
	Arange
	Rand
	Randn

	NumIDs
)
