package kernels

import (
	"math"

	"tcdbg/ops"
	"tcdbg/torch/internal/order"
	"tcdbg/torch/internal/refusal"
	"tcdbg/torch/internal/strided"
)

// This file holds the order statistics: mode, kthvalue, medians without NaN,
// and the exponents of numbers.

func choiceKernels() map[ops.ID]Kernel {
	return map[ops.ID]Kernel{
		ops.Mode: modeKernel, ops.NanmedianDim: nanmedianKernel, ops.Kthvalue: kthKernel, ops.Frexp: frexpKernel,
		ops.IntTensor: intTensorKernel, ops.ClassIndex: classIndexKernel,
	}
}

// modeKernel takes the least of the most frequent values, at its last position.
func modeKernel(k *Call) {
	selectRows(k, k.dim(), 1, func(order.Keys) chooser {
		var places order.Places
		return func(picked []int64, keys []uint64) {
			places = order.PlacesOf(places, keys)
			places.Sort(0, len(places)) // PyTorch answers the last of the equal ones in this order
			most, run := 0, 0
			for i, p := range places {
				run++
				if i+1 < len(places) && p.Key == places[i+1].Key {
					continue
				}
				if run > most {
					picked[0], most = p.At, run
				}
				run = 0
			}
		}
	})
}

// nanmedianKernel is the lower median of the numbers of a row.
func nanmedianKernel(k *Call) {
	selectRows(k, k.dim(), 1, func(rank order.Keys) chooser {
		sort, at := sorted(false)(rank), make([]int64, lengthAlong(k, k.dim()))
		return func(picked []int64, keys []uint64) {
			sort(at, keys)
			n := len(at)
			for n > 0 && rank.IsNaN(keys[at[n-1]]) {
				n--
			}
			picked[0] = at[max(n-1, 0)/2]
		}
	})
}

// kthKernel selects with PyTorch's algorithm, which decides where equal values are found.
func kthKernel(k *Call) {
	a := ops.In[ops.KthvalueArgs](k.Call)
	nth := max(whole(a.K)-1, 0)
	selectRows(k, along(a.Dim, array(a.Self)), 1, func(order.Keys) chooser {
		var places order.Places
		return func(picked []int64, keys []uint64) {
			places = order.PlacesOf(places, keys)
			order.QuickSelect(places, nth)
			picked[0] = places[nth].At
		}
	})
}

func frexpKernel(k *Call) {
	x := k.self()
	vals := x.Float64s()
	man, exp := make([]float64, len(vals)), make([]int64, len(vals))
	for i, v := range vals {
		var e int
		man[i], e = math.Frexp(v)
		if math.IsInf(v, 0) || v != v {
			e = 0
		}
		exp[i] = int64(e)
	}
	strided.Store(k.Outs[0], man, ops.Float64)
	strided.Store(k.Outs[1], exp, ops.Int64)
}

// classIndexKernel copies classes of which each is in range.
func classIndexKernel(k *Call) {
	a := ops.In[ops.ClassIndexArgs](k.Call)
	x := array(a.Input)
	if x.DType != ops.Int64 {
		refusal.Fail("one_hot", "RuntimeError", "one_hot is only applicable to index tensor of type LongTensor.")
	}
	ids, n := x.Int64s(), whole(a.NumClasses)
	for _, i := range ids {
		if i < 0 {
			refusal.Fail("one_hot", "RuntimeError", "Class values must be non-negative.")
		}
	}
	for _, i := range ids {
		if i >= int64(n) {
			refusal.Fail("one_hot", "RuntimeError", "Class values must be smaller than num_classes.")
		}
	}
	strided.Store(k.out(), ids, ops.Int64)
}

func intTensorKernel(k *Call) {
	data := make([]int64, k.out().Numel())
	for i, v := range wholes(ops.In[ops.IntTensorArgs](k.Call).Data) {
		data[i] = int64(v)
	}
	strided.Store(k.out(), data, ops.Int64)
}
