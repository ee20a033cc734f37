package strided

import (
	"sync"
	"unsafe"

	"tcdbg/ops"
	"tcdbg/torch/internal/parallel"
	"tcdbg/torch/internal/refusal"
	"tcdbg/torch/internal/simd"
)

// This file is the strided loop under all pointwise operators. Kernels see
// runs of contiguous elements of their compute type; the iterator finds the
// runs, and converts, gathers and scatters through L1-sized buffers where an
// operand has another dtype or stride.

// Scratch is the buffers of one goroutine.
type Scratch [MaxOperands][chunkSize]uint64

var ScratchPool = sync.Pool{New: func() any { return new(Scratch) }}

// Loop computes n elements: p[0] is the result, the others the operands.
type Loop func(n int, p *[MaxOperands]unsafe.Pointer)

const (
	MaxOperands = 6
	maxDims     = 16
	// chunkSize is the elements of a buffer, of eight bytes each, and so a chunk where
	// an operand goes through one.
	chunkSize = 1024
	// directSize is the chunk where no operand goes through a buffer.
	directSize = 8192
	// StreamSize is the bytes of a result that no cache keeps until it is read
	// again: such results are written around the caches.
	StreamSize = 16 << 20
)

// operand is one tensor (or number) of a pointwise operator.
type operand struct {
	ptr    unsafe.Pointer
	dtype  ops.DType
	want   ops.DType // type in which the loop sees it
	stride [maxDims]int
	scalar [16]byte // a number's value, in type want
	number bool
	conv   CopyFunc // nil when the memory is used as it is
}

type Iterator struct {
	Nops int
	Ndim int
	Size [maxDims]int
	ops  [MaxOperands]operand
	Loop Loop
	// Around is loop for memory that is used as it is, whose result goes around the
	// caches; nil where there is none.
	Around Loop
	Pair   *simd.Binary // loop is this function of two float32 operands
	Inner  int          // elements of a run
	outer  int          // number of runs
	piece  int          // elements of a chunk
	// Stream sends the result around the caches, through a buffer where around is nil.
	Stream bool
}

// SetTensor makes operand k the tensor t, broadcast to shape.
func (it *Iterator) SetTensor(k int, t *Array, want ops.DType, shape []int) {
	o := &it.ops[k]
	if len(shape) > maxDims {
		tooManyDims(shape)
	}
	o.ptr, o.dtype, o.want = t.Ptr(), t.DType, want
	lead := len(shape) - len(t.Shape)
	es := t.DType.Size()
	for i := range shape {
		if i < lead || t.Shape[i-lead] == 1 {
			o.stride[i] = 0
		} else {
			o.stride[i] = t.Stride[i-lead] * es
		}
	}
}

func tooManyDims(shape []int) {
	refusal.Fail("", "RuntimeError", "tensors of more than %d dimensions are not supported, but got one of %d", maxDims, len(shape))
}

// SetNumber makes operand k a constant.
func (it *Iterator) SetNumber(k int, a ops.Arg, want ops.DType) {
	o := &it.ops[k]
	o.dtype, o.want, o.number = want, want, true
	StoreNumber(unsafe.Pointer(&o.scalar), want, a)
}

// Run executes the loop over shape.
func (it *Iterator) Run(shape []int) {
	n := Product(shape)
	if n == 0 {
		return
	}
	it.Coalesce(shape)
	last := it.Ndim - 1
	it.Inner = it.Size[last]
	it.outer = n / it.Inner
	for k := range it.Nops {
		if o := &it.ops[k]; o.number {
			o.ptr = unsafe.Pointer(&o.scalar)
		}
	}
	scalar := it.scalarOperand()
	for k := range it.Nops {
		o := &it.ops[k]
		if k == scalar {
			continue
		}
		if o.dtype != o.want || o.stride[last] != o.want.Size() {
			if k == 0 {
				o.conv = Copier(o.dtype, o.want)
			} else {
				o.conv = Copier(o.want, o.dtype)
			}
		}
	}
	it.piece = directSize
	for k := range it.Nops {
		if o := &it.ops[k]; o.conv != nil {
			it.piece = min(it.piece, o.inBuffer())
		}
	}
	it.ChooseStream(n)
	chunks := it.outer * ((it.Inner + it.piece - 1) / it.piece)
	parallel.For(chunks, n, it.span)
}

// ChooseStream decides it.stream for n elements.
func (it *Iterator) ChooseStream(n int) {
	o := &it.ops[0]
	size := o.dtype.Size()
	it.Stream = o.stride[it.Ndim-1] == size && size <= o.want.Size() && n*size >= StreamSize && it.Inner >= o.inBuffer()
	it.Stream = it.Stream && !it.inPlace()
	if it.converts() || !it.Stream {
		it.Around = nil
	}
	if it.Stream && it.Around == nil {
		it.piece = min(it.piece, o.inBuffer())
	}
}

// inPlace reports whether the loop reads the elements that it writes: their lines
// of memory are in the caches then, and no store could save reading them.
func (it *Iterator) inPlace() bool {
	for k := 1; k < it.Nops; k++ {
		if o := &it.ops[k]; !o.number && o.ptr == it.ops[0].ptr {
			return true
		}
	}
	return false
}

// converts reports whether an operand goes through a buffer.
func (it *Iterator) converts() bool {
	for k := range it.Nops {
		if it.ops[k].conv != nil {
			return true
		}
	}
	return false
}

// inBuffer is how many elements a buffer holds.
func (o *operand) inBuffer() int { return int(unsafe.Sizeof(Scratch{}[0])) / o.want.Size() }

// scalarOperand finds the operand of a pair that stands still along runs, and
// makes the loop one with a number; -1 where there is none.
func (it *Iterator) scalarOperand() int {
	if it.Pair == nil {
		return -1
	}
	still := func(k int) bool {
		o := &it.ops[k]
		return o.stride[it.Ndim-1] == 0 && o.dtype == o.want && it.Inner > 1
	}
	f := *it.Pair
	switch {
	case still(2):
		it.Loop, it.Around = scalarLoops[f].second.plain, scalarLoops[f].second.around
		return 2
	case still(1) && (f == simd.Add || f == simd.Mul):
		it.Loop, it.Around = scalarLoops[f].first.plain, scalarLoops[f].first.around
		return 1
	}
	return -1
}

// scalarLoop is a function of a vector and a number, plain and around the caches.
type scalarLoop struct{ plain, around Loop }

// scalarLoops are those of a pair whose first or second operand is the number.
var scalarLoops = func() (all [simd.Div + 1]struct{ first, second scalarLoop }) {
	for f := range all {
		all[f].first, all[f].second = newScalarLoop(simd.Binary(f), 2, 1), newScalarLoop(simd.Binary(f), 1, 2)
	}
	return all
}()

func newScalarLoop(f simd.Binary, vector, number int) scalarLoop {
	loop := func(f func(dst, src []float32, s float32)) Loop {
		return func(n int, p *[MaxOperands]unsafe.Pointer) {
			f(unsafe.Slice((*float32)(p[0]), n), unsafe.Slice((*float32)(p[vector]), n), *(*float32)(p[number]))
		}
	}
	return scalarLoop{
		plain:  loop(func(dst, src []float32, s float32) { simd.Active().WithScalar(f, dst, src, s) }),
		around: loop(func(dst, src []float32, s float32) { simd.Active().WithScalarAround(f, dst, src, s) }),
	}
}

// Coalesce drops dimensions of size 1, sorts the rest by the result's strides
// and joins those that all operands step through alike.
func (it *Iterator) Coalesce(shape []int) {
	var dims [maxDims]int
	n := 0
	for i, s := range shape {
		if s == 1 {
			continue
		}
		j := n
		for j > 0 && it.ops[0].stride[dims[j-1]] < it.ops[0].stride[i] {
			dims[j] = dims[j-1]
			j--
		}
		dims[j] = i
		n++
	}
	if n == 0 {
		it.Ndim, it.Size[0] = 1, 1
		for k := range it.Nops {
			it.ops[k].stride[0] = it.ops[k].want.Size()
			if it.ops[k].number {
				it.ops[k].stride[0] = 0
			}
		}
		return
	}
	var strides [MaxOperands][maxDims]int
	m := 0
	for j := range n {
		i := dims[j]
		if m > 0 && it.joins(&strides, m-1, i, shape[i]) {
			it.Size[m-1] *= shape[i]
			for k := range it.Nops {
				strides[k][m-1] = it.ops[k].stride[i]
			}
			continue
		}
		it.Size[m] = shape[i]
		for k := range it.Nops {
			strides[k][m] = it.ops[k].stride[i]
		}
		m++
	}
	it.Ndim = m
	for k := range it.Nops {
		it.ops[k].stride = strides[k]
	}
}

// joins reports whether dimension i continues the joined dimension at.
func (it *Iterator) joins(strides *[MaxOperands][maxDims]int, at, i, size int) bool {
	for k := range it.Nops {
		if strides[k][at] != it.ops[k].stride[i]*size {
			return false
		}
	}
	return true
}

// span runs the chunks from..to.
func (it *Iterator) span(from, to int) {
	perRun := (it.Inner + it.piece - 1) / it.piece
	var w worker
	w.init(it)
	var base [MaxOperands]unsafe.Pointer
	at := -1
	for c := from; c < to; c++ {
		if run := c / perRun; run != at {
			at = run
			it.seek(run, &base)
		}
		first := c % perRun * it.piece
		w.chunk(&base, first, min(it.piece, it.Inner-first))
	}
	w.done()
}

// seek computes where a run starts in each operand.
func (it *Iterator) seek(run int, base *[MaxOperands]unsafe.Pointer) {
	for k := range it.Nops {
		base[k] = it.ops[k].ptr
	}
	for d := it.Ndim - 2; d >= 0; d-- {
		i := run % it.Size[d]
		run /= it.Size[d]
		for k := range it.Nops {
			base[k] = unsafe.Add(base[k], i*it.ops[k].stride[d])
		}
	}
}

// worker holds one goroutine's buffers.
type worker struct {
	it   *Iterator
	buf  *Scratch
	last [MaxOperands]unsafe.Pointer // the constant that a buffer holds
	p    [MaxOperands]unsafe.Pointer // what the loop sees
}

func (w *worker) init(it *Iterator) {
	w.it = it
	if it.converts() || it.Stream && it.Around == nil {
		w.buf = ScratchPool.Get().(*Scratch)
	}
}

func (w *worker) done() {
	if w.it.Stream {
		simd.StreamEnd()
	}
	if w.buf != nil {
		ScratchPool.Put(w.buf)
	}
}

func (w *worker) chunk(base *[MaxOperands]unsafe.Pointer, first, n int) {
	it := w.it
	inner := it.Ndim - 1
	p := &w.p
	for k := range it.Nops {
		o := &it.ops[k]
		s := o.stride[inner]
		src := unsafe.Add(base[k], first*s)
		if o.conv == nil && (k > 0 || !it.Stream || it.Around != nil) {
			p[k] = src
			continue
		}
		p[k] = unsafe.Pointer(&w.buf[k])
		switch {
		case k == 0:
		case s == 0:
			if w.last[k] != src {
				o.conv(p[k], src, o.want.Size(), 0, min(it.Inner, it.piece))
				w.last[k] = src
			}
		default:
			o.conv(p[k], src, o.want.Size(), s, n)
		}
	}
	if it.Around != nil {
		it.Around(n, p)
		return
	}
	it.Loop(n, p)
	o := &it.ops[0]
	s := o.stride[inner]
	to := unsafe.Add(base[0], first*s)
	switch {
	case it.Stream:
		if o.conv != nil { // in place: conversions go forward, and what they write is no longer
			o.conv(p[0], p[0], s, o.want.Size(), n)
		}
		w.fetchNext(base, first+n)
		simd.Active().Stream(unsafe.Slice((*byte)(to), n*s), unsafe.Slice((*byte)(p[0]), n*s))
	case o.conv != nil:
		o.conv(to, p[0], s, o.want.Size(), n)
	}
}

// fetchNext asks for what the operands of the chunk at place first are: while a result
// is written memory would else have nothing to read.
func (w *worker) fetchNext(base *[MaxOperands]unsafe.Pointer, first int) {
	it := w.it
	inner := it.Ndim - 1
	n := min(it.piece, it.Inner-first)
	for k := 1; k < it.Nops && n > 0; k++ {
		if o := &it.ops[k]; o.stride[inner] == o.dtype.Size() {
			simd.Active().FetchBytes(unsafe.Add(base[k], first*o.stride[inner]), n*o.stride[inner])
		}
	}
}
