package tracer

import (
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// This file lets the garbage collector come less often while anything is compiled: what a
// compile allocates lives about as long as it, so that a quarter of its time went by in
// collections that found little.

const (
	usualPercent = 100 // what a Go program starts with; another was chosen by somebody
	mostPercent  = 400
	// mostGarbage is how much may be allocated between two collections, unless what lives is more.
	mostGarbage = 256 << 20
)

// pacing is the process's, as its collector is.
var pacing struct {
	sync.Mutex
	compiles int // that run
}

// compiling begins a compile and returns its end.
func compiling() (end func()) {
	pacing.Lock()
	defer pacing.Unlock()
	if pacing.compiles == 0 {
		before := debug.SetGCPercent(compilePercent())
		if before != usualPercent {
			debug.SetGCPercent(before)
			return func() {}
		}
	}
	pacing.compiles++
	return func() {
		pacing.Lock()
		defer pacing.Unlock()
		if pacing.compiles--; pacing.compiles == 0 {
			debug.SetGCPercent(usualPercent)
		}
	}
}

// compilePercent is how much may be allocated until the next collection, in percent of what lives.
func compilePercent() int {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	if live[0].Value.Kind() != metrics.KindUint64 {
		return usualPercent
	}
	return int(min(max(100*mostGarbage/max(live[0].Value.Uint64(), 1), usualPercent), mostPercent))
}
