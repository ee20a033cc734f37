package lower

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"tcdbg/graph"
	"tcdbg/internal/test/golden"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// maker builds a graph without data.
type maker struct {
	*graph.Builder
	env *sym.Env
	n   int
}

// of adds an input with the given strides.
func (m *maker) of(d ops.DType, shape, stride []sym.Int) *graph.Node {
	name := fmt.Sprintf("x%d", m.n)
	m.n++
	return m.G.Input(name, name, "L."+name, &ops.TensorMeta{DType: d, Device: ops.CPU, Shape: shape, Stride: stride})
}

func (m *maker) typed(d ops.DType, shape ...int) *graph.Node {
	s := sym.Consts(shape)
	return m.of(d, s, ops.ContiguousStrides(s))
}

func (m *maker) in(shape ...int) *graph.Node  { return m.typed(ops.Float32, shape...) }
func (m *maker) ids(shape ...int) *graph.Node { return m.typed(ops.Int64, shape...) }

// transposed is a matrix of the given shape whose columns lie one after the other.
func (m *maker) transposed(rows, cols int) *graph.Node {
	return m.of(ops.Float32, ints(rows, cols), ints(1, rows))
}

func ints(v ...int) []sym.Int { return sym.Consts(v) }

func c(v int) sym.Int { return sym.C(v) }

// lowered are graphs by what they show, in files of one subject each.
var lowered = map[string][]struct {
	name string
	make func(m *maker) []ops.Arg
}{
	"layout": {
		{"a view reads other addresses", func(m *maker) []ops.Arg {
			x := m.Emit(ops.Transpose, m.in(4, 6), c(0), c(1))
			return []ops.Arg{m.Emit(ops.Neg, m.Emit(ops.Narrow, x, c(0), c(2), c(3)))}
		}},
		{"a view is returned as it is", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.Select, m.in(4, 6), c(1), c(2))}
		}},
		{"a pointwise result keeps the layout of its operand", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.Exp, m.transposed(4, 6))}
		}},
		{"reshape of what lies in order is a view", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.Reshape, m.in(4, 6), ints(2, 12))}
		}},
		{"reshape of what does not is a copy", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.Reshape, m.transposed(4, 6), ints(24))}
		}},
		{"contiguous of what is so", func(m *maker) []ops.Arg { return []ops.Arg{m.Emit(ops.Contiguous, m.in(4, 6))} }},
		{"contiguous of what is not", func(m *maker) []ops.Arg { return []ops.Arg{m.Emit(ops.Contiguous, m.transposed(4, 6))} }},
		{"clone copies always", func(m *maker) []ops.Arg { return []ops.Arg{m.Emit(ops.Clone, m.in(4))} }},
		{"to another dtype", func(m *maker) []ops.Arg { return []ops.Arg{m.Emit(ops.To, m.in(4), ops.Int64)} }},
		{"to the same dtype", func(m *maker) []ops.Arg { return []ops.Arg{m.Emit(ops.To, m.in(4), ops.Float32)} }},
		{"open sizes", func(m *maker) []ops.Arg {
			n := m.env.NewSymbol("s0", "L.x0.size()[0]", 7)
			x := m.of(ops.Float32, []sym.Int{n, c(3)}, ints(3, 1))
			return []ops.Arg{m.Emit(ops.Reshape, m.Emit(ops.Sin, x), []sym.Int{sym.Mul(n, c(3))}), n}
		}},
	},
	"products of half precision": {
		{"what only products read is not made float32 first", func(m *maker) []ops.Arg {
			x := m.Emit(ops.To, m.typed(ops.BFloat16, 3, 40, 8), ops.Float32)
			y := m.Emit(ops.To, m.typed(ops.BFloat16, 3, 50, 8), ops.Float32)
			return []ops.Arg{m.Emit(ops.Bmm, x, m.Emit(ops.Transpose, y, c(1), c(2)))}
		}},
		{"what others read, too, is", func(m *maker) []ops.Arg {
			x, y := m.Emit(ops.To, m.typed(ops.Float16, 40, 8), ops.Float32), m.Emit(ops.To, m.typed(ops.Float16, 8, 50), ops.Float32)
			return []ops.Arg{m.Emit(ops.Mm, x, y), m.Emit(ops.Sin, y)}
		}},
		{"and so is what is returned", func(m *maker) []ops.Arg {
			x := m.Emit(ops.To, m.typed(ops.Float16, 40, 40), ops.Float32)
			return []ops.Arg{m.Emit(ops.Mm, x, x), x}
		}},
		{"operands of two types are", func(m *maker) []ops.Arg {
			x, y := m.Emit(ops.To, m.typed(ops.Float16, 40, 8), ops.Float32), m.Emit(ops.To, m.typed(ops.BFloat16, 8, 50), ops.Float32)
			return []ops.Arg{m.Emit(ops.Mm, x, y)}
		}},
	},
	"without memory": {
		{"a number is an operand", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.Add, m.in(4), m.Emit(ops.Full, ints(4), 1.5))}
		}},
		{"what is returned gets memory", func(m *maker) []ops.Arg { return []ops.Arg{m.Emit(ops.Full, ints(2, 2), c(3))} }},
		{"ones, zeros, empty", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.Ones, ints(2)), m.Emit(ops.Zeros, ints(2)), m.Emit(ops.Empty, ints(2))}
		}},
		{"a range of whole numbers", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.Mul, m.Emit(ops.Arange, c(3), c(20), c(4)), m.ids(5))}
		}},
		{"a range of fractions", func(m *maker) []ops.Arg { return []ops.Arg{m.Emit(ops.Arange, 0.5, 3.0, 0.25)} }},
		{"a line from end to end", func(m *maker) []ops.Arg { return []ops.Arg{m.Emit(ops.Linspace, -1.0, 2.0, c(7))} }},
		{"a line of one point", func(m *maker) []ops.Arg { return []ops.Arg{m.Emit(ops.Linspace, -1.0, 2.0, c(1))} }},
		{"a line of two points", func(m *maker) []ops.Arg { return []ops.Arg{m.Emit(ops.Linspace, -1.0, 2.0, c(2))} }},
		{
			"whole numbers from a range of fractions",
			func(m *maker) []ops.Arg { return []ops.Arg{m.Emit(ops.Arange, 1.5, 9.0, 2.5, ops.Int64)} },
		},
		{"a number from an open size", func(m *maker) []ops.Arg {
			n := m.env.NewSymbol("s0", "L.x0.size()[0]", 7)
			x := m.of(ops.Float32, []sym.Int{n}, ints(1))
			return []ops.Arg{m.Emit(ops.Div, x, n), m.Emit(ops.Full, ints(2), n)}
		}},
	},
	"reductions": {
		{"rows", func(m *maker) []ops.Arg { return []ops.Arg{m.Emit(ops.Sum, m.in(4, 6), ints(1))} }},
		{"columns, kept", func(m *maker) []ops.Arg { return []ops.Arg{m.Emit(ops.Amax, m.in(4, 6), ints(0), true)} }},
		{"everything", func(m *maker) []ops.Arg { return []ops.Arg{m.Emit(ops.Mean, m.in(4, 6))} }},
		{"two dimensions", func(m *maker) []ops.Arg { return []ops.Arg{m.Emit(ops.Mean, m.in(4, 5, 6), ints(0, -1))} }},
		{"whole numbers are summed wide", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.Sum, m.typed(ops.Int32, 4, 6), ints(1))}
		}},
		{"truth", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.Any, m.in(4, 6), c(1)), m.Emit(ops.AllOf, m.in(4, 6), c(0))}
		}},
		{"places", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.Argmax, m.in(4, 6), c(1)), m.Emit(ops.Argmin, m.in(4, 6))}
		}},
		{"few sums of many", func(m *maker) []ops.Arg { return []ops.Arg{m.Emit(ops.Sum, m.in(3, 1<<18), ints(1))} }},
		{"many sums of many", func(m *maker) []ops.Arg { return []ops.Arg{m.Emit(ops.Sum, m.in(9, 1<<18), ints(1))} }},
		{"few sums of fewer", func(m *maker) []ops.Arg { return []ops.Arg{m.Emit(ops.Sum, m.in(8, 1<<16), ints(1))} }},
		{
			"as few sums of as many as are folded in two steps",
			func(m *maker) []ops.Arg { return []ops.Arg{m.Emit(ops.Sum, m.in(8, 1<<17), ints(1))} },
		},
		{"a running maximum with places", func(m *maker) []ops.Arg {
			y := m.EmitN(ops.Cummax, m.in(4, 6), c(1))
			return []ops.Arg{y[0], y[1]}
		}},
		{"few places of many", func(m *maker) []ops.Arg { return []ops.Arg{m.Emit(ops.Argmax, m.in(1<<18), c(0))} }},
		{"softmax", func(m *maker) []ops.Arg { return []ops.Arg{m.Emit(ops.Softmax, m.in(4, 6), c(-1))} }},
		{"layer norm", func(m *maker) []ops.Arg {
			return []ops.Arg{m.EmitN(ops.LayerNorm, m.in(4, 6), ints(6), m.in(6), m.in(6))[0]}
		}},
		{"running sums", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.Cumsum, m.in(4, 6), c(0)), m.Emit(ops.Cumprod, m.in(4, 6), c(1))}
		}},
	},
	"products": {
		{"two matrices", func(m *maker) []ops.Arg { return []ops.Arg{m.Emit(ops.Mm, m.in(4, 6), m.in(6, 5))} }},
		{"a transposed operand", func(m *maker) []ops.Arg { return []ops.Arg{m.Emit(ops.Mm, m.in(4, 6), m.transposed(6, 5))} }},
		{"batches", func(m *maker) []ops.Arg { return []ops.Arg{m.Emit(ops.Bmm, m.in(3, 4, 6), m.in(3, 6, 5))} }},
		{"a matrix for all batches", func(m *maker) []ops.Arg { return []ops.Arg{m.Emit(ops.Matmul, m.in(3, 4, 6), m.in(6, 5))} }},
		{"vectors", func(m *maker) []ops.Arg { return []ops.Arg{m.Emit(ops.Matmul, m.in(4, 6), m.in(6))} }},
		{"a vector on the left", func(m *maker) []ops.Arg { return []ops.Arg{m.Emit(ops.Matmul, m.in(6), m.in(6, 5))} }},
		{"two vectors", func(m *maker) []ops.Arg { return []ops.Arg{m.Emit(ops.Matmul, m.in(6), m.in(6))} }},
		{"batches that are broadcast", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.Matmul, m.in(2, 1, 40, 70), m.in(3, 70, 50))}
		}},
		{"a scaled summand", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.Addmm, m.in(4, 5), m.in(4, 6), m.in(6, 5), 2.0, 3.0)}
		}},
		{"whole numbers", func(m *maker) []ops.Arg { return []ops.Arg{m.Emit(ops.Mm, m.ids(4, 6), m.ids(6, 5))} }},
		{"a convolution of lines", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.Convolution, m.in(2, 3, 9), m.in(4, 3, 3), m.in(4), ints(1), ints(1), ints(1), false,
				ints(0), c(1))}
		}},
		{"groups of channels", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.Convolution, m.in(2, 6, 5, 5), m.in(4, 3, 3, 3), nil, ints(1, 1), ints(0, 0), ints(1, 1),
				false, ints(0, 0), c(2))}
		}},
		{"gradients of a convolution in steps", func(m *maker) []ops.Arg {
			grads := m.EmitN(ops.ConvolutionBackward, m.in(2, 4, 3, 3), m.in(2, 3, 5, 5), m.in(4, 3, 3, 3), ints(2, 2), ints(1, 1),
				ints(1, 1), false, ints(0, 0), c(1), []bool{true, true})
			return []ops.Arg{grads[0], grads[1]}
		}},
		{"a convolution the other way", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.Convolution, m.in(2, 3, 4, 4), m.in(3, 4, 2, 2), nil, ints(2, 2), ints(0, 0), ints(1, 1),
				true, ints(0, 0), c(1))}
		}},
		{"a convolution the other way in groups", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.Convolution, m.in(2, 4, 4, 4), m.in(4, 2, 2, 2), nil, ints(2, 2), ints(0, 0), ints(1, 1),
				true, ints(0, 0), c(2))}
		}},
		{"gradients of each channel by itself", func(m *maker) []ops.Arg {
			grads := m.EmitN(ops.ConvolutionBackward, m.in(2, 4, 3, 3), m.in(2, 4, 6, 6), m.in(4, 1, 3, 3), ints(2, 2), ints(1, 1),
				ints(1, 1), false, ints(0, 0), c(4), []bool{true, true})
			return []ops.Arg{grads[0], grads[1]}
		}},
		{"a convolution of a volume", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.Convolution, m.in(2, 3, 4, 5, 6), m.in(4, 3, 2, 3, 3), m.in(4), ints(2, 1, 1), ints(1, 1, 1),
				ints(1, 1, 1), false, ints(0, 0, 0), c(1))}
		}},
		{"with a summand", func(m *maker) []ops.Arg { return []ops.Arg{m.Emit(ops.Addmm, m.in(5), m.in(4, 6), m.in(6, 5))} }},
		{"a linear layer", func(m *maker) []ops.Arg { return []ops.Arg{m.Emit(ops.Linear, m.in(2, 3, 6), m.in(5, 6), m.in(5))} }},
		{"a linear layer of a batch that comes after the sequence", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.Linear, m.of(ops.Float32, ints(9, 2, 6), ints(6, 54, 1)), m.in(5, 6), m.in(5))}
		}},
		{"matrices of many rows that lie apart", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.Linear, m.of(ops.Float32, ints(9, 64, 6), ints(6, 54, 1)), m.in(5, 6), m.in(5))}
		}},
		{"a convolution", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.Convolution, m.in(2, 3, 9, 8), m.in(4, 3, 3, 3), m.in(4), ints(2, 1), ints(1, 0),
				ints(1, 2), false, ints(0, 0), c(1))}
		}},
		{"a convolution of one pixel", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.Convolution, m.in(2, 3, 4, 5), m.in(6, 3, 1, 1), nil, ints(1, 1), ints(0, 0), ints(1, 1),
				false, ints(0, 0), c(1))}
		}},
		{"each channel by itself", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.Convolution, m.in(2, 4, 6, 6), m.in(4, 1, 3, 3), nil, ints(1, 1), ints(1, 1), ints(1, 1),
				false, ints(0, 0), c(4))}
		}},
	},
	"addresses from data": {
		{"rows by number", func(m *maker) []ops.Arg { return []ops.Arg{m.Emit(ops.IndexSelect, m.in(7, 3), c(0), m.ids(5))} }},
		{"columns by number", func(m *maker) []ops.Arg { return []ops.Arg{m.Emit(ops.IndexSelect, m.in(7, 3), c(1), m.ids(5))} }},
		{"gather", func(m *maker) []ops.Arg { return []ops.Arg{m.Emit(ops.Gather, m.in(7, 3), c(0), m.ids(5, 2))} }},
		{"gather from nothing", func(m *maker) []ops.Arg { return []ops.Arg{m.Emit(ops.Gather, m.in(0, 3), c(0), m.ids(0, 3))} }},
		{"columns by a list", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.Index, m.in(7, 3, 4), []ops.Value{nil, m.ids(5), m.ids(5)})}
		}},
		{"outer dimensions by a list", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.Index, m.in(7, 3, 4), []ops.Value{m.ids(2, 1), nil, m.ids(5)})}
		}},
		{"put by a list", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.IndexPut, m.in(7, 3), []ops.Value{m.ids(5)}, m.in(5, 3), true)}
		}},
		{"scatter of a number", func(m *maker) []ops.Arg { return []ops.Arg{m.Emit(ops.Scatter, m.in(7, 3), c(1), m.ids(7, 1), 2.0)} }},
		{"scatter to a diagonal", func(m *maker) []ops.Arg { return []ops.Arg{m.Emit(ops.DiagonalScatter, m.in(4, 5), m.in(4), c(1))} }},
		{"scatter to a diagonal below", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.DiagonalScatter, m.in(4, 5), m.in(3), c(-1))}
		}},
		{"embedding", func(m *maker) []ops.Arg { return []ops.Arg{m.Emit(ops.Embedding, m.ids(2, 5), m.in(9, 3))} }},
		{"scatter", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.Scatter, m.in(7, 3), c(0), m.ids(5, 2), m.in(5, 2))}
		}},
		{"scatter that adds", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.ScatterAdd, m.in(7, 3), c(1), m.ids(5, 2), m.in(5, 2))}
		}},
		{"rows that are added", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.IndexAdd, m.in(7, 3), c(0), m.ids(5), m.in(5, 3))}
		}},
	},
	"pieces": {
		{"one after the other", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.Cat, []ops.Value{m.in(2, 3), m.in(4, 3)}, c(0))}
		}},
		{"side by side, of two types", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.Cat, []ops.Value{m.in(2, 3), m.ids(2, 4)}, c(1))}
		}},
		{"a frame of a number", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.ConstantPadNd, m.in(3, 4), ints(1, 2, 0, 1), 2.5)}
		}},
		{"a frame of mirrored pixels", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.Pad, m.in(1, 3, 4), ints(1, 2), "reflect")}
		}},
		{"flipped", func(m *maker) []ops.Arg { return []ops.Arg{m.Emit(ops.Flip, m.in(3, 4), ints(1))} }},
		{"a frame that cuts", func(m *maker) []ops.Arg { return []ops.Arg{m.Emit(ops.ConstantPadNd, m.in(3, 6), ints(-1, 2), 0.0)} }},
		{"a frame of nothing", func(m *maker) []ops.Arg { return []ops.Arg{m.Emit(ops.ConstantPadNd, m.in(3, 6), ints(0, 0), 0.0)} }},
		{"a frame of the last pixel", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.Pad, m.in(1, 3, 4), ints(1, 2), "replicate")}
		}},
		{"a frame from the other side", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.Pad, m.in(1, 3, 4), ints(1, 2), "circular")}
		}},
		{"nothing beside something", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.Cat, []ops.Value{m.in(2, 0), m.in(2, 3)}, c(1))}
		}},
		{"mean of windows without the frame", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.AvgPool1d, m.in(1, 2, 6), ints(3), ints(2), ints(1), false, false)}
		}},
		{"mean of windows beyond the end", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.AvgPool1d, m.in(1, 2, 6), ints(3), ints(2), ints(0), true)}
		}},
		{"mean of large windows", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.AvgPool2d, m.in(1, 2, 20, 20), ints(10, 10), ints(10, 10))}
		}},
		{"maximum of apart pixels", func(m *maker) []ops.Arg {
			return []ops.Arg{m.EmitN(ops.MaxPool1dIndices, m.in(1, 2, 9), ints(3), ints(1), ints(0), ints(2))[0]}
		}},
		{"mean down to one", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.AdaptiveAvgPool2d, m.in(1, 2, 6, 5), ints(1, 1))}
		}},
		{"maximum down to a grid", func(m *maker) []ops.Arg {
			return []ops.Arg{m.EmitN(ops.AdaptiveMaxPool1dIndices, m.in(1, 2, 7), ints(3))[0]}
		}},
		{"every second column", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.Sin, m.Emit(ops.Slice, m.in(3, 8), c(1), c(1), c(8), c(2)))}
		}},
		{"written into a slice", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.SliceScatter, m.in(3, 8), m.in(3, 2), c(1), c(2), c(6), c(2))}
		}},
		{"written into a row", func(m *maker) []ops.Arg { return []ops.Arg{m.Emit(ops.SelectScatter, m.in(3, 8), m.in(8), c(0), c(1))} }},
		{"mean of windows", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.AvgPool2d, m.in(1, 2, 6, 6), ints(3, 2), ints(2, 2), ints(1, 0))}
		}},
		{"maximum of windows, with places", func(m *maker) []ops.Arg {
			y := m.EmitN(ops.MaxPool2dIndices, m.in(1, 2, 6, 6), ints(3, 2), ints(2, 2), ints(1, 0))
			return []ops.Arg{y[0], y[1]}
		}},
		{"mean down to a grid", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.AdaptiveAvgPool2d, m.in(1, 2, 6, 5), ints(3, 2))}
		}},
	},
	"pointwise": {
		{"broadcast", func(m *maker) []ops.Arg { return []ops.Arg{m.Emit(ops.Sub, m.in(4, 1), m.in(6))} }},
		{"types meet", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.Mul, m.ids(4), m.in(4)), m.Emit(ops.Div, m.ids(4), c(2))}
		}},
		{"a choice", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.Where, m.Emit(ops.Gt, m.in(4), 0.0), m.in(4), 1.0)}
		}},
		{"a scaled summand", func(m *maker) []ops.Arg { return []ops.Arg{m.Emit(ops.Add, m.in(4), m.in(4), 2.0)} }},
		{"bounds", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.Clamp, m.in(4), -1.0, 2.0), m.Emit(ops.Clamp, m.ids(4), c(1), nil)}
		}},
		{"logic", func(m *maker) []ops.Arg {
			return []ops.Arg{m.Emit(ops.LogicalAnd, m.in(4), m.ids(4)), m.Emit(ops.Isnan, m.in(4))}
		}},
		{"what nobody reads goes", func(m *maker) []ops.Arg { x := m.in(4); m.Emit(ops.Exp, x); return []ops.Arg{m.Emit(ops.Sin, x)} }},
		{
			"a random number that nobody reads is drawn",
			func(m *maker) []ops.Arg { x := m.in(4); m.Emit(ops.RandLike, x); return []ops.Arg{m.Emit(ops.Sin, x)} },
		},
		{"calls of eager operators", func(m *maker) []ops.Arg {
			return []ops.Arg{m.EmitN(ops.Sort, m.in(4), c(0))[0], m.Emit(ops.RandLike, m.in(4))}
		}},
	},
}

// TestLowered holds the loops that graphs become, with their shapes, types,
// strides and addresses, against golden files.
func TestLowered(t *testing.T) {
	for file, cases := range lowered {
		t.Run(file, func(t *testing.T) {
			var sb strings.Builder
			for _, cs := range cases {
				fmt.Fprintf(&sb, "== %s\n%s\n", cs.name, text(t, cs.make))
			}
			golden.Equal(t, filepath.Join("testdata", strings.ReplaceAll(file, " ", "_")+".txt"), []byte(sb.String()))
		})
	}
}

// text is a lowered graph.
func text(t *testing.T, build func(m *maker) []ops.Arg) string {
	t.Helper()
	env := &sym.Env{}
	m := &maker{Builder: &graph.Builder{G: graph.New("g", env)}, env: env}
	m.G.SetOutput(build(m))
	p, err := Lower(m.G, Options{})
	if err != nil {
		return "refused: " + err.Error() + "\n"
	}
	return p.String()
}
