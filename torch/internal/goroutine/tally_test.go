package goroutine

import (
	"sync"
	"testing"
)

// TestTallyIsOfOneGoroutine: what goroutines count at the same time, and one after the other in
// the same memory, is counted for each alone.
func TestTallyIsOfOneGoroutine(t *testing.T) {
	var tally Tally
	tally.Here()[0].Store(-1)
	for range 4 {
		var all sync.WaitGroup
		for g := range int64(50) {
			all.Go(func() {
				for range 100 {
					c := tally.Here()
					c[0].Store(c[0].Load() + g)
					c[1].Store(c[1].Load() + 1)
				}
				if c := tally.Here(); c[0].Load() != 100*g || c[1].Load() != 100 {
					t.Errorf("goroutine %d counted %d and %d", g, c[0].Load(), c[1].Load())
				}
			})
		}
		all.Wait()
	}
	if n := tally.Here()[0].Load(); n != -1 {
		t.Errorf("the first goroutine has %d", n)
	}
}
