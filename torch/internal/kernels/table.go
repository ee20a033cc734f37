package kernels

import (
	"sync"

	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch/internal/refusal"
	"tcdbg/torch/internal/strided"
)

// This file is the table of eager kernels, an array over operator IDs, and
// what kernels use to read their arguments.

// Call is a call with its results allocated.
type Call struct {
	*ops.Call
	Outs []*strided.Array
	room [2]*strided.Array // of Outs
	// dtype is the first result's type by the rule; in place, Outs[0] may have
	// another one.
	dtype ops.DType
	// New says that the results were allocated for the call: nobody has written to them.
	New bool
	// Declined says that the operator's decomposition is to compute the call.
	Declined bool
}

// NewCall is a call whose results AddOut gives.
func NewCall(c *ops.Call, d ops.DType) *Call {
	k := &Call{Call: c, dtype: d}
	k.Outs = k.room[:0]
	return k
}

// AddOut adds a result.
func (k *Call) AddOut(t *strided.Array) { k.Outs = append(k.Outs, t) }

// Kernel computes a call into its results.
type Kernel func(k *Call)

// DynamicKernel allocates its own results, whose shape data decides.
type DynamicKernel func(k *Call) []any

// tables is filled on first use: its functions call kernels again, so it
// cannot be an initialised variable.
var tables struct {
	once    sync.Once
	fixed   [ops.NumIDs]Kernel
	dynamic [ops.NumIDs]DynamicKernel
}

func fillTables() {
	for _, family := range []func() map[ops.ID]Kernel{
		unaryKernels, binaryKernels, copyKernels, reduceKernels, matmulKernels, indexKernels, factoryKernels, normKernels,
		sortKernels, advancedKernels, convKernels, poolKernels,
		specialKernels, ctcKernels, linalgKernels, choiceKernels, histogramKernels, pairKernels,
	} {
		for id, k := range family() {
			if tables.fixed[id] != nil {
				panic("torch: two kernels for " + ops.Get(id).Name)
			}
			tables.fixed[id] = k
		}
	}
	for _, family := range []func() map[ops.ID]DynamicKernel{shapeKernels, dataKernels} {
		for id, k := range family() {
			tables.dynamic[id] = k
		}
	}
}

// Fixed are the kernels whose results the rule allocates.
func Fixed() *[ops.NumIDs]Kernel {
	tables.once.Do(fillTables)
	return &tables.fixed
}

// Dynamic are the kernels that allocate their results.
func Dynamic() *[ops.NumIDs]DynamicKernel {
	tables.once.Do(fillTables)
	return &tables.dynamic
}

// array is the tensor that an argument is, nil when it was left out or is a number.
func array(a ops.TensorArg) *strided.Array {
	if h, ok := a.Arg.(strided.Holder); ok {
		return h.Array()
	}
	return nil
}

// self is the first argument, which most operators call self or input.
func (k *Call) self() *strided.Array { return array(ops.In[ops.SelfArgs](k.Call).Self) }

// out is the first result.
func (k *Call) out() *strided.Array { return k.Outs[0] }

// whole is an integer argument.
func whole(a ops.IntArg) int { return int(a.Int().Hint()) }

// wholes is a list of integers.
func wholes(a ops.IntsArg) []int { return strided.Plain(a.Ints()) }

// along is a dimension as a position in x.
func along(dim ops.IntArg, x *strided.Array) int {
	d := whole(dim)
	if d < 0 {
		d += len(x.Shape)
	}
	return max(d, 0)
}

// dim is the dimension of an operator whose second parameter that is.
func (k *Call) dim() int {
	a := ops.In[ops.SelfDimArgs](k.Call)
	return along(a.Dim, array(a.Self))
}

var oneArg = sym.C(1)

func ToMeta(s []int) []sym.Int { return sym.Consts(s) }

// runInto runs the kernel of an operator for another one.
func runInto(op ops.ID, args []ops.Arg, out *strided.Array) {
	c := &ops.Call{Op: ops.Get(op), Args: args}
	k := NewCall(c, refusal.ResultDType(c))
	k.AddOut(out)
	Fixed()[op](k)
}

// accumulateInto adds src, times a number, to dst.
func accumulateInto(dst, src *strided.Array, times ops.Arg) {
	runInto(ops.Add, []ops.Arg{dst, src, times}, dst)
	dst.Storage.Bump()
}
