package goroutine

import (
	"runtime"
	"sync"
	"testing"
)

// TestID compares the number that is read with the one that is printed.
func TestID(t *testing.T) {
	if readable && idPlace() < 0 {
		t.Errorf("the number of a goroutine is not found in its memory")
	}
	var wg sync.WaitGroup
	seen := sync.Map{}
	for range 200 {
		wg.Go(func() {
			got, want := id(), printedID()
			if got != want {
				t.Errorf("goroutine %d is taken for %d", want, got)
			}
			if _, twice := seen.LoadOrStore(got, true); twice {
				t.Errorf("two goroutines are %d", got)
			}
		})
	}
	wg.Wait()
}

// TestLocal: each goroutine sees what it set itself, whatever others do.
func TestLocal(t *testing.T) {
	var l Local
	var wg sync.WaitGroup
	for i := range uint32(300) {
		wg.Go(func() {
			for round := range uint32(50) {
				v := (i*7 + round) % 5
				if was := l.Set(v); round > 0 && was != (i*7+round-1)%5 {
					t.Errorf("the value was %d", was)
				}
				runtime.Gosched()
				if got := l.Get(); got != v {
					t.Errorf("got %d, want %d", got, v)
				}
			}
			l.Set(0)
		})
	}
	wg.Wait()
	if l.held.Load() != 0 {
		t.Errorf("%d goroutines are said to hold a value", l.held.Load())
	}
}

// TestLocalAfterTheEnd: a goroutine starts with 0, in the memory of one that ended
// with another value too.
func TestLocalAfterTheEnd(t *testing.T) {
	var l Local
	used := map[uintptr]bool{}
	reused := 0
	for range 1000 {
		done := make(chan uintptr)
		go func() {
			if got := l.Get(); got != 0 {
				t.Errorf("a new goroutine has %d", got)
			}
			if was := l.Set(3); was != 0 {
				t.Errorf("a new goroutine had %d", was)
			}
			done <- memory()
		}()
		m := <-done
		if used[m] {
			reused++
		}
		used[m] = true
	}
	if readable && reused == 0 {
		t.Error("no goroutine ran in the memory of another: nothing was tested")
	}
	if held := l.held.Load(); held > int64(len(used)) {
		t.Errorf("%d values are held by %d goroutines", held, len(used))
	}
}

// BenchmarkGet is what the question costs: while nobody holds a value, and while
// somebody does.
func BenchmarkGet(b *testing.B) {
	var l Local
	b.Run("none", func(b *testing.B) {
		for b.Loop() {
			l.Get()
		}
	})
	l.Set(1)
	b.Run("own", func(b *testing.B) {
		for b.Loop() {
			l.Get()
		}
	})
	b.Run("another", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				l.Get()
			}
		})
	})
}
