package kernels

import (
	"slices"

	"tcdbg/ops"
	"tcdbg/torch/internal/order"
	"tcdbg/torch/internal/strided"
)

// This file finds the distinct elements of an array, or the distinct slabs along a dimension.

// slabs are what is compared, as keys: width for each of n slabs.
type slabs struct {
	order.Keys
	keys     []uint64
	n, width int
}

func slabsOf(x *strided.Array, dim int, whole bool) *slabs {
	s := &slabs{n: x.Numel(), width: 1}
	if !whole {
		x = strided.Lift(x)
		s.n, s.width = x.Shape[dim], strided.Product(strided.RemoveAt(x.Shape, dim))
		x = moveDim(x, dim, 0)
	}
	r := keyRows(flat(x), 0)
	s.Keys, s.keys = r.Keys, make([]uint64, s.n*s.width)
	if len(s.keys) > 0 {
		r.read(s.keys, 0)
	}
	return s
}

// flat is the elements of x in row-major order.
func flat(x *strided.Array) *strided.Array {
	x = strided.Dense(x, x.DType)
	return strided.Over(x.Storage, x.DType, []int{x.Numel()}, []int{1}, x.Offset)
}

func (s *slabs) at(i int64) []uint64 { return s.keys[int(i)*s.width : (int(i)+1)*s.width] }

// same reports whether two slabs are one group; one that begins with NaN is in none.
func (s *slabs) same(i, j int64) bool {
	if s.width == 1 {
		return s.keys[i] == s.keys[j] && !s.IsNaN(s.keys[j])
	}
	b := s.at(j)
	return slices.Equal(s.at(i), b) && (len(b) == 0 || !s.IsNaN(b[0]))
}

// sorted are the slabs in ascending order.
func (s *slabs) sorted() []int64 {
	at := make([]int64, s.n)
	if s.width == 1 {
		new(order.Sorter).Sort(at, s.keys, s.Bits)
		return at
	}
	for i := range at {
		at[i] = int64(i)
	}
	slices.SortStableFunc(at, func(i, j int64) int { return slices.Compare(s.at(i), s.at(j)) })
	return at
}

// groups are the runs of equal slabs in a given order: the place in it where each begins, and the end.
func (s *slabs) groups(at []int64) []int {
	begins := make([]int, 0, min(len(at)+1, 1024))
	for n, i := range at {
		if n == 0 || !s.same(at[n-1], i) {
			begins = append(begins, n)
		}
	}
	return append(begins, len(at))
}

func uniqueKernel(k *Call) []any {
	a := ops.In[ops.UniqueArgs](k.Call)
	x, whole := array(a.Self), a.Dim.IsNone()
	dim := 0
	if !whole {
		dim = along(a.Dim, x)
	}
	s := slabsOf(x, dim, whole)
	return s.result(x, s.sorted(), dim, whole, a.ReturnInverse.Bool(), a.ReturnCounts.Bool())
}

func consecutiveKernel(k *Call) []any {
	a := ops.In[ops.UniqueConsecutiveArgs](k.Call)
	x, whole := array(a.Self), a.Dim.IsNone()
	dim := 0
	if !whole {
		dim = along(a.Dim, x)
	}
	s := slabsOf(x, dim, whole)
	at := make([]int64, s.n)
	for i := range at {
		at[i] = int64(i)
	}
	return s.result(x, at, dim, whole, a.ReturnInverse.Bool(), a.ReturnCounts.Bool())
}

// result is the first slab of each group of x, and what else was asked for.
func (s *slabs) result(x *strided.Array, at []int64, dim int, whole, inverse, counts bool) []any {
	begins := s.groups(at)
	first := make([]int64, len(begins)-1)
	for g := range first {
		first[g] = at[begins[g]]
	}
	src := x
	if whole {
		src = flat(x)
	}
	out := []any{selected(src, dim, first)}
	if inverse {
		shape := x.Shape
		if !whole {
			shape = []int{s.n}
		}
		group := strided.New(ops.Int64, shape)
		of := strided.Slice[int64](group)
		for g := range first {
			for _, i := range at[begins[g]:begins[g+1]] {
				of[i] = int64(g)
			}
		}
		out = append(out, group)
	}
	if counts {
		num := make([]int64, len(first))
		for g := range num {
			num[g] = int64(begins[g+1] - begins[g])
		}
		out = append(out, longs(num, len(num)))
	}
	return out
}
