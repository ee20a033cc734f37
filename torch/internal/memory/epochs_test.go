package memory

import "testing"

// TestBlocksWaitForKernels: what died while a kernel ran is handed out when that
// kernel, and all that had begun before, have ended; what begins later is no reason
// to wait.
func TestBlocksWaitForKernels(t *testing.T) {
	a := &allocator{free: map[int][][]byte{}}
	const class = 1 << 20
	free := func() bool { return len(a.free[class]) > 0 }
	a.retire(make([]byte, class))
	if !free() || a.take(class) == nil {
		t.Fatal("with no kernel at work a block is free at once")
	}
	first := a.begin()
	second := a.begin()
	a.retire(make([]byte, class))
	a.end(second)
	if free() {
		t.Fatal("free while a kernel runs that had begun before")
	}
	for range 3 { // others come and go, one always at work
		third := a.begin()
		a.end(turn(a, third))
	}
	if free() {
		t.Fatal("free although the first kernel still runs")
	}
	later := a.begin()
	a.end(first)
	a.end(later)
	if !free() {
		t.Error("not free although all kernels have ended")
	}
}

// turn begins a kernel after e and ends e.
func turn(a *allocator, e int) int {
	next := a.begin()
	a.end(e)
	return next
}

// TestKernelsThatOverlapWithoutEnd: where one kernel always runs, blocks still
// come back.
func TestKernelsThatOverlapWithoutEnd(t *testing.T) {
	a := &allocator{free: map[int][][]byte{}}
	const class = 1 << 20
	running := a.begin()
	for range 100 {
		a.retire(make([]byte, class))
		running = turn(a, running)
	}
	if got := len(a.free[class]); got < 90 {
		t.Errorf("%d of 100 blocks are free", got)
	}
	a.end(running)
}
