package ops

import (
	"sync/atomic"

	"tcdbg/ops/sym"
)

// ID is the dense index of a row: zz_ids.go, which cmd/genrows writes, has a constant for
// each. torch's eager kernels, inductor's lowerings and everything else that is keyed by
// operator are arrays over it. The order has no meaning and may change; nothing on disk
// holds an ID.
//
// The in-place form of operator X is InPlaceOffset+X: see InPlace.
type ID uint16

// NumIDs is the number of IDs.
const NumIDs = 2 * numFunctional

// TensorMeta is all that is known of a tensor before it has data.
type TensorMeta struct {
	DType        DType
	Device       Device
	RequiresGrad bool
	Shape        []sym.Int
	Stride       []sym.Int // in elements
	Offset       sym.Int   // in elements from the start of the storage
}

// Value is a tensor as rules see it: *torch.Tensor when a rule runs eagerly,
// *graph.Node when it builds a graph.
type Value interface {
	// TensorMeta describes the tensor. The caller must not change it.
	TensorMeta() *TensorMeta
}

// Arg is one argument of a bound call, in schema order:
//
//	Value | []Value | sym.Int | []sym.Int | float64 | []float64 | bool |
//	string | DType | Device | []bool | nil (an optional argument left out)
//
// int, int64 and []int become sym.Int when a call is bound. A []Value may hold
// nil elements where the schema says Tensor?[].
type Arg = any

// Result is one result of a call: *TensorMeta for a tensor, or a symbolic
// scalar (sym.Int, or ScalarMeta for a number that comes out of data).
type Result = any

// ScalarMeta is a number read out of tensor data (item), or computed of such numbers. Expr is
// its value in PyTorch's notation, "" where nothing is known of it.
type ScalarMeta struct {
	DType DType
	Expr  string
}

// Call is an operator with its bound arguments, one for each schema parameter.
type Call struct {
	Op   *Op
	Args []Arg
}

// Builder makes calls: eagerly, into a graph, or on metas alone.
type Builder interface {
	// Emit calls op with positional arguments args (missing trailing ones take
	// their defaults) and returns its first result.
	Emit(op ID, args ...Arg) Value
	// EmitN is Emit for operators with several tensor results.
	EmitN(op ID, args ...Arg) []Value
}

// Op is one row of the table.
type Op struct {
	ID ID
	// Name is PyTorch's name without overload: "add", "max", "layer_norm".
	Name string
	// Overload is aten's overload name where rows share a Name ("dim" for
	// max.dim) and "" for the row that plain Name means.
	Overload string
	// Schema in the notation of native_functions.yaml, without the name:
	// "(Tensor self, Operand other, *, Scalar alpha=1) -> Tensor".
	// Operand is a Tensor or a number.
	Schema string
	Tags   Tag
	// Meta computes the results of a call, or says in PyTorch's terms why the
	// arguments do not fit. It decides questions on sizes through sym.Eq and
	// its kin, which leave guards.
	Meta func(c *Call) ([]Result, error)
	// Backward returns the gradients of the tensor arguments, one for each
	// slot that TensorArgs lists (nil: no gradient), given those of the
	// outputs (an element is nil where an output was not used). Nil when the
	// operator is not differentiable (see TagNoGrad) or when its derivative is
	// that of its decomposition.
	Backward func(b Builder, c *BackwardCall) []Value
	// Decompose expresses a call through other operators; nil for core ones.
	Decompose func(b Builder, c *Call) []Value
	// GradName is the tape's name where it is not Name + "Backward0".
	GradName string
	// Aliases are PyTorch's second names: "absolute" for "abs". A graph shows Name; the
	// Go spelling has them all, and those of the in-place form.
	Aliases []string
	// Mutates lists the positions of the arguments that a call of a row with TagMutates
	// writes; nil where this call writes none.
	Mutates func(args []Arg) []int

	params atomic.Pointer[[]Param]
}

// FullName is the name with its overload: "max.dim".
func (op *Op) FullName() string {
	if op.Overload == "" {
		return op.Name
	}
	return op.Name + "." + op.Overload
}

// TensorArgs lists the tensor slots of a bound call in schema order: one for
// each parameter that takes a tensor (nil where a number or None was given)
// and one for each element of a tensor list.
func TensorArgs(op *Op, args []Arg) []Value {
	var out []Value
	params := op.Params()
	for i := range params {
		switch {
		case params[i].IsTensor():
			v, _ := args[i].(Value)
			out = append(out, v)
		case params[i].IsTensors():
			list, _ := args[i].([]Value)
			out = append(out, list...)
		}
	}
	return out
}

// BackwardCall is what a derivative may use.
type BackwardCall struct {
	*Call
	Outs  []Value // results of the forward call
	Grads []Value // gradients of Outs
	// Needs tells for each schema parameter whether its gradient (for a list:
	// that of any element) is wanted.
	Needs []bool
}

// Tag says what kind of operator a row is.
type Tag uint32

// The tags.
const (
	// TagView results share the storage of the first tensor argument; Meta gives
	// their strides and offset, so no kernel is needed.
	TagView Tag = 1 << iota
	// TagMaybeView results may share it (reshape, contiguous, to).
	TagMaybeView
	// TagInPlace operators write their first argument and return it; the rest of
	// the row is that of the operator without the underscore.
	TagInPlace
	// TagRandom operators draw from a generator.
	TagRandom
	// TagDataDependent operators give results whose number or shape depends on data.
	TagDataDependent
	// TagPointwise operators compute each element from the broadcast elements.
	TagPointwise
	// TagReduction operators fold dimensions away.
	TagReduction
	// TagFactory operators take no tensor.
	TagFactory
	// TagNoGrad operators have a zero or undefined derivative everywhere
	// (comparisons, argmax), so that a missing Backward is no gap.
	TagNoGrad
	// TagNotMethod operators exist as functions only (torch.cat, F.linear).
	TagNotMethod
	// TagNN operators belong to torch.nn.functional.
	TagNN
	// TagNotFunction operators exist as methods only (view, item).
	TagNotFunction
	// TagInternal operators are made by decompositions and derivatives only.
	TagInternal
	// TagMutates operators change further arguments in place (the running
	// statistics of batch_norm): they must be decomposed before a graph is made
	// functional.
	TagMutates
	// TagHasInPlace operators exist with an underscore, too (see inPlaceRow).
	TagHasInPlace
	// TagComplex operators are right on complex tensors, as views are; all others refuse
	// them (CheckComplex).
	TagComplex
	// TagComplexGrad operators have a derivative that speaks of complex gradients, so that
	// conjugated must not be applied to it.
	TagComplexGrad
)

// and adds tags to a row.
func (op *Op) and(t Tag) *Op {
	op.Tags |= t
	return op
}

// named adds second names to a row.
func (op *Op) named(aliases ...string) *Op {
	op.Aliases = aliases
	return op
}

// Mutated lists the positions of the arguments that a call writes beside its results:
// running statistics where training is on, the table of an embedding whose rows have a
// greatest norm.
func Mutated(op *Op, args []Arg) []int {
	if op.Mutates == nil {
		return nil
	}
	return op.Mutates(args)
}

// writesIf makes a row one whose calls write arguments where the argument flag is true,
// or a number.
func (op *Op) writesIf(flag string, written ...string) *Op {
	op.Tags |= TagMutates
	op.Mutates = func(args []Arg) []int {
		if a := args[op.position(flag)]; a == nil || a == false {
			return nil
		}
		out := make([]int, len(written))
		for i, name := range written {
			out[i] = op.position(name)
		}
		return out
	}
	return op
}

// Has reports whether all of u is set.
func (t Tag) Has(u Tag) bool { return t&u == u }
