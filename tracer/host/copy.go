package host

import (
	"go/types"
	"reflect"
	"unsafe"
)

// This file copies values. A pointer is never moved as bytes: the collector
// must see each store.

// store copies a value of type ti from src to dst.
func (ti *typeInfo) store(dst, src unsafe.Pointer) {
	switch ti.class {
	case cls8:
		*(*uint64)(dst) = *(*uint64)(src)
	case clsPtr:
		*(*unsafe.Pointer)(dst) = *(*unsafe.Pointer)(src)
	case cls1:
		*(*uint8)(dst) = *(*uint8)(src)
	case cls4:
		*(*uint32)(dst) = *(*uint32)(src)
	case clsString:
		*(*string)(dst) = *(*string)(src)
	case clsAny:
		*(*any)(dst) = *(*any)(src)
	case clsSlice:
		*(*[]struct{})(dst) = *(*[]struct{})(src)
	default:
		ti.storeSlow(dst, src)
	}
}

func (ti *typeInfo) storeSlow(dst, src unsafe.Pointer) {
	switch ti.class {
	case cls0:
		_ = *(*byte)(src) // a nil pointer faults even so
	case cls2:
		*(*uint16)(dst) = *(*uint16)(src)
	case clsWords:
		if uintptr(dst)-uintptr(src) < ti.size { // overlapping: forwards would clobber
			ti.storeTyped(dst, src)
			return
		}
		for _, w := range ti.words {
			storeWord(w.cls, unsafe.Add(dst, w.off), unsafe.Add(src, w.off))
		}
	case clsBytes:
		_, _ = *(*byte)(src), *(*byte)(dst)
		copy(unsafe.Slice((*byte)(dst), ti.size), unsafe.Slice((*byte)(src), ti.size))
	default:
		ti.storeTyped(dst, src)
	}
}

func (ti *typeInfo) storeTyped(dst, src unsafe.Pointer) {
	_ = *(*byte)(src)
	_ = *(*byte)(dst)
	reflect.NewAt(ti.R, dst).Elem().Set(reflect.NewAt(ti.R, src).Elem())
}

func storeWord(c class, dst, src unsafe.Pointer) {
	switch c {
	case cls1:
		*(*uint8)(dst) = *(*uint8)(src)
	case cls2:
		*(*uint16)(dst) = *(*uint16)(src)
	case cls4:
		*(*uint32)(dst) = *(*uint32)(src)
	case cls8:
		*(*uint64)(dst) = *(*uint64)(src)
	case clsPtr:
		*(*unsafe.Pointer)(dst) = *(*unsafe.Pointer)(src)
	case clsString:
		*(*string)(dst) = *(*string)(src)
	case clsSlice:
		*(*[]struct{})(dst) = *(*[]struct{})(src)
	case clsAny:
		*(*any)(dst) = *(*any)(src)
	}
}

// zero clears a value.
func (ti *typeInfo) zero(dst unsafe.Pointer) {
	switch ti.class {
	case cls0:
	case cls1:
		*(*uint8)(dst) = 0
	case cls2:
		*(*uint16)(dst) = 0
	case cls4:
		*(*uint32)(dst) = 0
	case cls8:
		*(*uint64)(dst) = 0
	case clsPtr:
		*(*unsafe.Pointer)(dst) = nil
	case clsString:
		*(*string)(dst) = ""
	case clsBytes:
		clear(unsafe.Slice((*byte)(dst), ti.size))
	default:
		reflect.NewAt(ti.R, dst).Elem().SetZero()
	}
}

// alloc returns a zero value on the heap.
func (ti *typeInfo) alloc() unsafe.Pointer {
	switch ti.class {
	case cls8:
		return unsafe.Pointer(new(uint64))
	case clsPtr:
		return unsafe.Pointer(new(unsafe.Pointer))
	}
	return reflect.New(ti.R).UnsafePointer()
}

// value is the value at p as reflect sees it.
func (ti *typeInfo) value(p unsafe.Pointer) reflect.Value { return reflect.NewAt(ti.R, p).Elem() }

// Rep returns the representation type of t: the memory layout of its values.
func (in *Interp) Rep(t types.Type) reflect.Type { return in.info(t).R }

// Copy copies a value of type t with the write barriers that it needs.
func (in *Interp) Copy(t types.Type, dst, src unsafe.Pointer) { in.info(t).store(dst, src) }

// Zero clears a value of type t.
func (in *Interp) Zero(t types.Type, p unsafe.Pointer) { in.info(t).zero(p) }

// New allocates a zero value of type t.
func (in *Interp) New(t types.Type) unsafe.Pointer { return in.info(t).alloc() }

// TupleOffsets returns where each result of a call lies in its tuple register.
func (in *Interp) TupleOffsets(t *types.Tuple) []uintptr { return in.info(t).offs }
