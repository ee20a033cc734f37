package tracer

import (
	"slices"
	"time"

	"tcdbg/logs"
	"tcdbg/torch"
	"tcdbg/tracer/replay"
)

// This file counts calls and run times, and writes them as aggregates: a record
// for each call would drown the trace.

// aggregateEvery bounds how often a running program's totals are written.
const aggregateEvery = 100 * time.Millisecond

// Start begins writing totals while the program runs. The returned function
// writes the last ones; it may be called more than once.
func (t *Tracer) Start() (stop func()) {
	t.callsOff()
	torch.RunExported(t.runExported)
	torch.ExportBy(t.exportFunction)
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
		torch.RunExported(nil)
		torch.ExportBy(nil)
		tick.Stop()
		close(done)
		t.writeTotals(true)
	}
}

// writeTotals writes the totals of the frames whose have changed; the last time
// with those of all kernels. Frames that were reset end here once they stand still.
func (t *Tracer) writeTotals(last bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	called, any := t.takeCalls(last)
	if any {
		t.sink.Emit(logs.Artifact(logs.NoCompile, called))
	}
	var a logs.Aggregate
	t.caches = slices.DeleteFunc(t.caches, func(fc *frameCache) bool {
		for _, s := range fc.spent {
			if e, changed := s.Take(); changed {
				a.Entries = append(a.Entries, e)
			}
		}
		c := logs.FrameCalls{
			Frame: fc.id, Calls: fc.calls.Load(), Hits: fc.hits.Load(), RunNanos: fc.nanos.Load(),
			EagerOps: fc.left.Load(), Made: fc.made.Load(),
			GuardTimed: fc.guards.times.Load(), GuardNanos: fc.guards.nanos.Load(),
			Left: fc.away.times.Load(), LeftNanos: fc.away.nanos.Load(),
		}
		if c == fc.written {
			return fc.reset.Load()
		}
		fc.written = c
		a.Frames = append(a.Frames, c)
		return false
	})
	if t.cfg.KernelTimes != nil {
		a.Kernels = t.cfg.KernelTimes(last)
	}
	if len(a.Frames) == 0 && len(a.Entries) == 0 && len(a.Kernels) == 0 {
		return
	}
	t.sink.Emit(logs.Artifact(logs.NoCompile, a))
}

// account has what the calls of a new entry cost written with the totals.
func (t *Tracer) account(fc *frameCache, s *replay.Spent) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fc.spent = append(fc.spent, s)
}
