package tracer

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"tcdbg/logs"
	"tcdbg/logs/calls"
	"tcdbg/torch/compiler"
	"tcdbg/tracer/guard"
	"tcdbg/tracer/replay"
)

// This file records every call of a compiled function: in memory as it ends, in the trace with
// the totals.

// callTrack is the calls of one frame that are not written yet.
type callTrack struct {
	mu  sync.Mutex
	rec calls.Recorder
}

// add counts a call that an entry served or that ran eagerly.
func (k *callTrack) add(r *calls.Run) {
	k.mu.Lock()
	k.rec.Add(r)
	k.mu.Unlock()
}

// callMark is a call in progress: what is recorded of it where a panic ends it.
type callMark struct {
	fc    *frameCache // nil: nothing is in progress
	call  int64
	begun time.Time     // of the call where no entry fitted; of an eager one
	why   string        // of an eager one
	entry *replay.Entry // that serves it
	sizes []calls.Size  // its dynamic sizes in this call
}

// runs notes the entry that is about to serve the call, while its values can be read.
func (m *callMark) runs(entry *replay.Entry, a *guard.Addresses) {
	m.entry = entry
	if m.fc.track != nil && len(entry.Sizes) > 0 {
		m.sizes = sizesOf(entry, a)
	}
}

// served records a call whose entry took from start on; made says that it was compiled for it.
func (m *callMark) served(entry *replay.Entry, made bool, start time.Time, took time.Duration) {
	k := m.fc.track
	m.fc = nil
	at, ns := start.UnixNano(), int64(took)
	if !made && len(entry.Sizes) == 0 {
		k.mu.Lock()
		again := k.rec.Again(m.call, entry.ID.Compile, at, ns)
		k.mu.Unlock()
		if again {
			return
		}
	}
	r := calls.Run{
		First: m.call, Count: 1, Start: at, End: at + ns, Outcome: calls.Hit, Entry: entry.ID.Compile,
		Timed: 1, Nanos: ns, Min: ns, Max: ns, Sizes: m.sizes,
	}
	if made {
		r.Outcome, r.Start = calls.Compiled, m.begun.UnixNano()
		r.Sizes = append(r.Sizes, argumentSizes(entry)...)
	}
	k.add(&r)
}

// runsEagerly begins a call without compiled code.
func (fc *frameCache) runsEagerly(call int64) callMark {
	if fc.track == nil {
		return callMark{}
	}
	return callMark{fc: fc, call: call, begun: time.Now(), why: fc.whyEager()}
}

// ended records an eager call that has returned.
func (m *callMark) ended() {
	if m.fc == nil {
		return
	}
	ns := int64(time.Since(m.begun))
	r := m.run(calls.Eager)
	r.End, r.Timed, r.Nanos, r.Min, r.Max = r.Start+ns, 1, ns, ns, ns
	m.fc.track.add(&r)
	m.fc = nil
}

// handedBack records a call for which nothing was compiled: the interpreter goes on with it
// by itself, so that its end is not seen.
func (m *callMark) handedBack() {
	if m.fc.track != nil {
		m.why = m.fc.whyEager()
		r := m.run(calls.Eager)
		m.fc.track.add(&r)
	}
	m.fc = nil
}

// cut records a call that a panic ends, in its compile, in compiled code or in an eager call.
func (m *callMark) cut() {
	if m.fc == nil || m.fc.track == nil {
		return
	}
	if m.begun.IsZero() {
		m.begun = time.Now()
	}
	r := m.run(calls.Raised)
	r.End = time.Now().UnixNano()
	m.fc.track.add(&r)
}

// run is the call without its end.
func (m *callMark) run(o calls.Outcome) calls.Run {
	at := m.begun.UnixNano()
	r := calls.Run{First: m.call, Count: 1, Start: at, End: at, Outcome: o, Entry: calls.NoEntryNumber, Why: m.why, Sizes: m.sizes}
	if m.entry != nil {
		r.Entry = m.entry.ID.Compile
	}
	return r
}

// whyEager is why a frame's call runs without compiled code.
func (fc *frameCache) whyEager() string {
	switch {
	case fc.suppressed.Load():
		return calls.Suppressed
	case fc.eager.Load():
		return calls.AtLimit
	}
	if compiler.Config().Disable {
		return calls.Off
	}
	return calls.Stance + compiler.Stance()
}

// aside records a call of a compiled function where none is compiled. It is no call of the
// frame's: neither totals nor guards know of it.
func (c *Compiled) aside(why string) {
	if c.disabled || !c.t.cfg.Calls {
		return
	}
	if fc := c.entry.Load(); fc != nil {
		m := callMark{fc: fc, begun: time.Now(), why: why}
		r := m.run(calls.Eager)
		fc.track.add(&r)
	}
}

// dynamicSizes lists the sizes that an entry leaves open, by name.
func dynamicSizes(symbols guard.Origins) []replay.DynamicSize {
	var out []replay.DynamicSize
	for x, o := range symbols {
		if _, fixed := x.Fixed(); !fixed {
			out = append(out, replay.DynamicSize{Name: x.Source, Src: o.Src, Dim: o.Dim})
		}
	}
	slices.SortFunc(out, func(a, b replay.DynamicSize) int { return strings.Compare(a.Name, b.Name) })
	return out[:min(len(out), maxCallSizes)]
}

// maxCallSizes is how many sizes of a call are recorded.
const maxCallSizes = 8

// sizesOf is what the dynamic sizes of an entry are in a call.
func sizesOf(entry *replay.Entry, a *guard.Addresses) []calls.Size {
	out := make([]calls.Size, len(entry.Sizes))
	for i, s := range entry.Sizes {
		n := int64(guard.SizeAt(a, s.Src, s.Dim))
		out[i] = calls.Size{Name: s.Name, Min: n, Max: n}
	}
	return out
}

// argumentSizes are those of the arguments of the call that an entry was compiled for, as far
// as the entry fixes them.
func argumentSizes(entry *replay.Entry) []calls.Size {
	var out []calls.Size
	for _, seen := range entry.Seen {
		if !strings.HasPrefix(seen.Src.Name, "L['") || !strings.HasSuffix(seen.Src.Name, "']") {
			continue // a field of an argument: a parameter, mostly
		}
		for d, n := range seen.Shape {
			s := calls.Size{Name: fmt.Sprintf("%s.size()[%d]", seen.Src.Name, d), Min: int64(n), Max: int64(n)}
			if len(out) == maxCallSizes {
				return out
			}
			if !slices.ContainsFunc(entry.Sizes, func(x replay.DynamicSize) bool { return x.Name == s.Name }) {
				out = append(out, s)
			}
		}
	}
	return out
}

// takeCalls moves what was recorded since it was last asked into a record; t.mu is held.
func (t *Tracer) takeCalls(last bool) (calls.Record, bool) {
	rec := calls.Record{Process: os.Getpid()}
	if !t.cfg.Calls {
		return rec, false
	}
	now := time.Now()
	for _, fc := range t.caches {
		fc.track.mu.Lock()
		runs, open, any := fc.track.rec.Take(now, last || fc.reset.Load())
		fc.track.mu.Unlock()
		if any {
			rec.Parts = append(rec.Parts, calls.Part{Frame: fc.id, Name: fc.name, Runs: runs, Open: open})
		}
	}
	return rec, len(rec.Parts) > 0
}

// callsOff says in the trace that calls are not recorded.
func (t *Tracer) callsOff() {
	if !t.cfg.Calls && t.cfg.CallsMissing != "" {
		t.sink.Emit(logs.Artifact(logs.NoCompile, calls.Record{Process: os.Getpid(), Missing: t.cfg.CallsMissing}))
	}
}
