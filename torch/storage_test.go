package torch

import (
	"runtime"
	"strings"
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
		return a.allowance()
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
		lent[i] = a.fresh(1 << 20)
	}
	if grown := allowance() - after; grown > 4*len(lent)<<20 {
		t.Errorf("with %d MB of blocks more %d MB more may go out", len(lent), grown>>20)
	}
	runtime.KeepAlive(lent)
	if a.rest = 1 << 40; a.allowance() != maxPending {
		t.Errorf("of a huge heap %d MB may go out, want %d", a.allowance()>>20, maxPending>>20)
	}
	if a.live = 1 << 40; a.allowance() != a.live/4 {
		t.Errorf("beside %d MB in use %d MB may go out", a.live>>20, a.allowance()>>20)
	}
}

// TestStridedWithinStorage refuses views that would show memory of others.
func TestStridedWithinStorage(t *testing.T) {
	x := Arange(10)
	if got := x.AsStrided([]int{2, 2}, []int{5, 4}).Int64s(); got[3] != 9 {
		t.Errorf("the last element is %d", got[3])
	}
	if n := x.AsStrided([]int{0, 2}, []int{50, 50}).Numel(); n != 0 {
		t.Errorf("%d elements of none", n)
	}
	for want, call := range map[string]func(){
		"setStorage: sizes [2, 2], strides [1, 2], storage offset 10, and itemsize 8 requiring a storage size of 112 are out of bounds for storage of size 80": func() { x.AsStrided([]int{2, 2}, []int{1, 2}, Option{Name: "storage_offset", Value: 10}) },
		"Negative strides are not supported": func() { x.AsStrided([]int{2}, []int{-1}) },
		"invalid storage offset -1":          func() { x.AsStrided([]int{2}, []int{1}, Option{Name: "storage_offset", Value: -1}) },
		"requiring a storage size of 88":     func() { x.AsStridedScatter(Arange(2), []int{2}, []int{10}) },
	} {
		func() {
			defer func() {
				if e, _ := recover().(*Error); e == nil || !strings.Contains(e.Msg, want) {
					t.Errorf("got %v, want a refusal with %q", e, want)
				}
			}()
			call()
		}()
	}
}
