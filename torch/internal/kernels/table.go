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
		specialKernels, ctcKernels, linalgKernels, choiceKernels, histogramKernels,
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

// in returns tensor argument i, nil when it was left out or is a number.
func (k *Call) in(i int) *strided.Array {
	if h, ok := k.Args[i].(strided.Holder); ok {
		return h.Array()
	}
	return nil
}

// out is the first result.
func (k *Call) out() *strided.Array { return k.Outs[0] }

// num returns integer argument i.
func (k *Call) num(i int) int { return int(k.Int(i).Hint()) }

// nums returns a list of integers.
func (k *Call) nums(i int) []int { return strided.Plain(k.Ints(i)) }

// dim returns dimension argument i as a position in tensor argument 0.
func (k *Call) dim(i int) int {
	d := k.num(i)
	if d < 0 {
		d += len(k.in(0).Shape)
	}
	return max(d, 0)
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
