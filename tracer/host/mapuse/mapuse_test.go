package mapuse

import (
	"sync"
	"testing"
	"unsafe"
)

// TestConflicts: of two uses of one map that overlap, one of which writes, the later is told,
// but for a write while somebody reads, which waits.
func TestConflicts(t *testing.T) {
	var tab Table
	m, other := unsafe.Pointer(new([4096]byte)), unsafe.Pointer(new([4096]byte))
	w, ok := tab.Write(m)
	if !ok {
		t.Fatal("a map that nobody uses cannot be written")
	}
	if _, ok := tab.Write(m); ok {
		t.Error("two write")
	}
	for range 100 {
		if _, ok := tab.Read(m, other); ok {
			t.Fatal("one reads what another writes")
		}
	}
	if r, ok := tab.Read(other, m); !ok {
		t.Error("another map cannot be read")
	} else {
		r.End()
	}
	w.End()
	r, _ := tab.Read(m, m)
	done := make(chan bool)
	go func() {
		w, ok := tab.Write(m)
		w.End()
		done <- ok
	}()
	for range 1000 {
		select {
		case <-done:
			t.Fatal("a map is written while it is read")
		default:
		}
	}
	r.End()
	if !<-done {
		t.Error("who waited for a reader is refused")
	}
}

// TestNoFalseConflicts: goroutines that take turns are never told of a conflict, though their
// maps share slots; nor are readers.
func TestNoFalseConflicts(t *testing.T) {
	var tab Table
	var maps [1024]struct {
		sync.RWMutex
		_ [64]byte
	}
	var wg sync.WaitGroup
	for g := range 64 {
		wg.Go(func() {
			for i := range 5000 {
				mu := &maps[(i*7+g)%len(maps)]
				p := unsafe.Pointer(mu)
				var u Use
				var ok bool
				if i%3 == 0 {
					mu.Lock()
					u, ok = tab.Write(p)
					u.End()
					mu.Unlock()
				} else {
					mu.RLock()
					u, ok = tab.Read(p, unsafe.Pointer(&i))
					u.End()
					mu.RUnlock()
				}
				if !ok {
					t.Error("a conflict where there is none")
					return
				}
			}
		})
	}
	wg.Wait()
}
