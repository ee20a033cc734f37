package memory

import "unsafe"

// This file is memory that an operator needs for a moment.

// Room is scratch memory of an operator.
type Room struct {
	block  []byte
	Floats []float32
}

// Borrow takes n floats from the allocator; they are not cleared.
func Borrow(n int) Room {
	block := blocks.lend(sizeClass(n * 4))
	return Room{block, unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(block))), n)}
}

// None reports whether r is no memory at all.
func (r Room) None() bool { return r.block == nil }

// GiveBack ends the use of r.
func (r Room) GiveBack() { blocks.put(r.block) }
