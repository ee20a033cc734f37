package memory

import (
	"slices"
	"testing"
	"time"
	"unsafe"
)

// TestSlowHugePages: huge pages are asked for once a process keeps enough. Where one is slow to come, the rest of that memory
// has small ones, and so has what is mapped next, until that was enough.
func TestSlowHugePages(t *testing.T) {
	var asked []int
	var took []time.Duration // of pages, one after the other
	p := newPager(
		func(_ []byte, advice int) error { asked = append(asked, advice); return nil },
		func(*byte) (d time.Duration) { d, took = took[0], took[1:]; return d },
	)
	b := make([]byte, 4*sample)
	b = b[-uintptr(unsafe.Pointer(&b[0]))%hugePage:][:3*sample]
	expect := func(when string, of []byte, want ...int) {
		t.Helper()
		p.offer(of)
		if !slices.Equal(asked, want) || len(took) != 0 {
			t.Errorf("%s: asked for %v, want %v; %d pages were not touched", when, asked, want, len(took))
		}
		asked, took = nil, nil
	}
	for left := firstPatience; left > 0; left -= len(b) {
		expect("a small model", b)
	}
	took = []time.Duration{0, 0, 0}
	expect("quick pages", b, madvHugepage, madvHugepage, madvHugepage)
	took = []time.Duration{0, 2 * slowPage}
	expect("a slow page", b, madvHugepage, madvHugepage, madvNohugepage)
	for left := patience; left > 0; left -= len(b) {
		expect("after it", b)
	}
	took = []time.Duration{0, 0, 0}
	expect("once that was enough", b, madvHugepage, madvHugepage, madvHugepage)
	expect("less than a page", b[:hugePage-1])
}
