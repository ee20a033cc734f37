package torch

import "unsafe"

// room is scratch memory of an operator.
type room struct {
	block  []byte
	floats []float32
}

// borrow takes n floats from the allocator; they are not cleared.
func borrow(n int) room {
	block := blocks.lend(sizeClass(n * 4))
	return room{block, unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(block))), n)}
}

// none reports whether r is no memory at all.
func (r room) none() bool { return r.block == nil }

// giveBack ends the use of r.
func (r room) giveBack() { blocks.put(r.block) }
