package rtype

import (
	"encoding/binary"
	"reflect"
	"sync"
	"unsafe"
)

// This file is the memory of Go's type descriptors, which package reflect reads.
// TestLayout compares it with what the running release makes.

const (
	flagUncommon  = 1 << 0
	flagExtraStar = 1 << 1
	flagNamed     = 1 << 2
)

// header is what all descriptors begin with.
type header struct {
	size       uintptr
	ptrBytes   uintptr
	hash       uint32
	tflag      uint8
	align      uint8
	fieldAlign uint8
	kind       uint8
	equal      func(unsafe.Pointer, unsafe.Pointer) bool
	gcData     *byte
	str        int32
	ptrToThis  int32
}

type elemType struct { // of pointers and slices; channels add a word
	header
	elem *header
}

type chanType struct {
	elemType
	dir int
}

type arrayType struct {
	header
	elem, slice *header
	len         uintptr
}

type mapType struct {
	header
	key, elem, group *header
	hasher           func(unsafe.Pointer, uintptr) uintptr
	groupSize        uintptr
	slotSize         uintptr
	elemOff          uintptr
	flags            uint32
}

type funcType struct {
	header
	in, out uint16
}

type structType struct {
	header
	pkgPath *byte
	fields  []structField
}

type structField struct {
	name   *byte
	typ    *header
	offset uintptr
}

type interfaceType struct {
	header
	pkgPath *byte
	methods []struct{ name, typ int32 }
}

// uncommon follows a descriptor that has a name or methods.
type uncommon struct {
	pkgPath int32
	mcount  uint16
	xcount  uint16
	moff    uint32
	_       uint32
}

type method struct {
	name, mtyp, ifn, tfn int32
}

// bodyOf is the descriptor's part before uncommon.
func bodyOf(k reflect.Kind) reflect.Type {
	switch k {
	case reflect.Pointer, reflect.Slice:
		return reflect.TypeFor[elemType]()
	case reflect.Chan:
		return reflect.TypeFor[chanType]()
	case reflect.Array:
		return reflect.TypeFor[arrayType]()
	case reflect.Map:
		return reflect.TypeFor[mapType]()
	case reflect.Func:
		return reflect.TypeFor[funcType]()
	case reflect.Struct:
		return reflect.TypeFor[structType]()
	case reflect.Interface:
		return reflect.TypeFor[interfaceType]()
	}
	return reflect.TypeFor[header]()
}

// headerOf is the descriptor of r.
func headerOf(r reflect.Type) *header {
	return (*header)((*[2]unsafe.Pointer)(unsafe.Pointer(&r))[1])
}

// newName encodes a name as descriptors hold it. pkgPath is given for methods
// that are not exported.
func newName(name, tag string, exported, embedded bool, pkgPath string) *byte {
	b := []byte{0}
	if exported {
		b[0] |= 1
	}
	if embedded {
		b[0] |= 8
	}
	b = append(binary.AppendUvarint(b, uint64(len(name))), name...)
	if tag != "" {
		b[0] |= 2
		b = append(binary.AppendUvarint(b, uint64(len(tag))), tag...)
	}
	if pkgPath != "" {
		b[0] |= 4
		off := nameOff(newName(pkgPath, "", false, false, ""))
		b = append(b, (*[4]byte)(unsafe.Pointer(&off))[:]...)
	}
	return &b[0]
}

func nameOff(name *byte) int32 { return addReflectOff(unsafe.Pointer(name)) }

// addReflectOff gives an address the offset by which descriptors refer to it.
//
//go:linkname addReflectOff reflect.addReflectOff
func addReflectOff(unsafe.Pointer) int32

// kept holds all types that were made: the runtime's tables of methods point to
// them without keeping them alive.
var kept struct {
	sync.Mutex
	types []*Type
}

func keep(t *Type) {
	kept.Lock()
	kept.types = append(kept.types, t)
	kept.Unlock()
}
