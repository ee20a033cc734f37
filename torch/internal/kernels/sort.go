package kernels

import (
	"cmp"
	"slices"
	"sort"

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

// alongRows calls f for every row of x along a dimension: its values as
// float64 (exact for the integers that fit) and the positions of its elements
// in row-major order. Integers beyond 2^53 are compared as keys.
func alongRows(x *strided.Array, dim int, f func(row []float64, keys []int64, at []int)) {
	x = strided.Lift(x)
	n := x.Shape[dim]
	inner := strided.Product(x.Shape[dim+1:])
	outer := strided.Product(x.Shape[:dim])
	var vals []float64
	var keys []int64
	if x.DType.IsFloat() {
		vals = x.Float64s()
	} else {
		keys = x.Int64s()
	}
	for o := range outer {
		for i := range inner {
			at := make([]int, n)
			var row []float64
			var krow []int64
			for j := range n {
				at[j] = (o*n+j)*inner + i
				if vals != nil {
					row = append(row, vals[at[j]])
				} else {
					krow = append(krow, keys[at[j]])
				}
			}
			f(row, krow, at)
		}
	}
}

// orderOf sorts positions 0..n-1 of a row, stably.
func orderOf(row []float64, keys []int64, descending bool) []int {
	n := max(len(row), len(keys))
	idx := make([]int, n)
	for i := range idx {
		idx[i] = i
	}
	slices.SortStableFunc(idx, func(a, b int) int {
		var c int
		if row != nil {
			c = order.Floats(row[a], row[b])
		} else {
			c = cmp.Compare(keys[a], keys[b])
		}
		if descending {
			return -c
		}
		return c
	})
	return idx
}

// selectRows fills values and indices of a call: choose gives for each row the
// chosen positions.
func selectRows(k *Call, dim int, choose func(row []float64, keys []int64) []int) {
	x := strided.Lift(k.self())
	count := 0
	var from, pos []int64
	alongRows(x, dim, func(row []float64, keys []int64, at []int) {
		picked := choose(row, keys)
		count = len(picked)
		for _, p := range picked {
			from, pos = append(from, int64(at[p])), append(pos, int64(p))
		}
	})
	// Rows come out one after the other; the dimension goes back to its place.
	shape := append(strided.RemoveAt(x.Shape, dim), count)
	flat := strided.Dense(x, x.DType)
	values := strided.New(x.DType, shape)
	es := x.DType.Size()
	for i, f := range from {
		copy(values.Storage.Bytes()[i*es:(i+1)*es], flat.Storage.Bytes()[(flat.Offset+int(f))*es:(flat.Offset+int(f)+1)*es])
	}
	order := make([]int, 0, len(shape))
	for i := range len(shape) - 1 {
		order = append(order, i)
	}
	order = slices.Insert(order, dim, len(shape)-1)
	put := func(dst *strided.Array, src *strided.Array) {
		src = strided.Permuted(src, order)
		if len(dst.Shape) != len(src.Shape) {
			src = strided.Over(src.Storage, src.DType, dst.Shape, removeOnes(src, dst.Shape, dim), src.Offset)
		}
		strided.Copy(dst, src)
	}
	put(k.Outs[0], values)
	idx := strided.New(ops.Int64, shape)
	copy(strided.Slice[int64](idx), pos)
	put(k.Outs[1], idx)
}

// removeOnes drops the stride of dimension dim, or all for a 0-dim result.
func removeOnes(t *strided.Array, shape []int, dim int) []int {
	if len(shape) == 0 {
		return nil
	}
	return strided.RemoveAt(t.Stride, dim)
}

func sortKernel(k *Call) {
	descending := ops.In[ops.SortArgs](k.Call).Descending.Bool()
	selectRows(k, k.dim(), func(row []float64, keys []int64) []int { return orderOf(row, keys, descending) })
}

func topkKernel(k *Call) {
	a := ops.In[ops.TopkArgs](k.Call)
	count, largest, sorted := whole(a.K), a.Largest.Bool(), a.Sorted.Bool()
	selectRows(k, along(a.Dim, array(a.Self)), func(row []float64, keys []int64) []int {
		compare := comparer(row, keys)
		less := func(i, j int) bool { return compare(i, j) < 0 }
		if largest {
			less = func(i, j int) bool { return compare(i, j) > 0 }
		}
		return order.First(max(len(row), len(keys)), count, sorted, less)
	})
}

func medianKernel(k *Call) {
	selectRows(k, k.dim(), func(row []float64, keys []int64) []int {
		for i, v := range row {
			if v != v {
				return []int{i}
			}
		}
		order := orderOf(row, keys, false)
		return order[(len(order)-1)/2:][:1]
	})
}

func cumExtremum(high bool) Kernel {
	return func(k *Call) {
		selectRows(k, k.dim(), func(row []float64, keys []int64) []int {
			n := max(len(row), len(keys))
			out := make([]int, n)
			best := 0
			for i := range n {
				var c int
				if row != nil {
					c = order.Floats(row[i], row[best])
					if row[best] != row[best] && row[i] == row[i] {
						c = -1
					}
					if !high {
						c = -c
						if row[i] != row[i] {
							c = 1
						} else if row[best] != row[best] {
							c = -1
						}
					}
				} else {
					c = cmp.Compare(keys[i], keys[best])
					if !high {
						c = -c
					}
				}
				if c >= 0 {
					best = i
				}
				out[i] = best
			}
			return out
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
	selectParts(strided.Lift(out), strided.Lift(x), dim, ids)
	return out
}

func longs(v []int64, shape ...int) *strided.Array {
	t := strided.New(ops.Int64, shape)
	copy(strided.Slice[int64](t), v)
	return t
}

func nonzeroKernel(k *Call) []any {
	x := k.self()
	var out []int64
	rows, n := 0, 0
	set := x.Bools()
	strided.EachIndex(x.Shape, func(ix []int) {
		if set[n] {
			rows++
			for _, i := range ix {
				out = append(out, int64(i))
			}
		}
		n++
	})
	return []any{byColumn(out, rows, len(x.Shape))}
}

// byColumn is a matrix of rows whose columns lie together, as PyTorch returns
// positions.
func byColumn(v []int64, rows, cols int) *strided.Array {
	t := longs(make([]int64, len(v)), cols, rows)
	for i, x := range v {
		strided.Slice[int64](t)[i%cols*rows+i/cols] = x
	}
	return strided.Over(t.Storage, ops.Int64, []int{rows, cols}, []int{1, max(rows, 1)}, 0)
}

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
	flat := strided.Dense(x, x.DType)
	if len(flat.Shape) != 1 {
		flat = strided.Over(flat.Storage, flat.DType, []int{flat.Numel()}, []int{1}, flat.Offset)
	}
	var at []int64
	for i, on := range m.Bools() {
		if on {
			at = append(at, int64(i))
		}
	}
	return []any{selected(flat, 0, at)}
}

// rowsOf lists the slabs of x along dim as comparable lists; no dim: elements.
func rowsOf(x *strided.Array, dim int, whole bool) [][]float64 {
	if whole {
		vals := x.Float64s()
		out := make([][]float64, len(vals))
		for i := range vals {
			out[i] = vals[i : i+1]
		}
		return out
	}
	out := make([][]float64, x.Shape[dim])
	for i := range out {
		out[i] = strided.Part(x, dim, i).Float64s()
	}
	return out
}

func compareRows(a, b []float64) int { return slices.CompareFunc(a, b, order.Floats) }

// groups are runs of equal rows in a given order.
func uniqueGroups(rows [][]float64, order []int) (first []int, inverse, counts []int64) {
	inverse = make([]int64, len(rows))
	for n, i := range order {
		if n == 0 || compareRows(rows[order[n-1]], rows[i]) != 0 || rows[i][0] != rows[i][0] {
			first, counts = append(first, i), append(counts, 0)
		}
		g := len(first) - 1
		counts[g]++
		inverse[i] = int64(g)
	}
	return first, inverse, counts
}

func uniqueKernel(k *Call) []any {
	a := ops.In[ops.UniqueArgs](k.Call)
	x, flat := array(a.Self), a.Dim.IsNone()
	dim := 0
	if !flat {
		dim = along(a.Dim, x)
	}
	rows := rowsOf(x, dim, flat)
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return compareRows(rows[a], rows[b]) })
	return uniqueResult(x, rows, order, dim, flat, a.ReturnInverse.Bool(), a.ReturnCounts.Bool())
}

func consecutiveKernel(k *Call) []any {
	a := ops.In[ops.UniqueConsecutiveArgs](k.Call)
	x, flat := array(a.Self), a.Dim.IsNone()
	dim := 0
	if !flat {
		dim = along(a.Dim, x)
	}
	rows := rowsOf(x, dim, flat)
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	return uniqueResult(x, rows, order, dim, flat, a.ReturnInverse.Bool(), a.ReturnCounts.Bool())
}

func uniqueResult(x *strided.Array, rows [][]float64, order []int, dim int, whole, inverse, counts bool) []any {
	first, inv, num := uniqueGroups(rows, order)
	at := make([]int64, len(first))
	for i, f := range first {
		at[i] = int64(f)
	}
	src := x
	if whole {
		src = strided.Dense(x, x.DType)
		src = strided.Over(src.Storage, src.DType, []int{src.Numel()}, []int{1}, src.Offset)
	}
	out := []any{selected(src, dim, at)}
	if inverse {
		shape := x.Shape
		if !whole {
			shape = []int{len(rows)}
		}
		out = append(out, longs(inv, shape...))
	}
	if counts {
		out = append(out, longs(num, len(num)))
	}
	return out
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
