package memory

import (
	"sync/atomic"

	"tcdbg/torch/internal/goroutine"
)

// This file counts the bytes that each goroutine allocates and copies, for those who ask what
// a call costs. While nobody does, an allocation costs a load more.

// Traffic is the bytes that went into new storages, and those that were copied for the
// compiler's sake (see [Copied]).
type Traffic struct{ Allocated, Copied int64 }

// traffic is what is counted, while counting is on.
var traffic struct {
	on    atomic.Bool
	tally goroutine.Tally
}

// CountTraffic begins counting for all goroutines, for good. It reports false where the machine
// gives no cheap way to tell goroutines apart: then nothing is counted.
func CountTraffic() bool {
	if goroutine.Cheap() {
		traffic.on.Store(true)
	}
	return traffic.on.Load()
}

// TrafficHere is what the calling goroutine has counted; on is false while nothing is counted.
func TrafficHere() (t Traffic, on bool) {
	if !traffic.on.Load() {
		return Traffic{}, false
	}
	c := traffic.tally.Here()
	return Traffic{c[0].Load(), c[1].Load()}, true
}

// SetTraffic makes the calling goroutine's counts t.
func SetTraffic(t Traffic) {
	if traffic.on.Load() {
		c := traffic.tally.Here()
		c[0].Store(t.Allocated)
		c[1].Store(t.Copied)
	}
}

// Copied counts n bytes that were copied because code is compiled, which no operator of the
// program asked for.
func Copied(n int) {
	if traffic.on.Load() {
		c := traffic.tally.Here()
		c[1].Store(c[1].Load() + int64(n))
	}
}

// count counts n bytes in a new storage.
func count(n int) {
	if traffic.on.Load() {
		c := traffic.tally.Here()
		c[0].Store(c[0].Load() + int64(n))
	}
}
