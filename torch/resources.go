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

// SetNumThreads limits how many threads an operator uses.
func SetNumThreads(n int) { parallel.SetThreads(n) }

// GetNumThreads is the number of threads that an operator uses.
func GetNumThreads() int { return parallel.Threads() }

// Storage is the memory behind one or more tensors.
type Storage = memory.Storage

// NewStorage allocates n bytes, aligned to 64 and not cleared.
func NewStorage(n int) *Storage { return memory.NewStorage(n) }
