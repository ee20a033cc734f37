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
	cleared bool            // the memory was all zero when s got it
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

// Cleared reports whether the memory was all zero when s got it: who has just allocated s need not clear it then. The
// system clears large blocks page by page, when something is first written there.
func (s *Storage) Cleared() bool { return s.cleared }

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
	s.size, s.data, s.cleared = n, alignedBytes(n), true
	count(n)
	return true
}
