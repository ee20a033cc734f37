package calls

import "time"

// This file is how an engine collects the calls of one function: in memory, a call at a
// time, taken at an interval.

// How many runs are written before calls of different outcomes are merged, and after how
// many more each merges twice as many. A function whose calls never go alike twice then
// writes some thousand runs, however long it runs.
const (
	exactRuns  = 512
	coarseRuns = 256
)

// Recorder is the calls of one function that were not taken yet. It is not safe for
// concurrent use. The zero value is ready.
type Recorder struct {
	open   Run
	has    bool
	closed []Run

	made    int64 // runs that were closed, ever
	every   int64 // calls of different outcomes that are merged; 0: none
	changed bool
	written int64 // when the open run was last taken
}

// Add counts a call, or several that went alike. It keeps nothing of c but its strings and
// sizes.
func (r *Recorder) Add(c *Run) {
	r.changed = true
	switch {
	case !r.has:
	case r.open.alike(c):
		r.open.extend(c)
		return
	case r.every > 0 && r.open.Outcome != Compiled && c.Outcome != Compiled && r.open.Count+c.Count <= r.every:
		r.open.merge(c, Mixed)
		return
	default:
		r.close()
	}
	r.open, r.has = *c, true
	r.open.Shares = nil
}

// Again counts one more call like the last: the short way of Add for a hit. It reports false
// where the call was not like it.
func (r *Recorder) Again(call int64, entry int, start, nanos int64) bool {
	o := &r.open
	if !r.has || o.Outcome != Hit || o.Entry != entry || call != o.First+o.Count || len(o.Sizes) > 0 {
		return false
	}
	o.Count++
	o.End = start + nanos
	o.Timed++
	o.Nanos += nanos
	o.Min, o.Max = min(o.Min, nanos), max(o.Max, nanos)
	r.changed = true
	return true
}

func (r *Recorder) close() {
	r.closed = append(r.closed, r.open)
	r.has = false
	r.made++
	if r.made >= exactRuns && (r.made-exactRuns)%coarseRuns == 0 {
		r.every = max(2, 2*r.every)
	}
}

// mostLate is how old the newest figures of a long run may be, in nanoseconds.
const mostLate = int64(time.Second)

// Take gives what was added since it was last asked. An open run that goes on for long is
// given less and less often, at last once a second, unless all is asked for. It reports
// whether there is anything.
func (r *Recorder) Take(now time.Time, all bool) (closed []Run, open *Run, any bool) {
	if !r.changed {
		return nil, nil, false
	}
	closed = r.closed
	if r.has && len(closed) == 0 && !all && r.written > 0 {
		ns := now.UnixNano()
		if ns-r.written < min((ns-r.open.Start)/8, mostLate) {
			return nil, nil, false
		}
	}
	r.closed, r.changed, r.written = nil, false, now.UnixNano()
	if r.has {
		cp := r.open
		open = &cp
	} else {
		r.written = 0
	}
	return closed, open, true
}
