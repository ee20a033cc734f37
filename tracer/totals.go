package tracer

import (
	"time"

	"tcdbg/logs"
)

// This file counts calls and run times, and writes them as aggregates: a record
// for each call would drown the trace.

// aggregateEvery bounds how often a running program's totals are written.
const aggregateEvery = 100 * time.Millisecond

// Start begins writing totals while the program runs. The returned function
// writes the last ones; it may be called more than once.
func (t *Tracer) Start() (stop func()) {
	tick := time.NewTicker(aggregateEvery)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-tick.C:
				t.writeTotals(false)
			case <-done:
				return
			}
		}
	}()
	stopped := false
	return func() {
		if stopped {
			return
		}
		stopped = true
		tick.Stop()
		close(done)
		t.writeTotals(true)
	}
}

// writeTotals writes the totals where they have changed; the last time with those
// of all kernels.
func (t *Tracer) writeTotals(last bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var a logs.Aggregate
	var calls int64 // and what else has changed since the last record
	for _, fc := range t.caches {
		c := logs.FrameCalls{Frame: fc.id, Calls: fc.calls.Load(), Hits: fc.hits.Load(), RunNanos: fc.nanos.Load(), EagerOps: fc.left.Load()}
		calls += c.Calls + c.EagerOps
		a.Frames = append(a.Frames, c)
	}
	if t.cfg.KernelTimes != nil {
		a.Kernels = t.cfg.KernelTimes(last)
	}
	if calls == t.written && len(a.Kernels) == 0 {
		return
	}
	t.written = calls
	t.sink.Emit(logs.Artifact(logs.NoCompile, a))
}
