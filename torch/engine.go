package torch

import (
	"unsafe"

	"tcdbg/internal/ops"
	"tcdbg/internal/sym"
)

// This file is what the compiler needs of tensors and users do not.

// Binding tells the tracer how a Go function of this package (or of
// nn/functional) calls an operator.
type Binding struct {
	Op ops.ID
	// Method is set for methods of Tensor: the receiver is argument 0.
	Method bool
	// Params maps the function's parameters (without receiver and without the
	// final variadic one) to schema positions.
	Params []int
	// Variadic says how the final ...parameter is bound: as options
	// (keywords), as ints that make one int[] argument, or both mixed.
	Variadic VariadicKind
	// VariadicArg is the schema position that variadic ints fill.
	VariadicArg int
}

// VariadicKind says what a variadic parameter holds.
type VariadicKind uint8

// The kinds of variadic parameters.
const (
	VariadicNone    VariadicKind = iota
	VariadicOptions              // ...Option
	VariadicInts                 // ...int, one int[] argument
	VariadicMixed                // ...any: ints or []int, then Options
	VariadicTensors              // ...*Tensor, one Tensor[] argument
)

// Bindings maps full names of Go functions, as ssa.Function.String() gives
// them ("(*tcdbg/torch.Tensor).Add", "tcdbg/torch.Cat"), to operators.
func Bindings() map[string]Binding { panic("contract") }

// Call runs an operator eagerly on bound arguments (see ops.Bind) whose
// tensors are *Tensor. It records the tape where gradients are wanted and
// panics with *Error for arguments that do not fit.
func Call(op ops.ID, args []ops.Arg) []Value { panic("contract") }

// CallInto is Call without tape, writing the results into outs, which have the
// dtype and shape of the results (an arena buffer of a compiled program). For
// operators whose result is a view it copies.
func CallInto(op ops.ID, args []ops.Arg, outs []*Tensor) { panic("contract") }

// NewFake returns a tensor that has metadata only: the stand-in with which the
// tracer lets the program go on. Its Size, Shape and the like answer the hints
// of symbolic sizes; reading its data panics.
func NewFake(m *ops.TensorMeta) *Tensor { panic("contract") }

// Fake returns the metadata given to NewFake, nil for real tensors.
func (t *Tensor) Fake() *ops.TensorMeta { return t.fake }

// TensorMeta implements ops.Value.
func (t *Tensor) TensorMeta() *ops.TensorMeta { panic("contract") }

// NewStorage allocates n bytes, aligned to 64 and not cleared.
func NewStorage(n int) *Storage { panic("contract") }

// FromStorage makes a tensor over st: shape and stride in elements, offset in
// elements. It does not check that they lie within st.
func FromStorage(st *Storage, d DType, shape, stride []int, offset int) *Tensor {
	return &Tensor{storage: st, dtype: d, device: ops.CPU, shape: shape, stride: stride, offset: offset}
}

// Storage returns the memory behind t; nil for fake tensors.
func (t *Tensor) Storage() *Storage { return t.storage }

// Ptr returns the address of t's first element; nil when t has no elements or
// no data.
func (t *Tensor) Ptr() unsafe.Pointer { panic("contract") }

// Layout returns t's shape and strides without copying them.
func (t *Tensor) Layout() (shape, stride []int, offset int) { return t.shape, t.stride, t.offset }

// GradEnabled reports whether operators record the tape (process-wide).
func GradEnabled() bool { panic("contract") }

// WithBackward makes outs results of one tape node: when a gradient is wanted,
// backward gets those of outs (nil where unused) and returns those of inputs.
// Compiled graphs attach their backward graph with it.
func WithBackward(name string, inputs, outs []*Tensor, backward func(grads []*Tensor) []*Tensor) {
	panic("contract")
}

// ShapeHint converts symbolic sizes to the concrete ones of a fake tensor.
func ShapeHint(s []sym.Int) []int { return sym.Hints(s) }
