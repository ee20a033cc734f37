package torch

import (
	"fmt"
	"math"
	"slices"
	"unsafe"

	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch/internal/refusal"
	"tcdbg/torch/internal/strided"
)

// This file is what the compiler needs of tensors and users do not.

// Error is the panic value of an operator that refuses its arguments.
type Error struct {
	Op   string // PyTorch's name of the operator
	Kind string // the class that Python would raise: RuntimeError, IndexError, ...
	Msg  string
}

// Error is PyTorch's message.
func (e *Error) Error() string { return e.Msg }

// String is the message as Python prints an exception.
func (e *Error) String() string { return e.Kind + ": " + e.Msg }

func init() {
	refusal.New = func(op, kind, msg string) error { return &Error{Op: op, Kind: kind, Msg: msg} }
}

// Overwritten is the refusal of a backward pass that needs t as it was at
// version want.
func Overwritten(t *Tensor, now, want uint64) *Error {
	return overwritten(t, t.edgeFn(), t.outIndex, now, want)
}

// overwritten is Overwritten of what was then result number index of fn.
func overwritten(t *Tensor, fn *gradFn, index int, now, want uint64) *Error {
	from := ""
	if fn != nil {
		from = fmt.Sprintf(", which is output %d of %s,", index, fn.name)
	}
	return &Error{Op: "backward", Kind: "RuntimeError", Msg: fmt.Sprintf(
		"one of the variables needed for gradient computation has been modified by an inplace operation: [torch.%sTensor %s]%s is "+
			"at version %d; expected version %d instead.",
		t.array.DType.ScalarType(), refusal.Ints(t.array.Shape), from, now, want)}
}

// GradPlace is where t keeps its gradient: compiled functions read and replace it
// as they do a field of the program's own.
func (t *Tensor) GradPlace() **Tensor { return &t.grad }

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
	// VariadicArg is the schema position that variadic ints (or further
	// positional arguments) fill first.
	VariadicArg int
	// Device is the device that the function itself passes: that of Tensor.cpu().
	Device ops.Device
}

// VariadicKind says what a variadic parameter holds.
type VariadicKind uint8

// The kinds of variadic parameters.
const (
	VariadicNone       VariadicKind = iota
	VariadicOptions                 // ...Option
	VariadicInts                    // ...int, one int[] argument
	VariadicMixed                   // ...any: ints or []int, then Options
	VariadicTensors                 // ...*Tensor, one Tensor[] argument
	VariadicPositional              // ...any: further positional arguments, then Options
	VariadicIndex                   // ...any: subscripts as Tensor.Index takes them
)

// NewFake returns a tensor that has metadata only: the stand-in with which the
// tracer lets the program go on. Its Size, Shape and the like answer the hints
// of symbolic sizes; reading its data panics.
func NewFake(m *ops.TensorMeta) *Tensor {
	return &Tensor{
		fake: m, requiresGrad: m.RequiresGrad,
		array: strided.Array{
			DType: m.DType, Device: m.Device, Shape: sym.Hints(m.Shape), Stride: sym.Hints(m.Stride),
			Offset: int(m.Offset.Hint()),
		},
	}
}

// Fake returns the metadata given to NewFake, nil for real tensors.
func (t *Tensor) Fake() *ops.TensorMeta { return t.fake }

// FromStorage makes a tensor over st: shape and stride in elements, offset in
// elements. It does not check that they lie within st; nil is an empty storage.
func FromStorage(st *Storage, d DType, shape, stride []int, offset int) *Tensor {
	if st == nil {
		st = &Storage{}
	}
	return &Tensor{array: strided.Array{Storage: st.memory(), DType: d, Device: ops.CPU, Shape: shape, Stride: stride, Offset: offset}}
}

// FromFresh is FromStorage for a result that is the only tensor of its memory and goes to the
// caller alone: a gradient that a leaf may keep as it is, or memory that Release may give back.
func FromFresh(st *Storage, d DType, shape, stride []int, offset int) *Tensor {
	t := FromStorage(st, d, shape, stride, offset)
	t.fresh = st != nil
	return t
}

// Hooked reports whether a hook is registered on t, a leaf or nil.
func Hooked(t *Tensor) bool {
	return t != nil && slices.ContainsFunc(t.hooks, func(h *hook) bool { return h.f != nil })
}

// FreeHistory gives t, a result of compiled code in which a backward pass has run, the history
// that is left: gradients reached it, and another pass through it is refused.
func FreeHistory(t *Tensor) {
	t.fn, t.outIndex = newNode("CompiledFunctionBackward", 1, nil, nil), 0
	t.fn.free()
	t.meta.Store(nil)
}

// Release gives back the memory of a result of FromFresh that nobody has seen or will; of other
// tensors it leaves the memory to the collector.
func Release(t *Tensor) {
	if t.fresh && t.fn == nil {
		t.fresh = false
		t.array.Storage.Release()
	}
}

// OwnGrad notes of a result of FromFresh that has become the gradient of a leaf that nothing else
// refers to it. It is true until Grad hands the gradient out, or compiled code that may keep it reads it (Seen).
func OwnGrad(t *Tensor) {
	if t.fresh && t.fn == nil {
		t.kept = true
		t.unseen.Store(true)
	}
}

// Seen notes that something else than its leaf may refer to the gradient t, or nil.
func Seen(t *Tensor) {
	if t != nil && t.unseen.Load() {
		t.unseen.Store(false)
	}
}

// HasGrad reports whether t has a gradient, without handing it out as Grad does.
func HasGrad(t *Tensor) bool { return t.grad != nil }

// DropGrad clears the gradient at a place (GradPlace) and gives its memory back where nothing else
// refers to it; else the collector does that.
func DropGrad(place **Tensor) {
	t := *place
	*place = nil
	if t != nil && t.unseen.Load() {
		Release(t)
	}
}

// Renew makes t what FromStorage(st, d, shape, stride, offset) would return: the
// result of another run in the same memory, whose old content is gone.
func Renew(t *Tensor, st *Storage, d DType, shape, stride []int, offset int) {
	*t = Tensor{array: strided.Array{Storage: st.memory(), DType: d, Device: ops.CPU, Shape: shape, Stride: stride, Offset: offset}}
}

// Storage returns the memory of t; nil for fake tensors.
func (t *Tensor) Storage() *Storage { return (*Storage)(t.array.Storage) }

// CallUntaped is Call under no_grad for this call alone.
func CallUntaped(op ops.ID, args []ops.Arg) []Value { return call(ops.Get(op), args, false) }

// CallUnrecorded is Call of an operator whose gradient nobody wants: nothing goes on
// the tape, but views count as taken in the mode of the goroutine (see viewMeta).
func CallUnrecorded(op ops.ID, args []ops.Arg) []Value {
	row := ops.Get(op)
	outs := call(row, args, false)
	if row.Tags.Has(ops.TagView) || row.Tags.Has(ops.TagMaybeView) {
		setViewMeta(row, args, outs, GradEnabled())
	}
	return outs
}

// ViewRoot is the tensor whose memory a differentiable view shows: t itself
// where it is none.
func (t *Tensor) ViewRoot() *Tensor { return root(t) }

// Ptr returns the address of t's first element; nil when t has no elements or
// no data.
func (t *Tensor) Ptr() unsafe.Pointer { return t.array.Ptr() }

// Array is the array that kernels see of t, nil of no tensor.
func (t *Tensor) Array() *strided.Array {
	if t == nil {
		return nil
	}
	return &t.array
}

// Layout returns t's shape and strides without copying them.
func (t *Tensor) Layout() (shape, stride []int, offset int) {
	return t.array.Shape, t.array.Stride, t.array.Offset
}

// ShapeHint converts symbolic sizes to the concrete ones of a fake tensor.
func ShapeHint(s []sym.Int) []int { return sym.Hints(s) }

// WatchGrads has f called before each function of a backward pass runs, with its name and the
// gradients that it gets; what f returns is called with those that it gave. nil ends that.
func WatchGrads(f func(name string, got []*Tensor) func(gave []*Tensor)) {
	if f == nil {
		gradWatch.Store(nil)
		return
	}
	gradWatch.Store(&f)
}

// WatchCalls has f called before each operator that is called, and those that it is made of, with
// its arguments; what f returns, where it is not nil, is called with the results. nil ends that.
func WatchCalls(f func(row *ops.Op, args []ops.Arg) func(outs []Value)) {
	if f == nil {
		callWatch.Store(nil)
		return
	}
	callWatch.Store(&f)
}

// RandomState keeps where the default generator is; the function that it returns puts
// the generator back there, as often as it is called.
func RandomState() (restore func()) {
	source := DefaultGenerator().source
	kept := source.Snapshot()
	return func() { source.Restore(kept) }
}

// NonFinite says how many NaN and Inf t has, "" for none and where t has no numbers.
func NonFinite(t *Tensor) string {
	if t == nil || t.fake != nil || !t.DType().IsFloat() || t.array.Storage == nil || t.array.Device == ops.Meta {
		return ""
	}
	nan, inf := 0, 0
	for _, x := range t.Float64s() {
		switch {
		case math.IsNaN(x):
			nan++
		case math.IsInf(x, 0):
			inf++
		}
	}
	switch {
	case nan > 0 && inf > 0:
		return fmt.Sprintf("%d NaN and %d Inf", nan, inf)
	case nan > 0:
		return fmt.Sprintf("%d NaN", nan)
	case inf > 0:
		return fmt.Sprintf("%d Inf", inf)
	}
	return ""
}
