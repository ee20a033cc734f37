package memory

import (
	"runtime"
	"sync/atomic"
	"unsafe"
)

// This file is the memory that tensors share.

// Storage is the memory of one or more tensors: untyped bytes, 64-byte
// aligned, from the caching allocator.
type Storage struct {
	data    []byte // nil on the meta device
	size    int    // bytes
	version atomic.Uint64
	returns runtime.Cleanup // of a block of the allocator
}

// Bytes returns the memory (torch.Storage.Bytes).
func (s *Storage) Bytes() []byte { return s.data }

// Release gives the memory back at once, not when the collector finds s dead. Nobody may read or
// write it any more: s is empty from then on.
func (s *Storage) Release() {
	if s.returns == (runtime.Cleanup{}) {
		return
	}
	s.returns.Stop()
	block := unsafe.Slice(unsafe.SliceData(s.data), sizeClass(s.size))
	s.returns, s.data, s.size = runtime.Cleanup{}, nil, 0
	blocks.returned(block)
}

// Version counts the in-place changes.
func (s *Storage) Version() uint64 { return s.version.Load() }

// Bump records an in-place change made without an operator (by a compiled kernel).
func (s *Storage) Bump() { s.version.Add(1) }

// Size is the number of bytes, which the meta device has too.
func (s *Storage) Size() int { return s.size }

// Over is a Storage of memory that was allocated elsewhere.
func Over(data []byte) *Storage { return &Storage{data: data} }

// Small gives a new s n bytes if so few that they come from Go's heap, and reports
// whether it did.
func (s *Storage) Small(n int) bool {
	if n > smallBlock {
		return false
	}
	s.size, s.data = n, alignedBytes(n)
	count(n)
	return true
}
