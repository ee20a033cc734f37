package kernels

import (
	"slices"
	"sort"
	"unsafe"

	"tcdbg/ops"
	"tcdbg/torch/internal/order"
	"tcdbg/torch/internal/refusal"
	"tcdbg/torch/internal/strided"
)

// This file holds sorting, searching, and the operators whose result's shape
// depends on data.

func sortKernels() map[ops.ID]Kernel {
	return map[ops.ID]Kernel{
		ops.Sort: sortKernel, ops.Topk: topkKernel, ops.Cummax: cumExtremum(true), ops.Cummin: cumExtremum(false),
		ops.MedianDim: medianKernel, ops.Searchsorted: searchKernel,
	}
}

// sorted starts sorters of rows.
func sorted(descending bool) func(keys order.Keys) chooser {
	return func(k order.Keys) chooser {
		s := new(order.Sorter)
		return func(picked []int64, keys []uint64) {
			if descending {
				k.Reverse(keys)
			}
			s.Sort(picked, keys, k.Bits)
		}
	}
}

func sortKernel(k *Call) {
	selectRows(k, k.dim(), lengthAlong(k, k.dim()), sorted(ops.In[ops.SortArgs](k.Call).Descending.Bool()))
}

// lengthAlong is the size of a dimension of self.
func lengthAlong(k *Call, dim int) int { return strided.Lift(k.self()).Shape[dim] }

func topkKernel(k *Call) {
	a := ops.In[ops.TopkArgs](k.Call)
	count, largest, sorted := whole(a.K), a.Largest.Bool(), a.Sorted.Bool()
	selectRows(k, along(a.Dim, array(a.Self)), count, func(rank order.Keys) chooser {
		var places order.Places
		return func(picked []int64, keys []uint64) {
			if largest {
				rank.Reverse(keys)
			}
			places = order.First(places, keys, count, sorted)
			for i, p := range places {
				picked[i] = p.At
			}
		}
	})
}

func medianKernel(k *Call) {
	selectRows(k, k.dim(), 1, func(rank order.Keys) chooser {
		sort, at := sorted(false)(rank), make([]int64, lengthAlong(k, k.dim()))
		return func(picked []int64, keys []uint64) {
			if i := slices.IndexFunc(keys, rank.IsNaN); i >= 0 {
				picked[0] = int64(i)
				return
			}
			sort(at, keys)
			picked[0] = at[(len(at)-1)/2]
		}
	})
}

// cumExtremum chooses the latest of the greatest numbers so far, or of the least; NaN is chosen before all.
func cumExtremum(high bool) Kernel {
	return func(k *Call) {
		selectRows(k, k.dim(), lengthAlong(k, k.dim()), func(rank order.Keys) chooser {
			return func(picked []int64, keys []uint64) {
				if !high {
					rank.Reverse(keys)
				}
				best := 0
				for i, key := range keys {
					if rank.Floats && !high && key == 0 {
						key = rank.Last() // NaN, which was above all
						keys[i] = key
					}
					if key >= keys[best] {
						best = i
					}
					picked[i] = int64(best)
				}
			}
		})
	}
}

func searchKernel(k *Call) {
	a := ops.In[ops.SearchsortedArgs](k.Call)
	seq := array(a.SortedSequence)
	right := a.Right.Bool() || a.Side.Str() == "right"
	rows := seq.Float64s()
	if s := array(a.Sorter); s != nil {
		ids := s.Int64s()
		sorted := make([]float64, len(rows))
		n := seq.Shape[len(seq.Shape)-1]
		for i, p := range ids {
			sorted[i] = rows[i/n*n+int(p)]
		}
		rows = sorted
	}
	var vals []float64
	if t := array(a.Input); t != nil {
		vals = t.Float64s()
	} else {
		vals = []float64{a.Input.Float()}
	}
	n := len(rows)
	per := len(vals)
	if len(seq.Shape) > 1 {
		n = seq.Shape[len(seq.Shape)-1]
		per = 1
		if t := array(a.Input); t != nil && len(t.Shape) > 0 {
			per = max(t.Shape[len(t.Shape)-1], 1)
		}
	}
	out := make([]int64, len(vals))
	for i, v := range vals {
		row := rows
		if len(seq.Shape) > 1 {
			row = rows[i/per*n : (i/per+1)*n]
		}
		out[i] = int64(sort.Search(n, func(j int) bool {
			if right {
				return order.Floats(row[j], v) > 0
			}
			return order.Floats(row[j], v) >= 0
		}))
	}
	strided.Store(k.out(), out, ops.Int64)
}

func dataKernels() map[ops.ID]DynamicKernel {
	return map[ops.ID]DynamicKernel{
		ops.Nonzero: nonzeroKernel, ops.Argwhere: nonzeroKernel, ops.MaskedSelect: maskedSelectKernel, ops.Unique: uniqueKernel,
		ops.UniqueConsecutive: consecutiveKernel, ops.Bincount: bincountKernel, ops.RepeatIndex: repeatIndexKernel, ops.Index: indexKernel,
	}
}

// selected is a new array of the slabs of x with these numbers.
func selected(x *strided.Array, dim int, ids []int64) *strided.Array {
	shape := append([]int{}, x.Shape...)
	if len(shape) > 0 {
		shape[dim] = len(ids)
	}
	out := strided.New(x.DType, shape)
	selectParts(strided.Lift(out), strided.Lift(x), dim, longs(ids, len(ids)))
	return out
}

func longs(v []int64, shape ...int) *strided.Array {
	t := strided.New(ops.Int64, shape)
	copy(strided.Slice[int64](t), v)
	return t
}

// nonzeroKernel gives the positions as a matrix whose columns lie together, as PyTorch does.
func nonzeroKernel(k *Call) []any {
	x := k.self()
	set := placesOf(x.Bools())
	rows, cols := len(set), len(x.Shape)
	out := strided.New(ops.Int64, []int{cols, rows})
	v := strided.Slice[int64](out)
	for d := cols - 1; d > 0; d-- { // what is left in set is the place among the dimensions before
		column, size := v[d*rows:][:rows], uint64(x.Shape[d])
		for i, p := range set {
			q := uint64(p) / size
			column[i], set[i] = int64(uint64(p)-q*size), int64(q)
		}
	}
	copy(v, set[:min(len(v), rows)])
	return []any{strided.Over(out.Storage, ops.Int64, []int{rows, cols}, []int{1, max(rows, 1)}, 0)}
}

// placesOf lists where set is true.
func placesOf(set []bool) []int64 {
	n := 0
	for _, on := range set {
		n += one(on)
	}
	at := make([]int64, n+1) // a place behind the last, where what is not set goes
	n = 0
	for i, on := range set {
		at[n] = int64(i)
		n += one(on)
	}
	return at[:n]
}

// one is 1 for true, without a branch that random masks would mispredict.
func one(on bool) int { return int(*(*uint8)(unsafe.Pointer(&on))) }

func maskedSelectKernel(k *Call) []any {
	a := ops.In[ops.MaskedSelectArgs](k.Call)
	x, m := array(a.Self), array(a.Mask)
	if m.DType != ops.Bool {
		refusal.Fail("masked_select", "RuntimeError", "masked_select: expected BoolTensor for mask")
	}
	common, err := ops.Broadcast(x.TensorMeta().Shape, m.TensorMeta().Shape)
	if err != nil {
		refusal.Raise(k.Op, err)
	}
	shape := strided.Plain(common)
	x, m = x.Expand(shape), m.Expand(shape)
	return []any{selected(flat(x), 0, placesOf(m.Bools()))}
}

func bincountKernel(k *Call) []any {
	a := ops.In[ops.BincountArgs](k.Call)
	x := array(a.Self)
	if len(x.Shape) != 1 || x.DType.IsFloat() || x.DType == ops.Bool {
		refusal.Fail("bincount", "RuntimeError", "bincount only supports 1-d non-negative integral inputs.")
	}
	ids := x.Int64s()
	n := whole(a.Minlength)
	if n < 0 {
		refusal.Fail("bincount", "RuntimeError", "minlength should be >= 0")
	}
	for _, i := range ids {
		if i < 0 {
			refusal.Fail("bincount", "RuntimeError", "bincount only supports 1-d non-negative integral inputs.")
		}
		n = max(n, int(i)+1)
	}
	if w := array(a.Weights); w != nil {
		if len(w.Shape) != 1 || w.Shape[0] != len(ids) {
			refusal.Fail("bincount", "RuntimeError", "weights should be 1-d and have the same length as input")
		}
		vals := w.Float64s()
		sum := make([]float64, n)
		for j, i := range ids {
			sum[i] += vals[j]
		}
		d := ops.Float64
		if w.DType == ops.Float32 {
			d = ops.Float32
		}
		out := strided.New(d, []int{n})
		strided.Store(out, sum, ops.Float64)
		return []any{out}
	}
	counts := make([]int64, n)
	for _, i := range ids {
		counts[i]++
	}
	return []any{longs(counts, n)}
}

func repeatIndexKernel(k *Call) []any {
	a := ops.In[ops.RepeatIndexArgs](k.Call)
	r := array(a.Repeats)
	if len(r.Shape) > 1 {
		refusal.Fail("repeat_interleave", "RuntimeError", "repeat_interleave only accept 1D vector as repeat")
	}
	if r.DType != ops.Int64 && r.DType != ops.Int32 {
		refusal.Fail("repeat_interleave", "NotImplementedError", "\"repeat_interleave_cpu\" not implemented for '%s'", r.DType.ScalarType())
	}
	counts := r.Int64s()
	n := whole(a.Size)
	if len(counts) == 1 {
		for len(counts) < n {
			counts = append(counts, counts[0])
		}
	}
	if len(counts) != n {
		refusal.Fail(
			"repeat_interleave", "RuntimeError",
			"repeats must have the same size as input along dim, but got repeats.size(0) = %d and input.size(0) = %d",
			len(counts), n,
		)
	}
	var out []int64
	for i, c := range counts {
		if c < 0 {
			refusal.Fail("repeat_interleave", "RuntimeError", "repeats can not be negative")
		}
		for range c {
			out = append(out, int64(i))
		}
	}
	return []any{longs(out, len(out))}
}
