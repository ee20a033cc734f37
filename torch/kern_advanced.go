package torch

import (
	"math"
	"slices"
	"unsafe"

	"tcdbg/ops"
)

// This file holds indexing by tensors of integers and masks.

func advancedKernels() map[ops.ID]kernel {
	return map[ops.ID]kernel{
		ops.IndexPut: indexPutKernel, ops.ScatterReduce: scatterReduceKernel, ops.DiagonalScatter: placeKernel(ops.Diagonal),
		ops.ConstantPadNd: constantPadKernel, ops.Linspace: linspaceKernel,
	}
}

// picker is a resolved list of index tensors: the elements of the indexed
// dimensions that it picks.
type picker struct {
	shape  []int // of the indices
	at     []int // element offset in the indexed dimensions, one a picked place
	rest   []int // sizes of the other dimensions
	step   []int // their strides
	result []int // shape of x[indices]
	first  int   // where the picked dimensions stand in the result
}

// expandMasks replaces masks by the positions of their true elements.
func expandMasks(op string, x *Tensor, list []ops.Value) []*Tensor {
	var out []*Tensor
	for _, v := range list {
		t, ok := v.(*Tensor)
		if !ok || t == nil {
			out = append(out, nil)
			continue
		}
		if t.dtype != ops.Bool && t.dtype != ops.Uint8 {
			if t.dtype != ops.Int64 && t.dtype != ops.Int32 {
				fail(op, "IndexError", "tensors used as indices must be long, int, byte or bool tensors")
			}
			out = append(out, dense(t, ops.Int64))
			continue
		}
		for i, n := range t.shape {
			if at := len(out) + i; at >= len(x.shape) || n != x.shape[at] {
				fail(op, "IndexError", "The shape of the mask %s at index %d does not match the shape of the indexed tensor %s at index %d", intsText(t.shape), i, intsText(x.shape), at)
			}
		}
		nz := nonzeroKernel(&kernelCall{Call: &ops.Call{Op: ops.Get(ops.Nonzero), Args: []ops.Arg{t}}})[0].(*Tensor)
		for d := range t.shape {
			out = append(out, dense(part(nz, 1, d), ops.Int64))
		}
	}
	if len(out) > len(x.shape) {
		fail(op, "IndexError", "too many indices for tensor of dimension %d", len(x.shape))
	}
	return out
}

// newPicker resolves indices against the layout of x.
func newPicker(op *ops.Op, x *Tensor, list []ops.Value) *picker {
	ids := expandMasks(op.Name, x, list)
	vals := make([]ops.Value, len(ids))
	for i, t := range ids {
		if t != nil {
			vals[i] = t
		}
	}
	shape, picked, err := ops.IndexShape(x.TensorMeta(), vals)
	if err != nil {
		raise(op, err)
	}
	p := &picker{shape: plain(picked), result: plain(shape)}
	p.at = make([]int, product(p.shape))
	first, last, count := -1, -1, 0
	for d := range x.shape {
		if d >= len(ids) || ids[d] == nil {
			p.rest, p.step = append(p.rest, x.shape[d]), append(p.step, x.stride[d])
			continue
		}
		if first < 0 {
			first = d
		}
		last = d
		count++
		p.add(op.Name, ids[d], d, x.shape[d], x.stride[d])
	}
	if last-first+1 == count {
		p.first = max(first, 0)
	}
	return p
}

// add adds the contribution of one index tensor to the picked offsets.
func (p *picker) add(op string, idx *Tensor, dim, size, stride int) {
	wide := newTensor(ops.Int64, p.shape)
	copyInto(wide, idx)
	for i, v := range slice[int64](wide) {
		if v < -int64(size) || v >= int64(size) {
			fail(op, "IndexError", "index %d is out of bounds for dimension %d with size %d", v, dim, size)
		}
		if v < 0 {
			v += int64(size)
		}
		p.at[i] += int(v) * stride
	}
}

// arranged views t, which has the result's shape, as picked places followed by
// the other dimensions.
func (p *picker) arranged(t *Tensor) *Tensor {
	k := len(p.shape)
	order := make([]int, 0, len(t.shape))
	for i := range k {
		order = append(order, p.first+i)
	}
	for i := range t.shape {
		if i < p.first || i >= p.first+k {
			order = append(order, i)
		}
	}
	return permuted(t, order)
}

func indexKernel(k *kernelCall) []Value {
	x := k.in(0)
	p := newPicker(k.Op, x, k.Values(1))
	out := newTensor(x.dtype, p.result)
	dst := p.arranged(out)
	n := 0
	kk := len(p.shape)
	if product(p.rest) == 0 {
		return []Value{out}
	}
	if len(p.rest) == 0 || product(p.rest) == 1 {
		es := x.dtype.Size()
		eachIndex(p.shape, func(ix []int) {
			moveElement(unsafe.Add(dst.Ptr(), at(ix, dst.stride[:kk])*es), unsafe.Add(x.Ptr(), p.at[n]*es), es)
			n++
		})
		return []Value{out}
	}
	eachIndex(p.shape, func(ix []int) {
		src := FromStorage(x.storage, x.dtype, p.rest, p.step, x.offset+p.at[n])
		n++
		copyInto(FromStorage(dst.storage, dst.dtype, p.rest, dst.stride[kk:], dst.offset+at(ix, dst.stride[:kk])), src)
	})
	return []Value{out}
}

func indexPutKernel(k *kernelCall) {
	out := k.out()
	copyInto(out, k.in(0))
	p := newPicker(k.Op, out, k.Values(1))
	src := k.in(2)
	s, err := ops.Broadcast(src.TensorMeta().Shape, toMeta(p.result))
	if err != nil || !slices.Equal(plain(s), p.result) {
		fail("index_put", "RuntimeError", "shape mismatch: value tensor of shape %s cannot be broadcast to indexing result of shape %s", intsText(src.shape), intsText(p.result))
	}
	vals := newTensor(out.dtype, p.result)
	copyInto(vals, src)
	from := p.arranged(vals)
	add := ops.Get(ops.Add)
	kk := len(p.shape)
	n := 0
	if product(p.result) == 0 {
		return
	}
	eachIndex(p.shape, func(ix []int) {
		dst := FromStorage(out.storage, out.dtype, p.rest, p.step, out.offset+p.at[n])
		n++
		v := FromStorage(from.storage, from.dtype, p.rest, from.stride[kk:], from.offset+at(ix, from.stride[:kk]))
		if k.Bool(3) {
			writeInPlace(&ops.Call{Op: add, Args: []ops.Arg{dst, v, oneArg}}, dst)
			return
		}
		copyInto(dst, v)
	})
}

func scatterReduceKernel(k *kernelCall) {
	copyInto(k.out(), k.in(0))
	dim := k.dim(1)
	addTyped(lift(k.out()),
		func(o *Tensor) { scatterReduce[float32](o, k, dim) },
		func(o *Tensor) { scatterReduce[float64](o, k, dim) },
		func(o *Tensor) { scatterReduce[int64](o, k, dim) })
}

func scatterReduce[T number](out *Tensor, k *kernelCall, dim int) {
	idx, src := lift(dense(k.in(2), ops.Int64)), lift(dense(k.in(3), out.dtype))
	ids := slice[int64](idx)
	base, from := (*T)(out.Ptr()), (*T)(src.Ptr())
	how := k.Str(4)
	count := map[int]int{}
	n := 0
	eachIndex(idx.shape, func(ix []int) {
		i := checkIndex("scatter_reduce", ids[n], dim, out.shape[dim])
		n++
		to := atWith(ix, out.stride, dim, i)
		x, p := *elem(from, at(ix, src.stride)), elem(base, to)
		count[to]++
		if count[to] == 1 && !k.Bool(5) {
			*p = x
			return
		}
		*p = combine(how, *p, x)
	})
	if how != "mean" {
		return
	}
	for to, c := range count {
		if k.Bool(5) {
			c++
		}
		p := elem(base, to)
		*p = divideDown(*p, T(c))
	}
}

func combine[T number](how string, a, x T) T {
	switch how {
	case "prod":
		return a * x
	case "amax":
		if x > a || x != x {
			return x
		}
		return a
	case "amin":
		if x < a || x != x {
			return x
		}
		return a
	}
	return a + x
}

// divideDown divides; integers round towards minus infinity.
func divideDown[T number](a, b T) T {
	q := a / b
	if T(1)/T(2) == 0 && q*b != a && (a < 0) != (b < 0) {
		q--
	}
	return q
}

func constantPadKernel(k *kernelCall) {
	x, out := k.in(0), k.out()
	fillNumber(out, k.Args[2])
	pad := k.nums(1)
	shape := append([]int{}, x.shape...)
	from, to := x.offset, out.offset
	for i := range len(pad) / 2 {
		d := len(shape) - 1 - i
		left, right := pad[2*i], pad[2*i+1]
		if left < 0 {
			from -= left * x.stride[d]
		} else {
			to += left * out.stride[d]
		}
		shape[d] += min(left, 0) + min(right, 0)
	}
	if product(shape) <= 0 {
		return
	}
	copyInto(FromStorage(out.storage, out.dtype, shape, out.stride, to), FromStorage(x.storage, x.dtype, shape, x.stride, from))
}

func linspaceKernel(k *kernelCall) {
	n := k.out().Numel()
	start, end := k.Float(0), k.Float(1)
	if k.out().dtype.IsInt() { // the bounds are converted first
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
	finish(k.out(), s, ops.Float64)
}
