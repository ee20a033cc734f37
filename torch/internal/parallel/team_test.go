package parallel

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestEachRunsEveryStepOnce also from several callers at once, which share
// the hands.
func TestEachRunsEveryStepOnce(t *testing.T) {
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for n := range 200 {
				counts := make([]atomic.Int32, n)
				Each(3, n, func(i int) { counts[i].Add(1) })
				for i := range counts {
					if c := counts[i].Load(); c != 1 {
						t.Errorf("step %d of %d ran %d times", i, n, c)
						return
					}
				}
			}
		})
	}
	wg.Wait()
}

// TestEachWaitsForSlowSteps longer than a caller stays awake: of two steps that
// two goroutines have, one takes long, mostly that of the other one.
func TestEachWaitsForSlowSteps(t *testing.T) {
	for range 10 {
		var over atomic.Int32
		var both sync.WaitGroup
		both.Add(2)
		Each(2, 2, func(i int) {
			both.Done()
			both.Wait()
			time.Sleep(time.Duration(i) * 40 * patience)
			over.Add(1)
		})
		if n := over.Load(); n != 2 {
			t.Fatalf("%d of 2 steps were over", n)
		}
	}
}

// TestEachNeedsNoHands: steps that no hand came for are the caller's, here
// because the only processor is its own.
func TestEachNeedsNoHands(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	ran := 0
	Each(8, 100, func(int) { ran++ })
	if ran != 100 {
		t.Errorf("%d of 100 steps ran before anyone yielded", ran)
	}
}

func TestEachRaisesPanics(t *testing.T) {
	for _, bad := range []int{0, 7, 99} {
		func() {
			defer func() {
				if r := recover(); r != "bad step" {
					t.Errorf("step %d: raised %v", bad, r)
				}
			}()
			Each(4, 100, func(i int) {
				if i == bad {
					panic("bad step")
				}
			})
		}()
	}
}

// TestHandsLeave: who has no work for a while is gone, and off the list.
func TestHandsLeave(t *testing.T) {
	Each(4, 64, func(int) { time.Sleep(time.Millisecond) })
	for start := time.Now(); time.Since(start) < 10*time.Second; { // a busy machine lets them leave late
		idle.Lock()
		n := len(idle.hands)
		idle.Unlock()
		if n == 0 {
			return
		}
		time.Sleep(linger)
	}
	t.Error("hands linger for ever")
}

// TestHandsAreKept: who lingers is hired, and works.
func TestHandsAreKept(t *testing.T) {
	if runtime.GOMAXPROCS(0) == 1 {
		t.Skip("one processor: who lingers is alone on it, and nothing is cut")
	}
	// offer hires h if it lingers: hire takes the last of the list. While it
	// works it is not on it.
	offer := func(h *hand, t *team) {
		idle.Lock()
		i, last := slices.Index(idle.hands, h), len(idle.hands)-1
		if i >= 0 {
			idle.hands[i], idle.hands[last] = idle.hands[last], idle.hands[i]
		}
		idle.Unlock()
		if i < 0 {
			return
		}
		hire(t)
		idle.Lock()
		defer idle.Unlock()
		if slices.Contains(idle.hands, h) {
			t.failed.Store(new(any))
		}
	}
	time.Sleep(10 * linger) // whoever lingers from before leaves
	for start := time.Now(); time.Since(start) < 10*time.Second; {
		h, gone, release, worked := new(hand), make(chan struct{}), make(chan struct{}), new(atomic.Bool)
		go func() {
			h.serve(new(team))
			close(gone)
		}()
		second := &team{n: 1, f: func(int) {
			<-release
			worked.Store(true)
		}}
		second.open.Add(1)
		for left := false; !left && second.taken.Load() == 0; {
			offer(h, second)
			select {
			case <-gone:
				left = true
			default:
				runtime.Gosched()
			}
		}
		close(release)
		<-gone
		if second.failed.Load() != nil {
			t.Fatal("a hand that lingered was not taken")
		}
		if worked.Load() {
			return
		}
	}
	t.Error("no hand was hired in ten seconds")
}

func TestParallelCoversTheRange(t *testing.T) {
	for _, n := range []int{1, 2, 7, 8, 9, 1000} {
		var mu sync.Mutex
		seen := make([]int, n)
		For(n, 1<<30, func(from, to int) {
			mu.Lock()
			defer mu.Unlock()
			for i := from; i < to; i++ {
				seen[i]++
			}
		})
		if slices.ContainsFunc(seen, func(c int) bool { return c != 1 }) {
			t.Errorf("%d: seen %v", n, seen)
		}
	}
}
