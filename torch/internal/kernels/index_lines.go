package kernels

import (
	"unsafe"

	"tcdbg/torch/internal/parallel"
	"tcdbg/torch/internal/strided"
)

// This file moves elements between a list and the places of an array that positions name: the loop under
// gather, scatter, index_select, index_add and indexing by tensors.

// places is how a list, positions and an array are walked together. An element of the list belongs to the
// element of the array that lies position times scale further than the strides say.
type places struct {
	shape             []int
	list, ids, array  []int // strides over shape
	positions         []int64
	scale, size       int
	outside           func(position int64) // refuses one that is not below size
	listPtr, arrayPtr unsafe.Pointer
	elementSize       int
}

// freedom says which elements may be moved at the same time.
type freedom int

const (
	oneByOne  freedom = iota // positions may name a place more than once
	lineByOne                // only within a run along the last dimension
	allAtOnce
)

// placesAlong are those of index along dimension dim of x; list has the shape of index.
func placesAlong(list, index, x *strided.Array, dim int, outside func(position int64)) *places {
	stride := append([]int{}, x.Stride...)
	stride[dim] = 0
	return &places{
		shape: index.Shape, list: list.Stride, ids: index.Stride, array: stride, positions: memoryOf(index), scale: x.Stride[dim],
		size: x.Shape[dim], outside: outside, listPtr: list.Ptr(), arrayPtr: x.Ptr(), elementSize: x.DType.Size(),
	}
}

// memoryOf is what an array of int64 reads, whatever its strides.
func memoryOf(index *strided.Array) []int64 {
	if n := extent(index); n > 0 {
		return unsafe.Slice((*int64)(index.Ptr()), n)
	}
	return nil
}

// alongDim shows positions of one dimension as an index of that shape.
func alongDim(ids *strided.Array, shape []int, dim int) *strided.Array {
	stride := make([]int, len(shape))
	stride[dim] = 1
	return strided.Over(ids.Storage, ids.DType, shape, stride, ids.Offset)
}

// apart is how much of the elements of a scatter along dim is free of the others.
func apart(shape []int, dim int) freedom {
	if dim == len(shape)-1 {
		return lineByOne
	}
	return oneByOne
}

// line is a run of n elements: where it starts and how far apart its elements are.
type line struct {
	n                  int
	list, ids, array   int
	stepL, stepI, step int
}

// each calls f for every line, whose positions it has checked.
func (p *places) each(free freedom, f func(l *line, ids []int64)) {
	size, strides := p.joined()
	last := len(size) - 1
	n, lines := size[last], strided.Product(size[:last])
	if n*lines == 0 {
		return
	}
	pieces := 1
	if free == allAtOnce {
		pieces = (n + parallel.Grain - 1) / parallel.Grain
	}
	run := func(from, to int) {
		for c := from; c < to; c++ {
			first := c % pieces * parallel.Grain
			at := func(k int) int { return offsetOf(c/pieces, size[:last], strides[k][:last]) + first*strides[k][last] }
			l := line{
				n: n, list: at(0), ids: at(1), array: at(2), stepL: strides[0][last], stepI: strides[1][last], step: strides[2][last],
			}
			if pieces > 1 {
				l.n = min(n-first, parallel.Grain)
			}
			ids := p.positions[l.ids:]
			p.check(&l, ids)
			f(&l, ids)
		}
	}
	if free == oneByOne {
		run(0, lines*pieces)
		return
	}
	parallel.For(lines*pieces, n*lines, run)
}

func (p *places) check(l *line, ids []int64) {
	for i := 0; i < l.n; i++ {
		if id := ids[i*l.stepI]; uint64(id) >= uint64(p.size) {
			p.outside(id)
		}
		if l.stepI == 0 {
			return
		}
	}
}

// joined are the dimensions, of which neighbours that all walk alike are one.
func (p *places) joined() (size []int, strides [3][]int) {
	all := [3][]int{p.list, p.ids, p.array}
	for d, n := range p.shape {
		if n == 1 {
			continue
		}
		last, joins := len(size)-1, len(size) > 0
		for k := range all {
			joins = joins && strides[k][last] == all[k][d]*n
		}
		if joins {
			size[last] *= n
		} else {
			size = append(size, n)
			last++
		}
		for k := range all {
			strides[k] = append(strides[k][:last], all[k][d])
		}
	}
	if len(size) == 0 {
		return []int{1}, [3][]int{{1}, {1}, {1}}
	}
	return size, strides
}

// gather fills the list from the array.
func (p *places) gather() {
	switch p.elementSize {
	case 1:
		gatherLines[uint8](p)
	case 2:
		gatherLines[uint16](p)
	case 4:
		gatherLines[uint32](p)
	default:
		gatherLines[uint64](p)
	}
}

func gatherLines[T any](p *places) {
	list, array := (*T)(p.listPtr), (*T)(p.arrayPtr)
	p.each(allAtOnce, func(l *line, ids []int64) {
		to, from := strided.Elem(list, l.list), strided.Elem(array, l.array)
		switch {
		case l.stepI == 0 && l.stepL == 1 && l.step == 1:
			copy(unsafe.Slice(to, l.n), unsafe.Slice(strided.Elem(from, int(ids[0])*p.scale), l.n))
		case l.stepI == 1 && l.stepL == 1 && l.step == 0:
			pick(to, from, p.scale, ids[:l.n])
		default:
			for i := range l.n {
				*strided.Elem(to, i*l.stepL) = *strided.Elem(from, i*l.step+int(ids[i*l.stepI])*p.scale)
			}
		}
	})
}

// scatter stores the list in the array; of several for one place the last stays.
func (p *places) scatter(free freedom) {
	switch p.elementSize {
	case 1:
		scatterLines[uint8](p, free)
	case 2:
		scatterLines[uint16](p, free)
	case 4:
		scatterLines[uint32](p, free)
	default:
		scatterLines[uint64](p, free)
	}
}

func scatterLines[T any](p *places, free freedom) {
	list, array := (*T)(p.listPtr), (*T)(p.arrayPtr)
	p.each(free, func(l *line, ids []int64) {
		from, to := strided.Elem(list, l.list), strided.Elem(array, l.array)
		if l.stepI == 0 && l.stepL == 1 && l.step == 1 {
			copy(unsafe.Slice(strided.Elem(to, int(ids[0])*p.scale), l.n), unsafe.Slice(from, l.n))
			return
		}
		for i := range l.n {
			*strided.Elem(to, i*l.step+int(ids[i*l.stepI])*p.scale) = *strided.Elem(from, i*l.stepL)
		}
	})
}

// addLines adds the list to the array, in the order of the list.
func addLines[T strided.Number | complex64](p *places, free freedom) {
	list, array := (*T)(p.listPtr), (*T)(p.arrayPtr)
	p.each(free, func(l *line, ids []int64) {
		from, to := strided.Elem(list, l.list), strided.Elem(array, l.array)
		if l.stepI == 0 && l.stepL == 1 && l.step == 1 {
			sum := unsafe.Slice(strided.Elem(to, int(ids[0])*p.scale), l.n)
			for i, x := range unsafe.Slice(from, l.n) {
				sum[i] += x
			}
			return
		}
		for i := range l.n {
			*strided.Elem(to, i*l.step+int(ids[i*l.stepI])*p.scale) += *strided.Elem(from, i*l.stepL)
		}
	})
}

// foldLines combines the list with the array: f is told of the place in the array.
func foldLines[T strided.Number](p *places, f func(at int, x T)) {
	list := (*T)(p.listPtr)
	p.each(oneByOne, func(l *line, ids []int64) {
		from := strided.Elem(list, l.list)
		for i := range l.n {
			f(l.array+i*l.step+int(ids[i*l.stepI])*p.scale, *strided.Elem(from, i*l.stepL))
		}
	})
}
