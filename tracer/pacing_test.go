package tracer

import (
	"runtime/debug"
	"testing"
)

// TestCollectorComesLessOftenInCompiles: while one runs, and as before when the last has ended; a
// pace that somebody has chosen stays.
func TestCollectorComesLessOftenInCompiles(t *testing.T) {
	percent := func() int {
		p := debug.SetGCPercent(usualPercent)
		debug.SetGCPercent(p)
		return p
	}
	defer debug.SetGCPercent(debug.SetGCPercent(usualPercent))
	first := compiling()
	second := compiling()
	first()
	if p := percent(); p <= usualPercent || p > mostPercent {
		t.Errorf("in a compile: %d", p)
	}
	second()
	if p := percent(); p != usualPercent {
		t.Errorf("after all compiles: %d", p)
	}
	debug.SetGCPercent(50)
	end := compiling()
	if p := percent(); p != 50 {
		t.Errorf("in a compile of a program with a pace of its own: %d", p)
	}
	end()
	if p := percent(); p != 50 {
		t.Errorf("after it: %d", p)
	}
}
