package host

import (
	"go/types"
	"reflect"
	"unsafe"

	"golang.org/x/tools/go/ssa"
)

// This file is variables, fields, elements and slices.

func (b *builder) memory(in ssa.Instruction) op {
	switch in := in.(type) {
	case *ssa.Store:
		return b.store(in)
	case *ssa.Alloc:
		return b.alloc(in)
	case *ssa.FieldAddr:
		return b.fieldAddr(in)
	case *ssa.Field:
		return b.field(in)
	case *ssa.IndexAddr:
		return b.indexAddr(in)
	case *ssa.Index:
		return b.indexValue(in)
	case *ssa.Slice:
		return b.slice(in)
	case *ssa.SliceToArrayPointer:
		return b.arrayPointer(in)
	case *ssa.MakeSlice:
		return b.makeSlice(in)
	case *ssa.Extract:
		return b.extract(in)
	}
	panic("unreachable")
}

func (b *builder) load(in *ssa.UnOp, d uintptr, x ref) op {
	ti := b.in.info(in.Type())
	if g, ok := in.X.(*ssa.Global); ok {
		p := b.in.GlobalAddr(g)
		return func(f *Frame) *Frame { ti.store(unsafe.Add(f.fp, d), p); return f }
	}
	xo := x.off
	switch {
	case x.isConst():
	case ti.class == cls8:
		return func(f *Frame) *Frame { *at[uint64](f, d) = **at[*uint64](f, xo); return f }
	case ti.class == clsPtr:
		return func(f *Frame) *Frame { *at[unsafe.Pointer](f, d) = **at[*unsafe.Pointer](f, xo); return f }
	case ti.class == cls1:
		return func(f *Frame) *Frame { *at[uint8](f, d) = **at[*uint8](f, xo); return f }
	}
	return func(f *Frame) *Frame {
		ti.store(unsafe.Add(f.fp, d), *(*unsafe.Pointer)(x.at(f)))
		return f
	}
}

func (b *builder) store(in *ssa.Store) op {
	p, v, ti := b.ref(in.Addr), b.ref(in.Val), b.in.info(in.Val.Type())
	if g, ok := in.Addr.(*ssa.Global); ok {
		to := b.in.GlobalAddr(g)
		return func(f *Frame) *Frame { ti.store(to, v.at(f)); return f }
	}
	po := p.off
	switch {
	case p.isConst():
	case ti.class == cls8:
		return func(f *Frame) *Frame { **at[*uint64](f, po) = *(*uint64)(v.at(f)); return f }
	case ti.class == clsPtr:
		return func(f *Frame) *Frame { **at[*unsafe.Pointer](f, po) = *(*unsafe.Pointer)(v.at(f)); return f }
	case ti.class == cls0:
		return func(f *Frame) *Frame { _ = **at[*byte](f, po); return f }
	}
	return func(f *Frame) *Frame {
		ti.store(*(*unsafe.Pointer)(p.at(f)), v.at(f))
		return f
	}
}

func (b *builder) alloc(in *ssa.Alloc) op {
	d, ti := b.dst(in), b.in.info(in.Type().Underlying().(*types.Pointer).Elem())
	if in.Heap {
		return func(f *Frame) *Frame { *at[unsafe.Pointer](f, d) = ti.alloc(); return f }
	}
	local := b.c.locals[in]
	return func(f *Frame) *Frame {
		if f.heapVars {
			*at[unsafe.Pointer](f, d) = ti.alloc()
			return f
		}
		p := unsafe.Add(f.fp, local)
		ti.zero(p)
		*at[unsafe.Pointer](f, d) = p
		return f
	}
}

func (b *builder) fieldAddr(in *ssa.FieldAddr) op {
	d, x := b.dst(in), b.ref(in.X)
	st := in.X.Type().Underlying().(*types.Pointer).Elem()
	off := b.in.info(st).R.Field(in.Field).Offset
	return func(f *Frame) *Frame {
		p := *(*unsafe.Pointer)(x.at(f))
		_ = *(*byte)(p)
		*at[unsafe.Pointer](f, d) = unsafe.Add(p, off)
		return f
	}
}

func (b *builder) field(in *ssa.Field) op {
	d, x, ti := b.dst(in), b.ref(in.X), b.in.info(in.Type())
	off := b.in.info(in.X.Type()).R.Field(in.Field).Offset
	if ti.size == 0 {
		return func(f *Frame) *Frame { return f }
	}
	return func(f *Frame) *Frame {
		ti.store(unsafe.Add(f.fp, d), unsafe.Add(x.at(f), off))
		return f
	}
}

func (b *builder) extract(in *ssa.Extract) op {
	d, x, ti := b.dst(in), b.ref(in.Tuple), b.in.info(tupleElem(in.Type()))
	off := b.in.info(in.Tuple.Type()).offs[in.Index]
	if ti.size == 0 {
		return func(f *Frame) *Frame { return f }
	}
	return func(f *Frame) *Frame {
		ti.store(unsafe.Add(f.fp, d), unsafe.Add(x.at(f), off))
		return f
	}
}

// index returns a reader of an index operand.
func (b *builder) index(v ssa.Value) func(f *Frame) int {
	r := b.ref(v)
	k := kindOf(v.Type().Underlying().(*types.Basic))
	if r.isConst() {
		n := int(loadInt(k, r.abs))
		return func(*Frame) int { return n }
	}
	off := r.off
	switch k {
	case types.Int, types.Int64:
		return func(f *Frame) int { return *at[int](f, off) }
	}
	return func(f *Frame) int { return int(loadInt(k, r.at(f))) }
}

func (b *builder) indexAddr(in *ssa.IndexAddr) op {
	d, x, i := b.dst(in), b.ref(in.X), b.index(in.Index)
	unsigned := isBasic(in.Index.Type(), types.IsUnsigned)
	if p, ok := in.X.Type().Underlying().(*types.Pointer); ok {
		arr := p.Elem().Underlying().(*types.Array)
		size, n := b.in.info(arr.Elem()).size, int(arr.Len())
		return func(f *Frame) *Frame {
			p := *(*unsafe.Pointer)(x.at(f))
			_ = *(*byte)(p)
			k := i(f)
			if uint(k) >= uint(n) {
				outOfRange(k, n, unsigned)
			}
			*at[unsafe.Pointer](f, d) = unsafe.Add(p, uintptr(k)*size)
			return f
		}
	}
	size := b.in.info(in.X.Type().Underlying().(*types.Slice).Elem()).size
	if r := b.ref(in.Index); !x.isConst() && !r.isConst() && isInt(in.Index.Type()) {
		xo, io := x.off, r.off
		return func(f *Frame) *Frame {
			h := at[sliceHeader](f, xo)
			k := *at[int](f, io)
			if uint(k) >= uint(h.len) {
				outOfRange(k, h.len, false)
			}
			*at[unsafe.Pointer](f, d) = unsafe.Add(h.data, uintptr(k)*size)
			return f
		}
	}
	return func(f *Frame) *Frame {
		h := (*sliceHeader)(x.at(f))
		k := i(f)
		if uint(k) >= uint(h.len) {
			outOfRange(k, h.len, unsigned)
		}
		*at[unsafe.Pointer](f, d) = unsafe.Add(h.data, uintptr(k)*size)
		return f
	}
}

// outOfRange raises Go's own panic for index k of n elements.
func outOfRange(k, n int, unsigned bool) {
	s := unsafe.Slice(&struct{}{}, n)
	if unsigned {
		_ = s[uint(k)]
	}
	_ = s[k]
}

func isInt(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Kind() == types.Int
}

// indexValue reads an element of an array value or a byte of a string.
func (b *builder) indexValue(in *ssa.Index) op {
	d, x, i, ti := b.dst(in), b.ref(in.X), b.index(in.Index), b.in.info(in.Type())
	switch u := in.X.Type().Underlying().(type) {
	case *types.Array:
		n := int(u.Len())
		return func(f *Frame) *Frame {
			k := i(f)
			_ = make([]struct{}, n)[k]
			ti.store(unsafe.Add(f.fp, d), unsafe.Add(x.at(f), uintptr(k)*ti.size))
			return f
		}
	default: // string, or a type parameter's core of strings
		return func(f *Frame) *Frame { *at[uint8](f, d) = (*(*string)(x.at(f)))[i(f)]; return f }
	}
}

func (b *builder) optionalIndex(v ssa.Value) func(f *Frame) int {
	if v == nil {
		return nil
	}
	return b.index(v)
}

func (b *builder) slice(in *ssa.Slice) op {
	d, x := b.dst(in), b.ref(in.X)
	lo, hi, max := b.optionalIndex(in.Low), b.optionalIndex(in.High), b.optionalIndex(in.Max)
	if lo == nil {
		lo = func(*Frame) int { return 0 }
	}
	switch u := in.X.Type().Underlying().(type) {
	case *types.Basic:
		return func(f *Frame) *Frame {
			s := *(*string)(x.at(f))
			if hi == nil {
				*at[string](f, d) = s[lo(f):]
			} else {
				*at[string](f, d) = s[lo(f):hi(f)]
			}
			return f
		}
	case *types.Pointer:
		arr := u.Elem().Underlying().(*types.Array)
		size, n := b.in.info(arr.Elem()).size, int(arr.Len())
		return func(f *Frame) *Frame {
			p := *(*unsafe.Pointer)(x.at(f))
			_ = *(*byte)(p)
			h := sliceHeader{p, n, n}
			*at[sliceHeader](f, d) = reslice(f, h, size, lo, hi, max, true)
			return f
		}
	}
	elem := in.X.Type().Underlying().(*types.Slice).Elem()
	size := b.in.info(elem).size
	return func(f *Frame) *Frame {
		*at[sliceHeader](f, d) = reslice(f, *(*sliceHeader)(x.at(f)), size, lo, hi, max, false)
		return f
	}
}

// reslice slices h; the bounds are checked by Go itself on a slice of empty
// structs (of an array: on a string) of the same length.
func reslice(f *Frame, h sliceHeader, size uintptr, lo, hi, max func(*Frame) int, array bool) sliceHeader {
	l, r := lo(f), h.len
	if hi != nil {
		r = hi(f)
	}
	if array && max == nil && (uint(r) > uint(h.len) || uint(l) > uint(r)) {
		_ = unsafe.String((*byte)(h.data), h.len)[l:r]
	}
	s := unsafe.Slice(&struct{}{}, h.cap)[:h.len]
	if max == nil {
		s = s[l:r]
	} else {
		s = s[l:r:max(f)]
	}
	out := sliceHeader{h.data, len(s), cap(s)}
	if out.cap > 0 { // else the pointer would be one past the array
		out.data = unsafe.Add(h.data, uintptr(l)*size)
	}
	return out
}

func (b *builder) arrayPointer(in *ssa.SliceToArrayPointer) op {
	d, x := b.dst(in), b.ref(in.X)
	n := in.Type().Underlying().(*types.Pointer).Elem().Underlying().(*types.Array).Len()
	return func(f *Frame) *Frame {
		h := (*sliceHeader)(x.at(f))
		if h.len < int(n) {
			panic(runtimeErrorf("cannot convert slice with length %d to array or pointer to array with length %d", h.len, n))
		}
		*at[unsafe.Pointer](f, d) = h.data
		return f
	}
}

func (b *builder) makeSlice(in *ssa.MakeSlice) op {
	d, n, m, ti := b.dst(in), b.sizeOperand(in.Len), b.sizeOperand(in.Cap), b.in.info(in.Type())
	elem := b.in.info(in.Type().Underlying().(*types.Slice).Elem())
	return func(f *Frame) *Frame {
		l, c := n(f), m(f)
		if l < 0 || (elem.size > 0 && uint64(l) > 1<<47/uint64(elem.size)) {
			panic(runtimeErrorf("makeslice: len out of range"))
		}
		if c < l || (elem.size > 0 && uint64(c) > 1<<47/uint64(elem.size)) {
			panic(runtimeErrorf("makeslice: cap out of range"))
		}
		*at[[]struct{}](f, d) = newSlice(ti.R, elem, int(l), int(c))
		return f
	}
}

// sizeOperand reads a length; an unsigned one beyond int is negative here.
func (b *builder) sizeOperand(v ssa.Value) func(f *Frame) int64 {
	r, k := b.ref(v), kindOf(v.Type().Underlying().(*types.Basic))
	return func(f *Frame) int64 { return loadInt(k, r.at(f)) }
}

func newSlice(r reflect.Type, elem *typeInfo, l, c int) []struct{} {
	switch elem.class {
	case cls8:
		s := make([]uint64, l, c)
		return *(*[]struct{})(unsafe.Pointer(&s))
	case cls1:
		s := make([]uint8, l, c)
		return *(*[]struct{})(unsafe.Pointer(&s))
	case clsPtr:
		s := make([]unsafe.Pointer, l, c)
		return *(*[]struct{})(unsafe.Pointer(&s))
	case clsString:
		s := make([]string, l, c)
		return *(*[]struct{})(unsafe.Pointer(&s))
	}
	v := reflect.New(r)
	v.Elem().Set(reflect.MakeSlice(r, l, c))
	return *(*[]struct{})(v.UnsafePointer())
}
