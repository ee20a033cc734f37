package backends

import (
	"strings"
	"testing"

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
	for _, lanes := range []int{4, 8, 16} {
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
