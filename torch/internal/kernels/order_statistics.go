package kernels

import (
	"cmp"
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

// comparer compares positions of a row.
func comparer(row []float64, keys []int64) func(a, b int) int {
	if row != nil {
		return func(a, b int) int { return order.Floats(row[a], row[b]) }
	}
	return func(a, b int) int { return cmp.Compare(keys[a], keys[b]) }
}

// modeKernel takes the least of the most frequent values, at its last position.
func modeKernel(k *Call) {
	selectRows(k, k.dim(), func(row []float64, keys []int64) []int {
		compare := comparer(row, keys)
		all := max(len(row), len(keys))
		s := order.NewSelection(all, func(i, j int) bool { return compare(i, j) < 0 })
		s.Sort(0, all) // PyTorch answers the last of the equal ones in this order
		order := s.At
		best, most, run := 0, 0, 0
		for i, at := range order {
			run++
			if i+1 < len(order) && compare(at, order[i+1]) == 0 {
				continue
			}
			if run > most {
				best, most = at, run
			}
			run = 0
		}
		return []int{best}
	})
}

// nanmedianKernel is the lower median of the numbers of a row.
func nanmedianKernel(k *Call) {
	selectRows(k, k.dim(), func(row []float64, keys []int64) []int {
		order := orderOf(row, keys, false)
		n := len(order)
		for n > 0 && row != nil && row[order[n-1]] != row[order[n-1]] {
			n--
		}
		return order[max(n-1, 0)/2:][:1]
	})
}

// kthKernel selects with PyTorch's algorithm, which decides where equal values are found.
func kthKernel(k *Call) {
	a := ops.In[ops.KthvalueArgs](k.Call)
	nth := max(whole(a.K)-1, 0)
	selectRows(k, along(a.Dim, array(a.Self)), func(row []float64, keys []int64) []int {
		places := make([]int, max(len(row), len(keys)))
		for i := range places {
			places[i] = i
		}
		compare := comparer(row, keys)
		order.QuickSelect(places, nth, func(a, b int) bool { return compare(a, b) > 0 })
		return places[nth : nth+1]
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
