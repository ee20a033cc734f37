package ops

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tcdbg/ops/sym"
)

// This file is the arithmetic of shapes and strides, and how errors write them.

// Errorf is the error of a shape or dtype rule, in PyTorch's words.
func Errorf(format string, args ...any) error { return &Error{Msg: fmt.Sprintf(format, args...)} }

// IndexErrorf is Errorf for what Python raises as IndexError.
func IndexErrorf(format string, args ...any) error {
	return &Error{Kind: "IndexError", Msg: fmt.Sprintf(format, args...)}
}

// Error is a refusal: Msg is PyTorch's text, Kind the exception's class where
// it is not RuntimeError.
type Error struct {
	Kind string
	Msg  string
}

func (e *Error) Error() string { return e.Msg }

// ShapeText prints a shape as PyTorch's messages do: [3, 4].
func ShapeText(s []sym.Int) string {
	parts := make([]string, len(s))
	for i, x := range s {
		parts[i] = x.String()
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// tupleText shows a shape as Python prints a tuple.
func tupleText(s []sym.Int) string {
	text := strings.Trim(ShapeText(s), "[]")
	if len(s) == 1 {
		text += ","
	}
	return "(" + text + ")"
}

// ContiguousStrides are the row-major strides of shape; a dimension of size 0
// counts as 1.
func ContiguousStrides(shape []sym.Int) []sym.Int {
	out := make([]sym.Int, len(shape))
	step := sym.C(1)
	for i := len(shape) - 1; i >= 0; i-- {
		out[i] = step
		if !sym.Is(shape[i], 0) {
			step = sym.Mul(step, shape[i])
		}
	}
	return out
}

// IsContiguous reports whether strides are row-major, where dimensions of
// size 1 do not matter.
func IsContiguous(m *TensorMeta) bool {
	want := sym.C(1)
	for i := len(m.Shape) - 1; i >= 0; i-- {
		if sym.Is(m.Shape[i], 0) {
			return true
		}
	}
	for i := len(m.Shape) - 1; i >= 0; i-- {
		if sym.Is(m.Shape[i], 1) {
			continue
		}
		if !sym.Same(m.Stride[i], want) && !sym.Eq(m.Stride[i], want) {
			return false
		}
		want = sym.Mul(want, m.Shape[i])
	}
	return true
}

// isChannelsLast reports whether a 4- or 5-dimensional tensor is stored with
// its dimension 1 innermost.
func isChannelsLast(m *TensorMeta) bool {
	n := len(m.Shape)
	if n != 4 && n != 5 {
		return false
	}
	want := sym.C(1)
	for _, i := range channelsLastOrder(n) {
		if sym.Is(m.Shape[i], 1) {
			continue
		}
		if sym.Is(m.Shape[i], 0) || sym.Ne(m.Stride[i], want) {
			return false
		}
		want = sym.Mul(want, m.Shape[i])
	}
	return true
}

// channelsLastOrder lists the dimensions from the innermost outwards.
func channelsLastOrder(n int) []int {
	order := []int{1}
	for i := n - 1; i >= 2; i-- {
		order = append(order, i)
	}
	return append(order, 0)
}

// ChannelsLastStrides are the strides of a channels-last tensor.
func ChannelsLastStrides(shape []sym.Int) []sym.Int {
	return stridesInOrder(shape, channelsLastOrder(len(shape)))
}

// stridesInOrder lays out shape densely; order lists the dimensions from the
// innermost outwards.
func stridesInOrder(shape []sym.Int, order []int) []sym.Int {
	out := make([]sym.Int, len(shape))
	step := sym.C(1)
	for _, i := range order {
		out[i] = step
		if !sym.Is(shape[i], 0) {
			step = sym.Mul(step, shape[i])
		}
	}
	return out
}

// isDense reports whether the elements fill their memory without gap or overlap.
func isDense(m *TensorMeta) bool {
	order := strideOrder(m)
	want := sym.C(1)
	for _, i := range order {
		if sym.Is(m.Shape[i], 0) {
			return true
		}
		if sym.Is(m.Shape[i], 1) {
			continue
		}
		if sym.Ne(m.Stride[i], want) {
			return false
		}
		want = sym.Mul(want, m.Shape[i])
	}
	return true
}

// strideOrder lists the dimensions from the smallest stride to the largest.
func strideOrder(m *TensorMeta) []int {
	order := make([]int, 0, len(m.Shape))
	for i := len(m.Shape) - 1; i >= 0; i-- {
		j := len(order)
		for j > 0 && sym.Lt(m.Stride[i], m.Stride[order[j-1]]) {
			j--
		}
		order = append(order, 0)
		copy(order[j+1:], order[j:])
		order[j] = i
	}
	return order
}

// LikeStrides is what preserve_format gives: m's strides when m is dense, else
// strides in the order of m's.
func LikeStrides(m *TensorMeta) []sym.Int {
	if IsContiguous(m) {
		return ContiguousStrides(m.Shape)
	}
	if isDense(m) {
		return m.Stride
	}
	return iteratorStrides(m.Shape, []*TensorMeta{m})
}

// Broadcast returns the common shape of shapes.
func Broadcast(shapes ...[]sym.Int) ([]sym.Int, error) {
	var out []sym.Int
	for i, s := range shapes {
		if i == 0 {
			out = s
			continue
		}
		var err error
		if out, err = broadcast2(out, s); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func broadcast2(a, b []sym.Int) ([]sym.Int, error) {
	if sym.AllSame(a, b) {
		return a, nil
	}
	n := max(len(a), len(b))
	out := make([]sym.Int, n)
	for i := 1; i <= n; i++ {
		x, y := sym.C(1), sym.C(1)
		if i <= len(a) {
			x = a[len(a)-i]
		}
		if i <= len(b) {
			y = b[len(b)-i]
		}
		switch {
		case sym.Same(x, y), sym.Is(y, 1):
			out[n-i] = x
		case sym.Is(x, 1):
			out[n-i] = y
		case sym.Eq(x, y):
			out[n-i] = x
		case sym.Eq(x, sym.C(1)):
			out[n-i] = y
		case sym.Eq(y, sym.C(1)):
			out[n-i] = x
		default:
			return nil, Errorf("The size of tensor a (%s) must match the size of tensor b (%s) at non-singleton dimension %d", x, y, n-i)
		}
	}
	return out, nil
}

// equalShape compares with guards.
func equalShape(a, b []sym.Int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if sym.Ne(a[i], b[i]) {
			return false
		}
	}
	return true
}

// ElementwiseStrides are the strides that PyTorch's TensorIterator gives to
// the result of a pointwise operator on ins, whose broadcast shape is shape.
func ElementwiseStrides(shape []sym.Int, ins []*TensorMeta) []sym.Int {
	same, contiguous := true, true
	for _, m := range ins {
		same = same && sym.AllSame(m.Shape, shape)
		contiguous = contiguous && same && IsContiguous(m)
	}
	if len(ins) == 0 || (same && contiguous) {
		return ContiguousStrides(shape)
	}
	if same {
		if s := sharedLayout(shape, ins); s != nil {
			return s
		}
	}
	return iteratorStrides(shape, ins)
}

// sharedLayout returns the layout that all inputs have, nil when they differ.
func sharedLayout(shape []sym.Int, ins []*TensorMeta) []sym.Int {
	last := true
	for _, m := range ins {
		last = last && isChannelsLast(m)
	}
	if last {
		return ChannelsLastStrides(shape)
	}
	if !isDense(ins[0]) {
		return nil
	}
	for _, m := range ins[1:] {
		if !equalShape(m.Stride, ins[0].Stride) {
			return nil
		}
	}
	return ins[0].Stride
}

// iteratorStrides orders the dimensions by the inputs' strides, the first
// unambiguous input deciding, and lays the result out densely in that order.
func iteratorStrides(shape []sym.Int, ins []*TensorMeta) []sym.Int {
	n := len(shape)
	perm := make([]int, n) // from the innermost outwards
	for i := range perm {
		perm[i] = n - 1 - i
	}
	for i := 1; i < n; i++ {
		at := i
		for prev := i - 1; prev >= 0; prev-- {
			cmp := compareDims(shape, ins, perm[prev], perm[at])
			if cmp > 0 {
				perm[prev], perm[at] = perm[at], perm[prev]
				at = prev
			} else if cmp < 0 {
				break
			}
		}
	}
	return stridesInOrder(shape, perm)
}

// compareDims is positive when dimension a should lie outside of b.
func compareDims(shape []sym.Int, ins []*TensorMeta, a, b int) int {
	for _, m := range ins {
		sa, sb := broadcastStride(m, a, len(shape)), broadcastStride(m, b, len(shape))
		if sym.Is(sa, 0) || sym.Is(sb, 0) {
			continue
		}
		if sym.Same(sa, sb) {
			if sym.Gt(shape[a], shape[b]) {
				return 1
			}
			continue
		}
		if sym.Lt(sa, sb) {
			return -1
		}
		if sym.Gt(sa, sb) {
			return 1
		}
		if sym.Gt(shape[a], shape[b]) {
			return 1
		}
	}
	return 0
}

// broadcastStride is m's stride in dimension i of an n-dimensional result.
func broadcastStride(m *TensorMeta, i, n int) sym.Int {
	j := i - (n - len(m.Shape))
	if j < 0 || sym.Is(m.Shape[j], 1) {
		return sym.Int{}
	}
	return m.Stride[j]
}

// WrapDim turns a negative dimension into a position below n.
func WrapDim(dim sym.Int, n int) (int, error) { return wrapDim(int(sym.Force(dim)), n) }

func wrapDim(d, n int) (int, error) {
	m := max(n, 1)
	if d < -m || d >= m {
		return 0, IndexErrorf("Dimension out of range (expected to be in range of [%d, %d], but got %d)", -m, m-1, d)
	}
	if d < 0 {
		d += m
	}
	return d, nil
}

// wrapDims marks the dimensions that dims names; none means all when all is set.
func wrapDims(dims []sym.Int, n int, all bool) ([]bool, error) {
	if n > 64 {
		return nil, Errorf("only tensors with up to 64 dims are supported")
	}
	out := make([]bool, n)
	if len(dims) == 0 && all {
		for i := range out {
			out[i] = true
		}
		return out, nil
	}
	for _, d := range dims {
		i, err := WrapDim(d, n)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			continue
		}
		if out[i] {
			return nil, Errorf("dim %d appears multiple times in the list of dims", i)
		}
		out[i] = true
	}
	return out, nil
}

// NewMeta describes a fresh contiguous tensor.
func NewMeta(d DType, dev Device, shape []sym.Int) *TensorMeta {
	return &TensorMeta{DType: d, Device: dev, Shape: shape, Stride: ContiguousStrides(shape)}
}

// numel multiplies the sizes.
func numel(shape []sym.Int) sym.Int { return sym.Product(shape) }

var (
	symZero = sym.C(0)
	symOne  = sym.C(1)
	// symEnd is the end of an open slice.
	symEnd = sym.Const(1<<63 - 1)
)

func cloneInts(s []sym.Int) []sym.Int { return slices.Clone(s) }
func symHalf(x sym.Int) sym.Int       { return sym.FloorDiv(x, sym.C(2)) }
func symOdd(x sym.Int) bool           { return sym.Ne(sym.Mod(x, sym.C(2)), symZero) }

// without removes position i.
func without[T any](s []T, i int) []T { return slices.Delete(slices.Clone(s), i, i+1) }

// replaced is s with position i set to x.
func replaced(s []sym.Int, i int, x sym.Int) []sym.Int {
	out := slices.Clone(s)
	out[i] = x
	return out
}

// inserted is s with x put in front of position i.
func inserted(s []sym.Int, i int, x sym.Int) []sym.Int { return slices.Insert(slices.Clone(s), i, x) }

// trueDims lists the marked positions.
func trueDims(mask []bool) []int {
	var out []int
	for i, m := range mask {
		if m {
			out = append(out, i)
		}
	}
	return out
}

// seq is from, from+1, ..., to-1.
func seq(from, to int) []int {
	out := make([]int, 0, max(to-from, 0))
	for i := from; i < to; i++ {
		out = append(out, i)
	}
	return out
}

// floatText is a number as Python prints it.
func floatText(f float64) string {
	s := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(s, ".einf") {
		s += ".0"
	}
	return s
}
