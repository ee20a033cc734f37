package kernels

import (
	"math"

	"tcdbg/ops"
	"tcdbg/torch/internal/order"
	"tcdbg/torch/internal/parallel"
	"tcdbg/torch/internal/simd"
	"tcdbg/torch/internal/strided"
)

// This file computes without gradients what the decomposition would hold every pair for at once: distances
// of vectors, and which elements are among others.

func pairKernels() map[ops.ID]Kernel {
	return map[ops.ID]Kernel{ops.Cdist: cdistKernel, ops.Isin: isinKernel}
}

// cdistKernel is for float32 and the sums of squares or sizes.
func cdistKernel(k *Call) {
	a := ops.In[ops.CdistArgs](k.Call)
	x, y, p := array(a.X1), array(a.X2), a.P.Float()
	k.Declined = p != 1 && p != 2 || x.DType != ops.Float32 || y.DType != ops.Float32 ||
		x.Shape[len(x.Shape)-1] == 0 || !k.out().IsContiguous()
	if k.Declined {
		return
	}
	out := strided.Slice[float32](k.out())
	shape := k.out().Shape
	batch := shape[:len(shape)-2]
	rows, cols, width := shape[len(shape)-2], shape[len(shape)-1], x.Shape[len(x.Shape)-1]
	from := strided.Slice[float32](strided.Dense(widened(x, batch), ops.Float32))
	turned := widened(y, batch)
	turned = strided.Dense(moveDim(turned, len(turned.Shape)-1, len(turned.Shape)-2), ops.Float32)
	to := strided.Slice[float32](turned) // one coordinate of all vectors after the other
	parallel.For(len(from)/width, len(out)*width, func(first, end int) {
		diff, sums := make([]float32, cols), make([]float64, cols)
		for r := first; r < end; r++ {
			distances(out[r*cols:(r+1)*cols], from[r*width:(r+1)*width], to[r/rows*width*cols:], diff, sums, p)
		}
	})
}

// distances are those from x to each of the vectors of which to has one coordinate after the other.
func distances(out, x, to, diff []float32, sums []float64, p float64) {
	l := simd.Active()
	clear(sums)
	for c, v := range x {
		l.WithScalar(simd.Sub, diff, to[c*len(diff):(c+1)*len(diff)], v)
		if p == 1 {
			l.Unary(simd.Abs, diff, diff)
		} else {
			l.Binary(simd.Mul, diff, diff, diff)
		}
		l.AddWide(sums, diff)
	}
	for i, s := range sums {
		if p == 2 {
			s = math.Sqrt(float64(float32(s)))
		}
		out[i] = float32(s)
	}
}

// isinKernel looks each element up in the sorted others.
func isinKernel(k *Call) {
	a := ops.In[ops.IsinArgs](k.Call)
	x, others := array(a.Elements), array(a.TestElements)
	if k.Declined = x == nil || others == nil || x.DType.IsComplex() || others.DType.IsComplex(); k.Declined {
		return
	}
	d := ops.ResultType(a.Elements.Arg, a.TestElements.Arg)
	rows := keyRows(flat(strided.Dense(others, d)), 0)
	keys, at := make([]uint64, rows.n), make([]int64, rows.n)
	if rows.n > 0 {
		rows.read(keys, 0)
	}
	new(order.Sorter).Sort(at, keys, rows.Bits)
	sorted := keys[:0:0]
	for _, i := range at {
		if key := keys[i]; !rows.IsNaN(key) && (len(sorted) == 0 || sorted[len(sorted)-1] != key) {
			sorted = append(sorted, key)
		}
	}
	elements := keyRows(flat(strided.Dense(x, d)), 0)
	looked := make([]uint64, elements.n)
	if elements.n > 0 {
		elements.read(looked, 0)
	}
	hits, invert := make([]bool, len(looked)), a.Invert.Bool()
	parallel.For(len(looked), len(looked)*sortingWork, func(from, to int) {
		for i := from; i < to; i++ {
			hits[i] = among(sorted, looked[i]) != invert
		}
	})
	strided.Store(k.out(), hits, ops.Bool)
}

// among reports whether sorted has a key: a search whose steps depend on the length alone.
func among(sorted []uint64, key uint64) bool {
	if len(sorted) == 0 {
		return false
	}
	at, n := 0, len(sorted)
	for n > 1 {
		half := n / 2
		next := at
		if sorted[at+half] <= key {
			next = at + half
		}
		at = next
		n -= half
	}
	return sorted[at] == key
}
