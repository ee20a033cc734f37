package backends

import (
	"strings"
	"testing"
	"time"

	"tcdbg/inductor/codegen/cpp"
)

// TestRuntimeTypesAgree: generated code and the runtime library share structs by
// text only.
func TestRuntimeTypesAgree(t *testing.T) {
	if !strings.Contains(runtimeText(), cpp.RuntimeTypes) {
		t.Error("the runtime library declares other types than the generated code")
	}
}

// TestPackedSizes: the compiler reserves as many numbers for a packed weight as
// the library writes.
func TestPackedSizes(t *testing.T) {
	needCompiler(t)
	for _, lanes := range widths[1:] {
		set := NewSet(Config{CacheDir: sharedCache, Lanes: lanes, Threads: 2})
		e := set.engine()
		if e.err != nil {
			t.Fatal(e.err)
		}
		for _, n := range []int{1, 7, 8, 16, 31, 32, 33, 100} {
			width := 2 * lanes
			want := (n + width - 1) / width * width * 5
			if got := int(ccall(e.rt.packed, 5, uintptr(n))); got != want {
				t.Errorf("%d lanes: 5 x %d packs to %d numbers, the compiler reserves %d", lanes, n, got, want)
			}
		}
	}
}

// BenchmarkBarrier is the time of a kernel on all threads that does nothing: what a kernel of the
// pool costs beside its work.
func BenchmarkBarrier(b *testing.B) {
	needCompiler(b)
	e := NewSet(Config{CacheDir: sharedCache}).engine()
	if e.err != nil {
		b.Fatal(e.err)
	}
	ccall(e.rt.regions, 1000, 1) // wakes the threads
	b.ReportMetric(float64(e.rt.threads), "threads")
	b.ResetTimer()
	ccall(e.rt.regions, uintptr(b.N), 1)
}

// TestRegions: every unit of every kernel runs once, of kernels that follow each other at once and
// of those that find the threads asleep; and after it the caller is in none, though others ran all of its
// part: a fault of Go's own would be held to be that kernel's, and end the process.
func TestRegions(t *testing.T) {
	needCompiler(t)
	e := NewSet(Config{CacheDir: sharedCache, Threads: 5}).engine()
	if e.err != nil {
		t.Fatal(e.err)
	}
	for i := range 20 {
		if missed := ccall(e.rt.regions, 5000, uintptr(i%8+1)); missed != 0 {
			t.Fatalf("%d units did not run once, or regions ended with their caller in a kernel", missed)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
