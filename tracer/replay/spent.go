package replay

import (
	"sync/atomic"
	"time"

	"tcdbg/logs"
	"tcdbg/torch"
)

// This file adds up what the calls of an entry cost, without the one that it was compiled for.

// Spent is what calls of one entry took.
type Spent struct {
	id      logs.CompileID
	inside  part // in its code
	outside part // after its break, until the next graph began or the call returned
	written logs.EntryCalls
}

// part is one stretch of calls.
type part struct{ times, nanos, metered, allocated, copied atomic.Int64 }

// NewSpent begins the account of the entry id.
func NewSpent(id logs.CompileID) *Spent { return &Spent{id: id} }

// Inside counts a call's stay in the entry's code, which began at start, when the goroutine's
// traffic was before.
func (s *Spent) Inside(took time.Duration, before torch.Traffic, metered bool) {
	s.inside.add(took, before, metered)
}

// Outside counts the time after the entry's break.
func (s *Spent) Outside(took time.Duration, before torch.Traffic, metered bool) {
	s.outside.add(took, before, metered)
}

func (p *part) add(took time.Duration, before torch.Traffic, metered bool) {
	p.times.Add(1)
	p.nanos.Add(int64(took))
	now, still := torch.TrafficHere()
	if !metered || !still {
		return
	}
	n := now.Since(before)
	p.metered.Add(1)
	if n.Allocated != 0 {
		p.allocated.Add(n.Allocated)
	}
	if n.Copied != 0 {
		p.copied.Add(n.Copied)
	}
}

func (p *part) sum() logs.Spent {
	return logs.Spent{
		Times: p.times.Load(), Nanos: p.nanos.Load(), Metered: p.metered.Load(),
		Allocated: p.allocated.Load(), Copied: p.copied.Load(),
	}
}

// Take returns the sums where they have changed since they were last taken.
func (s *Spent) Take() (logs.EntryCalls, bool) {
	now := logs.EntryCalls{Frame: s.id.Frame, Compile: s.id.Compile, Inside: s.inside.sum(), Outside: s.outside.sum()}
	if now == s.written || now.Inside.Times == 0 {
		return now, false
	}
	s.written = now
	return now, true
}
