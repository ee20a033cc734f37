package kernels

import (
	"math"
	"slices"

	"tcdbg/ops"
	"tcdbg/torch/internal/refusal"
	"tcdbg/torch/internal/strided"
)

// This file holds indexing by tensors of integers and masks.

func advancedKernels() map[ops.ID]Kernel {
	return map[ops.ID]Kernel{
		ops.IndexPut: indexPutKernel, ops.ScatterReduce: scatterReduceKernel, ops.ConstantPadNd: constantPadKernel,
		ops.Linspace: linspaceKernel,
		ops.DiagonalScatter: func(k *Call) {
			a := ops.In[ops.DiagonalScatterArgs](k.Call)
			place(k, a.Src, ops.Diagonal, a.Offset.Arg, a.Dim1.Arg, a.Dim2.Arg)
		},
	}
}

// picker is a resolved list of index tensors: the elements of the indexed
// dimensions that it picks.
type picker struct {
	shape  []int   // of the indices
	at     []int64 // element offset in the indexed dimensions, one a picked place
	rest   []int   // sizes of the other dimensions
	step   []int   // their strides
	result []int   // shape of x[indices]
	first  int     // where the picked dimensions are in the result
}

// expandMasks replaces masks by the positions of their true elements.
func expandMasks(op string, x *strided.Array, list []ops.Value) []*strided.Array {
	var out []*strided.Array
	for _, v := range list {
		var t *strided.Array
		if h, ok := v.(strided.Holder); ok {
			t = h.Array()
		}
		if t == nil {
			out = append(out, nil)
			continue
		}
		if t.DType != ops.Bool && t.DType != ops.Uint8 {
			if t.DType != ops.Int64 && t.DType != ops.Int32 {
				refusal.Fail(op, "IndexError", "tensors used as indices must be long, int, byte or bool tensors")
			}
			out = append(out, strided.Dense(t, ops.Int64))
			continue
		}
		for i, n := range t.Shape {
			if at := len(out) + i; at >= len(x.Shape) || n != x.Shape[at] {
				refusal.Fail(
					op, "IndexError",
					"The shape of the mask %s at index %d does not match the shape of the indexed tensor %s at index %d",
					refusal.Ints(t.Shape), i, refusal.Ints(x.Shape), at,
				)
			}
		}
		nz := nonzeroKernel(&Call{Call: &ops.Call{Op: ops.Get(ops.Nonzero), Args: []ops.Arg{t}}})[0].(*strided.Array)
		for d := range t.Shape {
			out = append(out, strided.Dense(strided.Part(nz, 1, d), ops.Int64))
		}
	}
	if len(out) > len(x.Shape) {
		refusal.Fail(op, "IndexError", "too many indices for tensor of dimension %d", len(x.Shape))
	}
	return out
}

// newPicker resolves indices against the layout of x.
func newPicker(op *ops.Op, x *strided.Array, list []ops.Value) *picker {
	ids := expandMasks(op.Name, x, list)
	vals := make([]ops.Value, len(ids))
	for i, t := range ids {
		if t != nil {
			vals[i] = t
		}
	}
	shape, picked, err := ops.IndexShape(x.TensorMeta(), vals)
	if err != nil {
		refusal.Raise(op, err)
	}
	p := &picker{shape: strided.Plain(picked), result: strided.Plain(shape)}
	p.at = make([]int64, strided.Product(p.shape))
	first, last, count := -1, -1, 0
	for d := range x.Shape {
		if d >= len(ids) || ids[d] == nil {
			p.rest, p.step = append(p.rest, x.Shape[d]), append(p.step, x.Stride[d])
			continue
		}
		if first < 0 {
			first = d
		}
		last = d
		count++
		p.add(op.Name, ids[d], d, x.Shape[d], x.Stride[d])
	}
	if last-first+1 == count {
		p.first = max(first, 0)
	}
	return p
}

// add adds the contribution of one index tensor to the picked offsets.
func (p *picker) add(op string, idx *strided.Array, dim, size, stride int) {
	wide := strided.New(ops.Int64, p.shape)
	strided.Copy(wide, idx)
	for i, v := range strided.Slice[int64](wide) {
		if v < -int64(size) || v >= int64(size) {
			refusal.Fail(op, "IndexError", "index %d is out of bounds for dimension %d with size %d", v, dim, size)
		}
		if v < 0 {
			v += int64(size)
		}
		p.at[i] += v * int64(stride)
	}
}

// arranged views t, which has the result's shape, as picked places followed by
// the other dimensions.
func (p *picker) arranged(t *strided.Array) *strided.Array {
	k := len(p.shape)
	order := make([]int, 0, len(t.Shape))
	for i := range k {
		order = append(order, p.first+i)
	}
	for i := range t.Shape {
		if i < p.first || i >= p.first+k {
			order = append(order, i)
		}
	}
	return strided.Permuted(t, order)
}

func indexKernel(k *Call) []any {
	a := ops.In[ops.IndexArgs](k.Call)
	x := array(a.Self)
	p := newPicker(k.Op, x, a.Indices.Values())
	out := strided.New(x.DType, p.result)
	p.places(p.arranged(out), x).gather()
	return []any{out}
}

// places are the elements of x that are picked, and of list, which is arranged.
func (p *picker) places(list, x *strided.Array) *places {
	shape := append(slices.Clone(p.shape), p.rest...)
	return &places{
		shape: shape, list: list.Stride, ids: append(strided.ContiguousStrides(p.shape), make([]int, len(p.rest))...),
		array: append(make([]int, len(p.shape)), p.step...), positions: p.at, scale: 1, size: math.MaxInt,
		listPtr: list.Ptr(), arrayPtr: x.Ptr(), elementSize: x.DType.Size(),
	}
}

func indexPutKernel(k *Call) {
	out := k.out()
	a := ops.In[ops.IndexPutArgs](k.Call)
	strided.Copy(out, array(a.Self))
	p := newPicker(k.Op, out, a.Indices.Values())
	src := array(a.Values)
	s, err := ops.Broadcast(src.TensorMeta().Shape, ToMeta(p.result))
	if err != nil || !slices.Equal(strided.Plain(s), p.result) {
		refusal.Fail(
			"index_put", "RuntimeError",
			"shape mismatch: value tensor of shape %s cannot be broadcast to indexing result of shape %s",
			refusal.Ints(src.Shape), refusal.Ints(p.result),
		)
	}
	vals := strided.New(out.DType, p.result)
	strided.Copy(vals, src)
	from := p.arranged(vals)
	kk := len(p.shape)
	n := 0
	if strided.Product(p.result) == 0 {
		return
	}
	if !a.Accumulate.Bool() {
		p.places(from, out).scatter(oneByOne)
		return
	}
	if add := adderOf(out, from, oneArg); add != nil {
		add(p.places(from, out), oneByOne)
		return
	}
	strided.EachIndex(p.shape, func(ix []int) {
		dst := strided.Over(out.Storage, out.DType, p.rest, p.step, out.Offset+int(p.at[n]))
		n++
		v := strided.Over(from.Storage, from.DType, p.rest, from.Stride[kk:], from.Offset+strided.At(ix, from.Stride[:kk]))
		accumulateInto(dst, v, oneArg)
	})
}

func scatterReduceKernel(k *Call) {
	strided.Copy(k.out(), k.self())
	dim := k.dim()
	addTyped(strided.Lift(k.out()),
		func(o *strided.Array) { scatterReduce[float32](o, k, dim) },
		func(o *strided.Array) { scatterReduce[float64](o, k, dim) },
		func(o *strided.Array) { scatterReduce[int64](o, k, dim) })
}

func scatterReduce[T strided.Number](out *strided.Array, k *Call, dim int) {
	a := ops.In[ops.ScatterReduceArgs](k.Call)
	idx, src := strided.Lift(strided.Dense(array(a.Index), ops.Int64)), strided.Lift(strided.Dense(array(a.Src), out.DType))
	p := placesAlong(src, idx, out, dim, outside("scatter_reduce", dim, out.Shape[dim]))
	base, join, mean := (*T)(out.Ptr()), combiner[T](a.Reduce.Str()), a.Reduce.Str() == "mean"
	if a.IncludeSelf.Bool() && !mean {
		foldLines(p, func(at int, x T) {
			to := strided.Elem(base, at)
			*to = join(*to, x)
		})
		return
	}
	count := make([]int, extent(out))
	first := 0
	if a.IncludeSelf.Bool() {
		first = 1 // what is there counts
	}
	foldLines(p, func(at int, x T) {
		to := strided.Elem(base, at)
		if count[at]++; count[at]+first == 1 {
			*to = x
			return
		}
		*to = join(*to, x)
	})
	for at, c := range count {
		if mean && c > 0 {
			to := strided.Elem(base, at)
			*to = divideDown(*to, T(c+first))
		}
	}
}

// extent is how many elements lie between the first and the last of an array, both counted.
func extent(x *strided.Array) int {
	if x.Numel() == 0 {
		return 0
	}
	n := 1
	for d, size := range x.Shape {
		n += (size - 1) * x.Stride[d]
	}
	return n
}

// combiner is a reduction by its name; a mean is a sum that is divided later.
func combiner[T strided.Number](how string) func(a, x T) T {
	switch how {
	case "prod":
		return func(a, x T) T { return a * x }
	case "amax":
		return func(a, x T) T {
			if x > a || x != x {
				return x
			}
			return a
		}
	case "amin":
		return func(a, x T) T {
			if x < a || x != x {
				return x
			}
			return a
		}
	}
	return func(a, x T) T { return a + x }
}

// divideDown divides; integers round towards minus infinity.
func divideDown[T strided.Number](a, b T) T {
	q := a / b
	if T(1)/T(2) == 0 && q*b != a && (a < 0) != (b < 0) {
		q--
	}
	return q
}

func constantPadKernel(k *Call) {
	a := ops.In[ops.ConstantPadNdArgs](k.Call)
	x, out := array(a.Self), k.out()
	fillNumber(out, a.Value.Arg)
	pad := wholes(a.Pad)
	shape := append([]int{}, x.Shape...)
	from, to := x.Offset, out.Offset
	for i := range len(pad) / 2 {
		d := len(shape) - 1 - i
		left, right := pad[2*i], pad[2*i+1]
		if left < 0 {
			from -= left * x.Stride[d]
		} else {
			to += left * out.Stride[d]
		}
		shape[d] += min(left, 0) + min(right, 0)
	}
	if strided.Product(shape) <= 0 {
		return
	}
	strided.Copy(strided.Over(out.Storage, out.DType, shape, out.Stride, to), strided.Over(x.Storage, x.DType, shape, x.Stride, from))
}

func linspaceKernel(k *Call) {
	n := k.out().Numel()
	a := ops.In[ops.LinspaceArgs](k.Call)
	start, end := a.Start.Float(), a.End.Float()
	if k.out().DType.IsInt() { // the bounds are converted first
		start, end = math.Trunc(start), math.Trunc(end)
	}
	s := make([]float64, n)
	step := 0.0
	if n > 1 {
		step = (end - start) / float64(n-1)
	}
	for i := range s {
		if i < n/2 || n == 1 {
			s[i] = start + step*float64(i)
		} else {
			s[i] = end - step*float64(n-1-i)
		}
	}
	strided.Store(k.out(), s, ops.Float64)
}
