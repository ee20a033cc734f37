package kernels

import (
	"slices"
	"unsafe"

	"tcdbg/ops"
	"tcdbg/torch/internal/order"
	"tcdbg/torch/internal/parallel"
	"tcdbg/torch/internal/strided"
)

// This file runs what orders the rows of an array along a dimension: it makes keys of the numbers of a
// row, has positions chosen, and stores them and the numbers there.

// chooser writes the positions that it chooses of a row; it may change the keys.
type chooser func(picked []int64, keys []uint64)

// sortingWork is how many times an element is touched, beside one of a pointwise loop.
const sortingWork = 8

// keyedRows is an array, densely stored with the dimension of its rows last, and the keys of its rows.
type keyedRows struct {
	order.Keys
	rows, n int
	values  *strided.Array // as they are
	read    func(keys []uint64, row int)
}

func keyRows(x *strided.Array, dim int) *keyedRows {
	x = strided.Lift(x)
	last := len(x.Shape) - 1
	x = strided.Dense(moveDim(x, dim, last), x.DType)
	r := &keyedRows{n: x.Shape[last], values: x, Keys: order.Keys{Bits: 32, Floats: x.DType.IsFloat()}}
	r.rows = strided.Product(x.Shape[:last])
	switch x.DType {
	case ops.Float64:
		r.Bits = 64
		r.read = rowReader(strided.Slice[float64](x), r.n, order.Floats64)
	case ops.Int64:
		r.Bits = 64
		r.read = rowReader(strided.Slice[int64](x), r.n, order.Ints64)
	case ops.Float32, ops.Float16, ops.BFloat16:
		r.read = rowReader(strided.Slice[float32](dense32(x)), r.n, order.Floats32)
	default:
		r.read = rowReader(strided.Slice[int32](strided.Dense(x, ops.Int32)), r.n, order.Ints32)
	}
	return r
}

func rowReader[T any](all []T, n int, f func(keys []uint64, row []T)) func(keys []uint64, row int) {
	return func(keys []uint64, row int) { f(keys, all[row*n:(row+1)*n]) }
}

// moveDim shows t with dimension from at place to.
func moveDim(t *strided.Array, from, to int) *strided.Array {
	list := make([]int, 0, len(t.Shape))
	for d := range t.Shape {
		if d != from {
			list = append(list, d)
		}
	}
	return strided.Permuted(t, slices.Insert(list, to, from))
}

// each calls f for rows with a buffer for keys; start makes the f of one goroutine.
func (r *keyedRows) each(start func() func(row int, keys []uint64)) {
	parallel.For(r.rows, r.rows*r.n*sortingWork, func(from, to int) {
		keys, f := make([]uint64, r.n), start()
		for row := from; row < to; row++ {
			r.read(keys, row)
			f(row, keys)
		}
	})
}

// selectRows fills values and indices of a call with count positions of each row, which the chooser picks that
// start makes for each goroutine.
func selectRows(k *Call, dim, count int, start func(keys order.Keys) chooser) {
	if k.Outs[1].Numel() == 0 {
		return
	}
	r := keyRows(k.self(), dim)
	shape := append(slices.Clone(r.values.Shape[:len(r.values.Shape)-1]), count)
	values, indices := strided.New(r.values.DType, shape), strided.New(ops.Int64, shape)
	picked := strided.Slice[int64](indices)
	r.each(func() func(row int, keys []uint64) {
		choose := start(r.Keys)
		return func(row int, keys []uint64) {
			at := picked[row*count : (row+1)*count]
			choose(at, keys)
			moveRow(values, row*count, r.values, row*r.n, at)
		}
	})
	putRows(k.Outs[0], values, dim)
	putRows(k.Outs[1], indices, dim)
}

// putRows stores rows, which lie one after the other, along dimension dim of out, which may have been dropped.
func putRows(out, rows *strided.Array, dim int) {
	last := len(rows.Shape) - 1
	if len(out.Shape) == last {
		rows = strided.Part(rows, last, 0)
	} else {
		rows = moveDim(rows, last, dim)
	}
	strided.Copy(out, rows)
}

// moveRow copies the elements at these positions from place src of x to place dst of out, both dense.
func moveRow(out *strided.Array, dst int, x *strided.Array, src int, at []int64) {
	to, from := unsafe.Add(out.Ptr(), dst*out.DType.Size()), unsafe.Add(x.Ptr(), src*x.DType.Size())
	switch x.DType.Size() {
	case 1:
		pick((*uint8)(to), (*uint8)(from), 1, at)
	case 2:
		pick((*uint16)(to), (*uint16)(from), 1, at)
	case 4:
		pick((*uint32)(to), (*uint32)(from), 1, at)
	default:
		pick((*uint64)(to), (*uint64)(from), 1, at)
	}
}

// pick copies the elements at these positions, so many elements apart, one after the other.
func pick[T any](to, from *T, stride int, at []int64) {
	out := unsafe.Slice(to, len(at))
	if stride == 1 {
		for i, p := range at {
			out[i] = *strided.Elem(from, int(p))
		}
		return
	}
	for i, p := range at {
		out[i] = *strided.Elem(from, int(p)*stride)
	}
}
