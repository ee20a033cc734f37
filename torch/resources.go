package torch

// This file is what operators use of the machine, memory and threads.

// MemoryStats describes the allocator: bytes in live storages and in its cache, and how
// many of them lie in Go's heap.
type MemoryStats struct{ Live, Cached, Heap int }

// Memory returns the allocator's figures.
func Memory() MemoryStats {
	live, cached, heap := usage()
	return MemoryStats{Live: live, Cached: cached, Heap: heap}
}

// SetNumThreads limits how many threads an operator uses.
func SetNumThreads(n int) { setThreads(n) }

// GetNumThreads is the number of threads that an operator uses.
func GetNumThreads() int { return threadsToUse() }

// NewStorage allocates n bytes, aligned to 64 and not cleared.
func NewStorage(n int) *Storage { return newStorage(n) }
