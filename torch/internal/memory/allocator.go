package memory

import (
	"math/bits"
	"runtime"
	"runtime/metrics"
	"sync"
	"unsafe"
)

// This file is the caching allocator. Blocks below smallBlock come from Go's
// heap. Larger ones are kept in free lists by size class: a Storage that dies
// gives its block back through a cleanup, and since the collector does not see
// the need, the allocator starts a collection when much went out since the last.

// Alignment is that of every storage, in bytes.
const Alignment = 64

const (
	smallBlock = 16 << 10
	hugeBlock  = 2 << 20
)

// How much may go out between two collections: a collection costs what it has to
// look through, which is what Go's heap holds besides the blocks, and it should
// find so many times as much to free.
const (
	minPending   = 64 << 20
	firstPending = 128 << 20 // until the first, which finds what building a model leaves behind
	maxPending   = 512 << 20
	pendingShare = 16
)

type allocator struct {
	mu      sync.Mutex
	free    map[int][][]byte // by class
	cached  int              // bytes in free
	live    int              // bytes handed out and not yet returned
	pending int              // bytes handed out since the last collection
	small   int              // bytes of blocks that lie in Go's heap
	rest    int              // bytes that the last collection found there besides; 0: not known
	weighed bool             // rest is from a collection
	epochs  epochs
}

var blocks = &allocator{free: map[int][][]byte{}}

// NewStorage allocates n bytes, aligned to 64 and not cleared.
func NewStorage(n int) *Storage {
	s := &Storage{}
	s.allocate(n, false)
	count(n)
	return s
}

// NewKept is NewStorage for memory that outlives the call which asks for it, as the working
// memory of compiled code does: it is in no Traffic.
func NewKept(n int) *Storage {
	s := &Storage{}
	s.allocate(n, true)
	return s
}

// allocate gives s n bytes of its own; kept tells that compiled code keeps them.
func (s *Storage) allocate(n int, kept bool) {
	s.size = n
	if n <= smallBlock {
		s.data, s.cleared = alignedBytes(n), true
		return
	}
	block, used := blocks.get(sizeClass(n), kept)
	s.cleared = !used
	s.data = block[:n:n]
	s.returns = runtime.AddCleanup(s, blocks.retire, block)
}

// Grow makes s n bytes large, the new ones zero. Its old memory stays until s
// dies, since a kernel may be reading it.
func (s *Storage) Grow(n int) {
	old := s.data
	s.allocate(n, false)
	count(n)
	clear(s.data[copy(s.data, old):])
	s.Bump()
}

// alignedBytes cuts n aligned bytes out of Go's heap.
func alignedBytes(n int) []byte {
	if n >= 1024 { // such blocks are aligned as they come, mostly
		if b := make([]byte, n); uintptr(unsafe.Pointer(unsafe.SliceData(b)))%Alignment == 0 {
			return b[:n:n]
		}
	}
	b := make([]byte, n+Alignment)
	at := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) % Alignment)
	return b[at : at+n : at+n]
}

// sizeClass rounds up to an eighth of the power of two below.
func sizeClass(n int) int {
	step := 1 << max(bits.Len(uint(n))-4, 12)
	return (n + step - 1) &^ (step - 1)
}

// get gives a block of the class; used tells that it was another storage's before.
func (a *allocator) get(class int, kept bool) (block []byte, used bool) {
	if block := a.take(class); block != nil {
		return block, true
	}
	if a.mustCollect(kept) {
		runtime.GC()
		a.weigh()
		if block := a.take(class); block != nil {
			return block, true
		}
		a.trim()
	}
	a.mu.Lock()
	a.live += class
	a.pending += class
	a.mu.Unlock()
	return a.fresh(class, kept), false
}

// mustCollect reports whether it is time for a collection.
func (a *allocator) mustCollect(kept bool) bool {
	a.mu.Lock()
	first := a.rest == 0 && a.pending > a.allowance(kept)
	a.mu.Unlock()
	if first { // what there is to look through is not known; it is no more than this
		a.note("/memory/classes/heap/objects:bytes", false)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.pending <= a.allowance(kept) {
		return false
	}
	a.pending = 0
	return true
}

// fresh makes a new block, which is all zero.
func (a *allocator) fresh(class int, kept bool) []byte {
	if class >= hugeBlock {
		return hugeBytes(class, kept)
	}
	a.mu.Lock()
	a.small += class
	a.mu.Unlock()
	return alignedBytes(class)
}

// allowance is how many bytes may go out before a collection. Compiled code asks for all that it keeps at once, while a first
// call waits, and none of it dies: of that, twice as much may go out.
func (a *allocator) allowance(kept bool) int {
	most := maxPending
	if !a.weighed {
		most = firstPending
	}
	n := max(minPending, min(a.rest*pendingShare, most), a.live/4)
	if kept {
		n *= 2
	}
	return n
}

// weigh takes note of what Go's heap holds besides the blocks, as the last collection found.
func (a *allocator) weigh() {
	a.note("/gc/heap/live:bytes", true)
}

func (a *allocator) note(metric string, weighed bool) {
	sample := []metrics.Sample{{Name: metric}}
	metrics.Read(sample)
	a.mu.Lock()
	a.rest, a.weighed = max(int(sample[0].Value.Uint64())-a.small, 1), weighed
	a.mu.Unlock()
}

// lend is get for scratch memory, which put takes back without the collector:
// it never starts a collection.
func (a *allocator) lend(class int) []byte {
	block := a.take(class)
	a.mu.Lock()
	if block == nil {
		a.live += class
	} else {
		a.pending -= class
	}
	a.mu.Unlock()
	if block != nil {
		return block
	}
	return a.fresh(class, false)
}

// take returns a free block of the class, nil when there is none.
func (a *allocator) take(class int) []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := a.free[class]
	if len(list) == 0 {
		return nil
	}
	block := list[len(list)-1]
	a.free[class] = list[:len(list)-1]
	a.cached -= class
	a.live += class
	a.pending += class
	return block
}

// put takes back scratch memory.
func (a *allocator) put(block []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.giveFree(block)
}

// returned is retire of a block that came back without the collector, which has nothing to find of it.
func (a *allocator) returned(block []byte) {
	a.mu.Lock()
	a.pending = max(0, a.pending-len(block))
	a.mu.Unlock()
	a.retire(block)
}

func (a *allocator) giveFree(block []byte) {
	class := len(block)
	a.free[class] = append(a.free[class], block)
	a.cached += class
	a.live -= class
}

// trim gives the largest part of an oversized cache back to the system.
func (a *allocator) trim() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cached < max(256<<20, 2*a.live) {
		return
	}
	for class, list := range a.free {
		for _, b := range list {
			releaseHuge(b)
		}
		a.cached -= class * len(list)
		if class < hugeBlock {
			a.small -= class * len(list)
		}
		delete(a.free, class)
	}
}

// Usage is the bytes in live storages and in the cache, and how many of them lie in Go's heap.
func Usage() (live, cached, heap int) {
	blocks.mu.Lock()
	defer blocks.mu.Unlock()
	return blocks.live, blocks.cached, blocks.small
}
