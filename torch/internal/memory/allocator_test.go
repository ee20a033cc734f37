package memory

import (
	"runtime"
	"testing"
)

// TestLargeHeapsAreCollectedRarely: what may go out between two collections grows
// with what Go's heap holds besides blocks, which a collection has to look through,
// up to a bound.
func TestLargeHeapsAreCollectedRarely(t *testing.T) {
	a := &allocator{free: map[int][][]byte{}}
	others := 0 // what other tests left in blocks is no part of the rest either
	allowance := func() int {
		runtime.GC()
		blocks.mu.Lock()
		a.small += blocks.small - others
		others = blocks.small
		blocks.mu.Unlock()
		a.weigh()
		return a.allowance(false)
	}
	before := allowance()
	held := make([][]*int, 10)
	for i := range held {
		held[i] = make([]*int, 1<<17) // 1 MB
	}
	after := allowance()
	if grown := after - before; grown < 4*len(held)<<20-before || after <= before {
		t.Errorf("with %d MB more in the heap %d MB may go out, %d MB before", len(held), after>>20, before>>20)
	}
	runtime.KeepAlive(held)

	lent := make([][]byte, 20) // blocks are no part of what a collection looks through
	for i := range lent {
		lent[i] = a.fresh(1<<20, false)
	}
	if grown := allowance() - after; grown > 4*len(lent)<<20 {
		t.Errorf("with %d MB of blocks more %d MB more may go out", len(lent), grown>>20)
	}
	runtime.KeepAlive(lent)
	if a.rest = 1 << 40; a.allowance(false) != maxPending { // there was a collection
		t.Errorf("of a huge heap %d MB may go out, want %d", a.allowance(false)>>20, maxPending>>20)
	}
	if a.live = 1 << 40; a.allowance(false) != a.live/4 {
		t.Errorf("beside %d MB in use %d MB may go out", a.live>>20, a.allowance(false)>>20)
	}
}

// TestFirstCollectionIsWorthIt: before any was started, too, what may go out grows with what Go's heap holds.
func TestFirstCollectionIsWorthIt(t *testing.T) {
	a := &allocator{free: map[int][][]byte{}}
	blocks.mu.Lock()
	a.small = blocks.small // what other tests left
	blocks.mu.Unlock()
	if a.pending = minPending; a.mustCollect(false) {
		t.Error("a collection where little went out")
	}
	held := make([][]*int, 32)
	for i := range held {
		held[i] = make([]*int, 1<<17) // 1 MB
	}
	if a.pending = firstPending; a.mustCollect(false) {
		t.Errorf("with %d MB in the heap a collection when %d MB went out", len(held), a.pending>>20)
	}
	runtime.KeepAlive(held)
	if a.pending = 2 * firstPending; a.mustCollect(true) {
		t.Errorf("a collection when compiled code keeps what makes %d MB", a.pending>>20)
	}
	if a.pending = 2*firstPending + 1; !a.mustCollect(true) {
		t.Errorf("no collection when compiled code keeps what makes more than %d MB", a.pending>>20)
	}
	if a.pending = firstPending + 1; !a.mustCollect(false) || a.pending != 0 {
		t.Errorf("no collection when more than %d MB went out", firstPending>>20)
	}
}

// TestReturnedBlocksWaitForNoCollection: what came back by itself is no reason for a collection.
func TestReturnedBlocksWaitForNoCollection(t *testing.T) {
	a := &allocator{free: map[int][][]byte{}}
	const class = 16 << 20
	for range 20 {
		block, _ := a.get(class, false)
		a.returned(block)
	}
	if a.pending > class {
		t.Errorf("%d MB count as handed out", a.pending>>20)
	}
	kept, _ := a.get(class, false)
	found, _ := a.get(class, false)
	a.retire(found) // the collector found it
	if a.pending < 2*class {
		t.Errorf("%d MB count as handed out, want %d", a.pending>>20, 2*class>>20)
	}
	_ = kept
}
