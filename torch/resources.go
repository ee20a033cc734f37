package torch

import (
	"tcdbg/torch/internal/memory"
	"tcdbg/torch/internal/parallel"
)

// This file is what operators use of the machine, memory and threads.

// MemoryStats describes the allocator: bytes in live storages and in its cache, and how
// many of them lie in Go's heap.
type MemoryStats struct{ Live, Cached, Heap int }

// Memory returns the allocator's figures.
func Memory() MemoryStats {
	live, cached, heap := memory.Usage()
	return MemoryStats{Live: live, Cached: cached, Heap: heap}
}

// Traffic is the bytes that a goroutine put into new storages, and those that it copied
// because code was compiled, without an operator of the program.
type Traffic struct{ Allocated, Copied int64 }

// Since is what was counted after before.
func (t Traffic) Since(before Traffic) Traffic {
	return Traffic{t.Allocated - before.Allocated, t.Copied - before.Copied}
}

// CountTraffic has traffic counted from now on; false where it cannot be.
func CountTraffic() bool { return memory.CountTraffic() }

// TrafficHere is the calling goroutine's; on is false while traffic is not counted.
func TrafficHere() (t Traffic, on bool) {
	m, on := memory.TrafficHere()
	return Traffic(m), on
}

// SetTraffic makes the calling goroutine's traffic t.
func SetTraffic(t Traffic) { memory.SetTraffic(memory.Traffic(t)) }

// CountCopied counts n bytes that compiled code copies and no operator of the program asked for.
func CountCopied(n int) { memory.Copied(n) }

// SetNumThreads limits how many threads an operator uses.
func SetNumThreads(n int) { parallel.SetThreads(n) }

// GetNumThreads is the number of threads that an operator uses.
func GetNumThreads() int { return parallel.Threads() }

// Storage is the memory of one or more tensors.
type Storage memory.Storage

// NewStorage allocates n bytes, aligned to 64 and not cleared.
func NewStorage(n int) *Storage { return (*Storage)(memory.NewStorage(n)) }

// NewKeptStorage is NewStorage for memory that compiled code keeps from call to call: it is in
// no Traffic.
func NewKeptStorage(n int) *Storage { return (*Storage)(memory.NewKept(n)) }

// Release gives the memory back at once, not when the collector finds s dead. Nobody may read or write
// it any more: s is empty from then on.
func (s *Storage) Release() { s.memory().Release() }

func (s *Storage) memory() *memory.Storage { return (*memory.Storage)(s) }

// Bytes returns the memory; it is nil for meta tensors. The slice does not keep s
// alive, and the memory of a dead Storage goes to others or back to the system:
// runtime.KeepAlive(s) belongs after the last use.
func (s *Storage) Bytes() []byte { return s.memory().Bytes() }

// Version counts the in-place changes of the storage. What is derived from a
// parameter (packed weights, a saved tensor) is valid until it changes.
func (s *Storage) Version() uint64 { return s.memory().Version() }

// Bump records an in-place change made without an operator (by a compiled kernel).
func (s *Storage) Bump() { s.memory().Bump() }

// Size is the number of bytes, which the meta device has too.
func (s *Storage) Size() int { return s.memory().Size() }
