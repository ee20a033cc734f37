package torch

import (
	"runtime"
	"slices"

	"tcdbg/ops"
	"tcdbg/torch/internal/memory"
	"tcdbg/torch/internal/parallel"
	"tcdbg/torch/internal/simd"
	"tcdbg/torch/internal/strided"
)

// This file is a short way for calls whose price is the call: functions of one
// or two contiguous float32 tensors of one shape, without tape. What does not
// fit goes the long way, which also says what is wrong with it.

// quickLimit is the number of elements from which on the long way, which uses
// several threads, costs nothing in comparison.
const quickLimit = parallel.Grain

var (
	quickUnary = map[ops.ID]simd.Unary{
		ops.Neg: simd.Neg, ops.Abs: simd.Abs, ops.Relu: simd.Relu, ops.Sqrt: simd.Sqrt,
		ops.Exp: simd.Exp, ops.Sigmoid: simd.Sigmoid, ops.Silu: simd.Silu, ops.Tanh: simd.Tanh,
	}
	quickBinary = map[ops.ID]simd.Binary{ops.Add: simd.Add, ops.Sub: simd.Sub, ops.Mul: simd.Mul, ops.Div: simd.Div}
)

// quickKind says which of them an operator is.
type quickKind struct {
	args   int8 // 0 for operators that are neither
	unary  simd.Unary
	binary simd.Binary
}

var quickKinds = func() (table [ops.NumIDs]quickKind) {
	for id, f := range quickUnary {
		table[id] = quickKind{args: 1, unary: f}
	}
	for id, f := range quickBinary {
		table[id] = quickKind{args: 2, binary: f}
	}
	return table
}()

// quick computes a call, or returns nil where it must go the long way.
func quick(op ops.ID, pos []ops.Arg) *Tensor {
	kind := &quickKinds[op]
	if kind.args == 0 || len(pos) != int(kind.args) {
		return nil
	}
	x, ok := pos[0].(*Tensor)
	if !ok || !x.quick() {
		return nil
	}
	n := strided.Product(x.array.Shape)
	if n == 0 || n > quickLimit {
		return nil
	}
	defer runtime.KeepAlive(pos) // and with it what the slices below show
	if kind.args == 1 {
		out := smallTensor(x.array.Shape, n)
		simd.Active().Unary(kind.unary, strided.Slice[float32](&out.array), strided.Slice[float32](&x.array))
		return out
	}
	switch y := pos[1].(type) {
	case *Tensor:
		if y == nil || !y.quick() || !slices.Equal(x.array.Shape, y.array.Shape) {
			return nil
		}
		out := smallTensor(x.array.Shape, n)
		simd.Active().Binary(
			kind.binary, strided.Slice[float32](&out.array), strided.Slice[float32](&x.array),
			strided.Slice[float32](&y.array),
		)
		return out
	case float64:
		return quickScalar(kind.binary, x, n, y)
	case int:
		return quickScalar(kind.binary, x, n, float64(y))
	}
	return nil
}

// quickScalar is a call with a number.
func quickScalar(f simd.Binary, x *Tensor, n int, v float64) *Tensor {
	out := smallTensor(x.array.Shape, n)
	simd.Active().WithScalar(f, strided.Slice[float32](&out.array), strided.Slice[float32](&x.array), float32(v))
	return out
}

// quick reports whether the short way may read t.
func (t *Tensor) quick() bool {
	return t != nil && t.array.DType == ops.Float32 && t.array.Device == ops.CPU && t.fake == nil && len(t.array.Shape) <= quickDims &&
		(!t.RequiresGrad() || !GradEnabled()) && t.IsContiguous()
}

const quickDims = 4

// tensorRoom is a tensor with what it points to, in one allocation.
type tensorRoom struct {
	tensor  Tensor
	storage memory.Storage
	shape   [quickDims]int
	stride  [quickDims]int
}

// smallTensor allocates a contiguous float32 tensor of n elements.
func smallTensor(shape []int, n int) *Tensor {
	r := &tensorRoom{}
	t, d := &r.tensor, len(shape)
	if r.storage.Small(4 * n) {
		t.array.Storage = &r.storage
	} else {
		t.array.Storage = memory.NewStorage(4 * n)
	}
	t.array.DType, t.array.Device = ops.Float32, ops.CPU
	t.array.Shape, t.array.Stride = r.shape[:d:d], r.stride[:d:d]
	step := 1
	for i := d - 1; i >= 0; i-- {
		t.array.Shape[i], t.array.Stride[i] = shape[i], step
		step *= max(shape[i], 1)
	}
	return t
}
