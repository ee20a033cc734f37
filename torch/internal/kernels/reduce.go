package kernels

import (
	"math"
	"unsafe"

	"tcdbg/ops"
	"tcdbg/torch/internal/parallel"
	"tcdbg/torch/internal/simd"
	"tcdbg/torch/internal/special"
	"tcdbg/torch/internal/strided"
)

// This file holds the reductions: one walk over the input, in the order of its
// memory, with typed folds.

// fold says how elements T are gathered in an accumulator A.
type fold[T, A any] struct {
	init  A
	step  func(acc A, x T) A
	run   func(acc A, s []T) A // step over a contiguous run; may be nil
	rows  func(acc []A, s []T) // acc[i] = step(acc[i], s[i]); may be nil
	merge func(a, b A) A
}

// layout of a reduction: kept dimensions (those of the result) and folded ones,
// with the input's strides in elements.
type reduction struct {
	keptSize, keptStride []int
	foldSize, foldStride []int
	outs, folds          int
}

func planReduction(x *strided.Array, dims []bool) *reduction {
	r := &reduction{outs: 1, folds: 1}
	for i, s := range x.Shape {
		if dims[i] {
			r.foldSize, r.foldStride = append(r.foldSize, s), append(r.foldStride, x.Stride[i])
			r.folds *= s
		} else {
			r.keptSize, r.keptStride = append(r.keptSize, s), append(r.keptStride, x.Stride[i])
			r.outs *= s
		}
	}
	sortByStride(r.foldSize, r.foldStride)
	r.foldSize, r.foldStride = joinDims(r.foldSize, r.foldStride)
	return r
}

// sortByStride puts the largest stride first: the order of a fold is free.
func sortByStride(size, stride []int) {
	for i := 1; i < len(size); i++ {
		for j := i; j > 0 && stride[j-1] < stride[j]; j-- {
			size[j-1], size[j] = size[j], size[j-1]
			stride[j-1], stride[j] = stride[j], stride[j-1]
		}
	}
}

// joinDims merges neighbours that are one run of memory and drops ones.
func joinDims(size, stride []int) ([]int, []int) {
	var s, t []int
	for i := range size {
		n := len(s)
		switch {
		case size[i] == 1:
		case n > 0 && t[n-1] == stride[i]*size[i]:
			s[n-1] *= size[i]
			t[n-1] = stride[i]
		default:
			s, t = append(s, size[i]), append(t, stride[i])
		}
	}
	return s, t
}

// offsetOf is the position of linear index i in a layout.
func offsetOf(i int, size, stride []int) int {
	at := 0
	for d := len(size) - 1; d >= 0; d-- {
		at += i % size[d] * stride[d]
		i /= size[d]
	}
	return at
}

// reduceInto folds x over dims; out has one accumulator for each result, in
// row-major order of the kept dimensions.
func reduceInto[T, A any](x *strided.Array, dims []bool, out []A, f fold[T, A]) {
	for i := range out {
		out[i] = f.init
	}
	r := planReduction(x, dims)
	if r.outs == 0 || r.folds == 0 {
		return
	}
	base := (*T)(x.Ptr())
	inner := 1
	if n := len(r.foldStride); n > 0 {
		inner = r.foldStride[n-1]
	}
	last := len(r.keptSize) - 1
	switch {
	case r.outs == 1 && len(r.foldSize) == 1 && inner == 1 && f.merge != nil:
		reduceFlat(base, r.folds, out, f)
	case last >= 0 && r.keptStride[last] == 1 && inner != 1 && r.keptSize[last] > 1:
		reduceRows(base, r, out, f)
	default:
		reduceRuns(base, r, out, f)
	}
}

// reduceFlat folds one run, in pieces on several threads.
func reduceFlat[T, A any](base *T, n int, out []A, f fold[T, A]) {
	all := unsafe.Slice(base, n)
	pieces := (n + 4*parallel.Grain - 1) / (4 * parallel.Grain)
	part := make([]A, pieces)
	parallel.For(pieces, n, func(from, to int) {
		for i := from; i < to; i++ {
			part[i] = foldRun(f.init, all[n*i/pieces:n*(i+1)/pieces], f)
		}
	})
	for len(part) > 1 { // pairwise
		for i := 0; i < len(part)/2; i++ {
			part[i] = f.merge(part[2*i], part[2*i+1])
		}
		if len(part)%2 == 1 {
			part[len(part)/2] = part[len(part)-1]
		}
		part = part[:(len(part)+1)/2]
	}
	out[0] = part[0]
}

func foldRun[T, A any](acc A, s []T, f fold[T, A]) A {
	if f.run != nil {
		return f.run(acc, s)
	}
	for _, x := range s {
		acc = f.step(acc, x)
	}
	return acc
}

// reduceRuns folds each result on its own, run by run.
func reduceRuns[T, A any](base *T, r *reduction, out []A, f fold[T, A]) {
	inner, step := 1, 1
	if n := len(r.foldSize); n > 0 {
		inner, step = r.foldSize[n-1], r.foldStride[n-1]
	}
	runs := r.folds / inner
	parallel.For(r.outs, r.outs*r.folds, func(from, to int) {
		for o := from; o < to; o++ {
			start := offsetOf(o, r.keptSize, r.keptStride)
			acc := f.init
			for j := range runs {
				at := start
				if runs > 1 {
					n := len(r.foldSize) - 1
					at += offsetOf(j, r.foldSize[:n], r.foldStride[:n])
				}
				p := strided.Elem(base, at)
				if step == 1 {
					acc = foldRun(acc, unsafe.Slice(p, inner), f)
					continue
				}
				for i := range inner {
					acc = f.step(acc, *strided.Elem(p, i*step))
				}
			}
			out[o] = acc
		}
	})
}

// reduceRows adds whole rows of results at a time: the kept innermost
// dimension is contiguous.
func reduceRows[T, A any](base *T, r *reduction, out []A, f fold[T, A]) {
	last := len(r.keptSize) - 1
	width := r.keptSize[last]
	const block = 512
	blocks := (width + block - 1) / block
	n := r.outs / width * blocks
	parallel.For(n, r.outs*r.folds, func(from, to int) {
		for b := from; b < to; b++ {
			row, col := b/blocks, b%blocks*block
			w := min(block, width-col)
			start := offsetOf(row, r.keptSize[:last], r.keptStride[:last]) + col
			acc := out[row*width+col:][:w]
			for j := range r.folds {
				s := unsafe.Slice(strided.Elem(base, start+offsetOf(j, r.foldSize, r.foldStride)), w)
				if f.rows != nil {
					f.rows(acc, s)
					continue
				}
				for i, x := range s {
					acc[i] = f.step(acc[i], x)
				}
			}
		}
	})
}

func sumFold[T strided.Number, A strided.Number]() fold[T, A] {
	return fold[T, A]{
		step:  func(a A, x T) A { return a + A(x) },
		merge: func(a, b A) A { return a + b },
		run: func(acc A, s []T) A {
			var a, b, c, d A
			n := len(s) &^ 3
			for i := 0; i < n; i += 4 {
				a += A(s[i])
				b += A(s[i+1])
				c += A(s[i+2])
				d += A(s[i+3])
			}
			for _, x := range s[n:] {
				a += A(x)
			}
			return acc + ((a + b) + (c + d))
		},
		rows: func(acc []A, s []T) {
			acc = acc[:len(s)]
			for i, x := range s {
				acc[i] += A(x)
			}
		},
	}
}

func prodFold[T, A strided.Number]() fold[T, A] {
	return fold[T, A]{
		init: 1, step: func(a A, x T) A { return a * A(x) }, merge: func(a, b A) A { return a * b },
		rows: func(acc []A, s []T) {
			acc = acc[:len(s)]
			for i, x := range s {
				acc[i] *= A(x)
			}
		},
	}
}

// maxFold keeps the first NaN, else the first of the greatest numbers.
func maxFold[T strided.Number](low T) fold[T, T] {
	step := func(a, x T) T {
		if a == a && (x > a || x != x) {
			return x
		}
		return a
	}
	return fold[T, T]{
		init: low, step: step, merge: step,
		run: func(a T, s []T) T {
			for _, x := range s {
				if a == a && (x > a || x != x) {
					a = x
				}
			}
			return a
		},
		rows: func(acc []T, s []T) {
			acc = acc[:len(s)]
			for i, x := range s {
				if a := acc[i]; a == a && (x > a || x != x) {
					acc[i] = x
				}
			}
		},
	}
}

// minFold is maxFold of the least numbers.
func minFold[T strided.Number](high T) fold[T, T] {
	step := func(a, x T) T {
		if a == a && (x < a || x != x) {
			return x
		}
		return a
	}
	return fold[T, T]{
		init: high, step: step, merge: step,
		run: func(a T, s []T) T {
			for _, x := range s {
				if a == a && (x < a || x != x) {
					a = x
				}
			}
			return a
		},
		rows: func(acc []T, s []T) {
			acc = acc[:len(s)]
			for i, x := range s {
				if a := acc[i]; a == a && (x < a || x != x) {
					acc[i] = x
				}
			}
		},
	}
}

// dimMask marks the folded dimensions of a call.
func (k *Call) dimMask() []bool {
	a := ops.In[ops.SelfDimsArgs](k.Call)
	n := len(array(a.Self).Shape)
	mask := make([]bool, n)
	list := wholes(a.Dim)
	for j := range mask {
		mask[j] = len(list) == 0
	}
	if d, ok := a.Dim.Arg.(interface{ Hint() int64 }); ok { // a single dimension
		list = []int{int(d.Hint())}
		clear(mask)
	}
	for _, d := range list {
		if n > 0 {
			mask[(d+n)%n] = true
		}
	}
	return mask
}

func reduceKernels() map[ops.ID]Kernel {
	return map[ops.ID]Kernel{
		ops.Sum: sumKernel(false), ops.Mean: sumKernel(true), ops.Prod: prodKernel,
		ops.Amax: extremumKernel(true), ops.Amin: extremumKernel(false),
		ops.Any: anyKernel(true), ops.AllOf: anyKernel(false),
		ops.Argmax: argKernel(true), ops.Argmin: argKernel(false),
		ops.Cumsum: cumKernel(false), ops.Cumprod: cumKernel(true), ops.Logcumsumexp: logcumsumexpKernel,
		ops.Norm: normKernel,
	}
}

// computed converts the input to the type in which a reduction to d works:
// half precision in float32, integers and bools in int64.
func computed(x *strided.Array, d ops.DType) (*strided.Array, ops.DType) {
	c := ops.OpMath(d)
	if d.IsInt() || d == ops.Bool {
		c = ops.Int64
	}
	if x.DType == c {
		return x, c
	}
	return strided.Dense(x, c), c
}

func sumKernel(mean bool) Kernel {
	return func(k *Call) {
		out := k.out()
		x, mask := k.self(), k.dimMask()
		n := 1
		for i, m := range mask {
			if m {
				n *= x.Shape[i]
			}
		}
		if x.DType.IsFloat() && x.DType.Size() == 2 && ops.OpMath(k.dtype) == ops.Float32 {
			acc := make([]float64, strided.Product(out.Shape))
			reduceInto(x, mask, acc, halfSumFold(x.DType))
			scaleMean(acc, mean, n)
			strided.Store(out, acc, ops.Float64)
			return
		}
		x, d := computed(x, k.dtype)
		switch d {
		case ops.Int64:
			acc := make([]int64, strided.Product(out.Shape))
			reduceInto(x, mask, acc, sumFold[int64, int64]())
			strided.Store(out, acc, ops.Int64)
		case ops.Float32:
			acc := make([]float64, strided.Product(out.Shape))
			f := sumFold[float32, float64]()
			f.run = func(acc float64, s []float32) float64 { return acc + simd.Active().Sum(s) }
			f.rows = func(acc []float64, s []float32) { simd.Active().AddWide(acc, s) }
			reduceInto(x, mask, acc, f)
			scaleMean(acc, mean, n)
			strided.Store(out, acc, ops.Float64)
		case ops.Float64:
			acc := make([]float64, strided.Product(out.Shape))
			reduceInto(x, mask, acc, sumFold[float64, float64]())
			scaleMean(acc, mean, n)
			strided.Store(out, acc, ops.Float64)
		case ops.Complex64:
			acc := make([]complex128, strided.Product(out.Shape))
			reduceInto(
				x, mask, acc,
				fold[complex64, complex128]{step: func(a complex128, x complex64) complex128 { return a + complex128(x) }},
			)
			rounded := make([]complex64, len(acc))
			for i, s := range acc {
				if mean {
					s = complex(real(s)/float64(n), imag(s)/float64(n))
				}
				rounded[i] = complex64(s)
			}
			strided.Store(out, rounded, ops.Complex64)
		}
	}
}

// normKernel is the root of the sum of squares of float32.
func normKernel(k *Call) {
	a := ops.In[ops.NormArgs](k.Call)
	x := array(a.Self)
	square := a.P.IsNone() || a.P.Float() == 2
	if k.Declined = !square || x.DType != ops.Float32 || k.dtype != ops.Float32 || len(x.Shape) == 0; k.Declined {
		return
	}
	mask := make([]bool, len(x.Shape))
	dims := wholes(a.Dim)
	for d := range mask {
		mask[d] = len(dims) == 0
	}
	for _, d := range dims {
		mask[(d+len(mask))%len(mask)] = true
	}
	acc := make([]float64, strided.Product(k.out().Shape))
	f := fold[float32, float64]{
		step:  func(a float64, x float32) float64 { return a + float64(x)*float64(x) },
		merge: func(a, b float64) float64 { return a + b },
		run:   func(a float64, s []float32) float64 { return a + simd.Active().Deviation(s, 0) },
		rows: func(acc []float64, s []float32) {
			acc = acc[:len(s)]
			for i, x := range s {
				acc[i] += float64(x) * float64(x)
			}
		},
	}
	reduceInto(x, mask, acc, f)
	for i, s := range acc {
		acc[i] = math.Sqrt(float64(float32(s))) // infinite where the sum is, as in a compiled graph
	}
	strided.Store(k.out(), acc, ops.Float64)
}

func scaleMean(acc []float64, mean bool, n int) {
	if !mean {
		return
	}
	for i := range acc {
		acc[i] /= float64(n)
	}
}

func prodKernel(k *Call) {
	out := k.out()
	x, d := computed(k.self(), k.dtype)
	mask := k.oneDimMask()
	switch d {
	case ops.Complex64:
		prodComplex(x, mask, out)
	case ops.Int64:
		acc := make([]int64, strided.Product(out.Shape))
		reduceInto(x, mask, acc, prodFold[int64, int64]())
		strided.Store(out, acc, ops.Int64)
	case ops.Float32:
		acc := make([]float64, strided.Product(out.Shape))
		reduceInto(x, mask, acc, prodFold[float32, float64]())
		strided.Store(out, acc, ops.Float64)
	default:
		acc := make([]float64, strided.Product(out.Shape))
		reduceInto(x, mask, acc, prodFold[float64, float64]())
		strided.Store(out, acc, ops.Float64)
	}
}

// oneDimMask is dimMask for (int? dim): None folds everything.
func (k *Call) oneDimMask() []bool {
	a := ops.In[ops.SelfDimArgs](k.Call)
	x := array(a.Self)
	mask := make([]bool, len(x.Shape))
	for i := range mask {
		mask[i] = a.Dim.IsNone() || i == along(a.Dim, x)
	}
	return mask
}

func extremumKernel(high bool) Kernel {
	return func(k *Call) {
		x := k.self()
		switch d := ops.OpMath(k.dtype); d {
		case ops.Float32:
			extremum(k, dense32(x), high, d, float32(math.Inf(-1)), float32(math.Inf(1)))
		case ops.Float64:
			extremum(k, x, high, d, math.Inf(-1), math.Inf(1))
		default:
			if x.DType != ops.Int64 {
				x = strided.Dense(x, ops.Int64)
			}
			extremum(k, x, high, ops.Int64, int64(math.MinInt64), int64(math.MaxInt64))
		}
	}
}

func dense32(x *strided.Array) *strided.Array {
	if x.DType == ops.Float32 {
		return x
	}
	return strided.Dense(x, ops.Float32)
}

func extremum[T strided.Number](k *Call, x *strided.Array, high bool, d ops.DType, low, top T) {
	acc := make([]T, strided.Product(k.out().Shape))
	f := minFold(top)
	if high {
		f = maxFold(low)
	}
	reduceInto(x, k.dimMask(), acc, f)
	strided.Store(k.out(), acc, d)
}

func anyKernel(or bool) Kernel {
	return func(k *Call) {
		x := k.self()
		if x.DType != ops.Bool {
			x = strided.Dense(x, ops.Bool)
		}
		acc := make([]bool, strided.Product(k.out().Shape))
		f := fold[bool, bool]{init: !or, step: func(a, x bool) bool { return a && x }}
		if or {
			f.step = func(a, x bool) bool { return a || x }
		}
		f.merge = f.step
		reduceInto(x, k.dimMask(), acc, f)
		strided.Store(k.out(), acc, ops.Bool)
	}
}

// argKernel finds the first position of the extremum; NaN wins.
func argKernel(high bool) Kernel {
	return func(k *Call) {
		a := ops.In[ops.SelfDimArgs](k.Call)
		x := array(a.Self)
		if a.Dim.IsNone() || len(x.Shape) == 0 {
			n := strided.Product(x.Shape)
			x = strided.Dense(x, x.DType)
			x = strided.Over(x.Storage, x.DType, []int{n}, []int{1}, x.Offset)
			argAlong(x, 0, k.out(), high)
			return
		}
		argAlong(x, along(a.Dim, x), k.out(), high)
	}
}

func argAlong(x *strided.Array, dim int, out *strided.Array, high bool) {
	switch d := ops.OpMath(x.DType); d {
	case ops.Float32:
		argLoop[float32](dense32(x), dim, out, high)
	case ops.Float64:
		argLoop[float64](x, dim, out, high)
	default:
		if x.DType != ops.Int64 {
			x = strided.Dense(x, ops.Int64)
		}
		argLoop[int64](x, dim, out, high)
	}
}

func argLoop[T strided.Number](x *strided.Array, dim int, out *strided.Array, high bool) {
	size, stride := strided.RemoveAt(x.Shape, dim), strided.RemoveAt(x.Stride, dim)
	n, step := x.Shape[dim], x.Stride[dim]
	base := (*T)(x.Ptr())
	acc := make([]int64, strided.Product(size))
	if last := len(size) - 1; last >= 0 && stride[last] == 1 && step != 1 {
		argRows(acc, base, size, stride, n, step, high)
	} else {
		parallel.For(len(acc), len(acc)*n, func(from, to int) {
			for o := from; o < to; o++ {
				p := strided.Elem(base, offsetOf(o, size, stride))
				best, at := *p, 0
				for i := 1; i < n && best == best; i++ {
					v := *strided.Elem(p, i*step)
					if v != v || (high && v > best) || (!high && v < best) {
						best, at = v, i
					}
				}
				acc[o] = int64(at)
			}
		})
	}
	strided.Store(out, acc, ops.Int64)
}

// argRows finds the positions of many neighbours at once, so that memory is read as it lies.
func argRows[T strided.Number](acc []int64, base *T, size, stride []int, n, step int, high bool) {
	const block = 512
	last := len(size) - 1
	width := size[last]
	blocks := (width + block - 1) / block
	parallel.For(strided.Product(size[:last])*blocks, len(acc)*n, func(from, to int) {
		best := make([]T, block)
		for b := from; b < to; b++ {
			row, col := b/blocks, b%blocks*block
			w := min(block, width-col)
			p := strided.Elem(base, offsetOf(row, size[:last], stride[:last])+col)
			at, best := acc[row*width+col:][:w], best[:w]
			copy(best, unsafe.Slice(p, w))
			for i := 1; i < n; i++ {
				if s := unsafe.Slice(strided.Elem(p, i*step), w); high {
					greaterAt(best, at, s, int64(i))
				} else {
					lessAt(best, at, s, int64(i))
				}
			}
		}
	})
}

// greaterAt puts i where s is greater than the best so far, or the first NaN.
func greaterAt[T strided.Number](best []T, at []int64, s []T, i int64) {
	for j, v := range s {
		if b := best[j]; b == b && (v > b || v != v) {
			best[j], at[j] = v, i
		}
	}
}

func lessAt[T strided.Number](best []T, at []int64, s []T, i int64) {
	for j, v := range s {
		if b := best[j]; b == b && (v < b || v != v) {
			best[j], at[j] = v, i
		}
	}
}

func cumKernel(prod bool) Kernel {
	return func(k *Call) {
		x, d := computed(k.self(), k.dtype)
		if len(x.Shape) == 0 {
			strided.Copy(k.out(), x)
			return
		}
		x = strided.Dense(x, d)
		switch d {
		case ops.Complex64:
			cumComplex(x, k.dim(), k.out(), prod)
		case ops.Int64:
			cumLoop[int64, int64](x, k.dim(), k.out(), prod)
		case ops.Float32:
			cumLoop[float32, float64](x, k.dim(), k.out(), prod)
		default:
			cumLoop[float64, float64](x, k.dim(), k.out(), prod)
		}
	}
}

func cumLoop[T, A strided.Number](x *strided.Array, dim int, out *strided.Array, prod bool) {
	res := strided.New(x.DType, x.Shape)
	src, dst := strided.Slice[T](x), strided.Slice[T](res)
	n, inner := x.Shape[dim], strided.Product(x.Shape[dim+1:])
	outer := strided.Product(x.Shape[:dim])
	parallel.For(outer*inner, len(src), func(from, to int) {
		for o := from; o < to; o++ {
			at := o/inner*n*inner + o%inner
			acc := A(0)
			if prod {
				acc = 1
			}
			for range n {
				if prod {
					acc *= A(src[at])
				} else {
					acc += A(src[at])
				}
				dst[at] = T(acc)
				at += inner
			}
		}
	})
	strided.Copy(out, res)
}

// logcumsumexpKernel sums in float64, as the logarithms of sums so far, and rounds once: the derivative takes
// differences of them.
func logcumsumexpKernel(k *Call) {
	if len(k.self().Shape) == 0 {
		strided.Copy(k.out(), k.self())
		return
	}
	x, dim := k.self().Float64s(), k.dim()
	shape := k.self().Shape
	n, inner := shape[dim], strided.Product(shape[dim+1:])
	const work = 32 // of an exponential and a logarithm
	parallel.For(strided.Product(shape[:dim])*inner, len(x)*work, func(from, to int) {
		for o := from; o < to; o++ {
			at := o/inner*n*inner + o%inner
			acc := math.Inf(-1)
			for range n {
				acc = special.Logaddexp(acc, x[at])
				x[at] = acc
				at += inner
			}
		}
	})
	strided.Store(k.out(), x, ops.Float64)
}
