package tracer

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tcdbg/logs"
	"tcdbg/torch"
	"tcdbg/tracer/eval"
	"tcdbg/tracer/guard"
	"tcdbg/tracer/host"
	"tcdbg/tracer/replay"
	"tcdbg/tracer/value"
)

// This file finds the cache entries of the place that a call is at: the entry of a
// compiled function, or where it resumes after a break.

// frameCache holds the entries of one place: the compiled function's entry or a
// resume point.
type frameCache struct {
	id         int
	name       string
	parent     int
	from       *logs.CompileID // the compile after whose break it was first entered
	mu         sync.Mutex      // held while an entry is made
	entries    replay.Entries
	eager      atomic.Bool // the limit was reached, or nothing can be compiled here
	suppressed atomic.Bool // it is eager because the backend failed
	calls      atomic.Int64
	hits       atomic.Int64
	nanos      atomic.Int64            // run time of cache entries
	guards     timed                   // finding an entry, where one fitted
	away       timed                   // from a break to the next graph, after a hit
	left       atomic.Int64            // operators that ran outside of graphs in one call, at most
	total      *atomic.Int64           // entries of the same code, for whatever it is compiled
	dynamic    map[string]map[int]bool // dimensions seen to change, by source; under mu
	again      bool                    // compiler.Reset took one away whose place it has
	reset      atomic.Bool             // compiler.Reset took it away
	made       *atomic.Int64           // calls of torch.Compile that gave its function
	written    logs.FrameCalls         // what the trace holds of it; under Tracer.mu
	at         logs.Pos                // where the frame begins, as the last trace says
	spent      []*replay.Spent         // of all entries, also of those that a reset took; under Tracer.mu
	track      *callTrack              // nil where calls are not recorded
}

// timed is what was timed, and how often.
type timed struct{ times, nanos atomic.Int64 }

func (t *timed) add(d time.Duration) {
	t.times.Add(1)
	t.nanos.Add(int64(d))
}

// What is timed of finding an entry: the first calls, and then some. A clock costs as much as
// the guards of a small entry.
const (
	timedFirst = 64
	timedEvery = 16
)

// findTimed is Find, of which some calls are timed.
func (fc *frameCache) findTimed(in *host.Interp, frames []*host.Frame, call int64) (*replay.Entry, *guard.Addresses) {
	if call > timedFirst && call%timedEvery != 0 {
		return fc.entries.Find(in, frames)
	}
	start := time.Now()
	entry, a := fc.entries.Find(in, frames)
	if entry != nil {
		fc.guards.add(time.Since(start))
	}
	return entry, a
}

// checkedEntries is how many entries a search is checked among, where everything is.
const checkedEntries = 64

// checkFound panics where the search has not found what testing guard by guard finds, among
// entries that no other goroutine has changed since before it.
func (fc *frameCache) checkFound(in *host.Interp, frames []*host.Frame, found *replay.Entry, before int64) {
	if len(fc.entries.List()) > checkedEntries {
		return
	}
	want := fc.entries.Plainly(in, frames)
	changed := before&1 == 1 || fc.entries.State() != before
	if found != want && !changed {
		panic(fmt.Sprintf("tracer: of the entries of %s, %p fits by its guards one by one, and %p was found", fc.name, want, found))
	}
}

// cacheAt finds the entries for the place where the frames are.
func (c *Compiled) cacheAt(frames []*host.Frame, last *replay.Entry) *frameCache {
	resumed := last != nil
	cast, under := torch.AutocastType() // each type has entries of its own: no guard tests it
	if !resumed && !under {
		if fc := c.entry.Load(); fc != nil {
			return fc
		}
	}
	key := placeKey(frames)
	if under {
		key += cast.Name()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if fc := c.cache[key]; fc != nil {
		return fc
	}
	if fc := c.alike.join(key, c.t.in, frames); fc != nil {
		c.keep(key, fc, !resumed && !under)
		return fc
	}
	fc := &frameCache{id: c.t.nextFrame(), parent: -1, made: c.made, dynamic: map[string]map[int]bool{}, again: c.taken[key]}
	fc.total = c.t.totalOf(key)
	if c.t.cfg.Calls {
		fc.track = &callTrack{}
	}
	fc.name = c.name()
	if resumed {
		fn, line := c.t.resumesIn(frames)
		fc.name = fmt.Sprintf("torch_dynamo_resume_in_%s_at_%d", fn, line)
		fc.parent, fc.from = last.ID.Frame, &last.ID
		if entry := c.entry.Load(); entry != nil { // compiler.Reset may have taken it away
			fc.parent = entry.id
		}
	}
	if under {
		fc.name += " under autocast to " + cast.Name()
	}
	c.t.register(fc)
	c.keep(key, fc, !resumed && !under)
	c.alike.add(key, fc)
	return fc
}

// totalOf counts the entries of a place over all that it is compiled for.
func (t *Tracer) totalOf(key string) *atomic.Int64 {
	n, _ := t.accumulated.LoadOrStore(key, new(atomic.Int64))
	return n.(*atomic.Int64)
}

// keep has calls that are at a place use the entries of fc; c.mu is held.
func (c *Compiled) keep(key string, fc *frameCache, first bool) {
	c.cache[key] = fc
	if first {
		c.entry.Store(fc)
	}
}

// resumesIn is where frames go on, as the program's author sees it: inside torch's
// own code it is the line that called it.
func (t *Tracer) resumesIn(frames []*host.Frame) (fn string, line int) {
	top := frames[len(frames)-1]
	at := eval.PosOf(t.prog, top)
	for i := len(frames) - 1; i >= 0 && value.OwnSource(at.File); i-- {
		if p := eval.CallerPos(t.prog, frames[i]); i < len(frames)-1 && !value.OwnSource(p.File) {
			return value.FuncName(frames[i].Code.Fn), p.Line
		}
	}
	return value.FuncName(top.Code.Fn), at.Line
}

func (c *Compiled) name() string {
	if c.opts.name != "" {
		return c.opts.name
	}
	return value.FuncName(c.fn)
}

// placeKey identifies the functions and instructions that the frames are at.
func placeKey(frames []*host.Frame) string {
	var sb strings.Builder
	for _, f := range frames {
		fmt.Fprintf(&sb, "%p:%d;", f.Code, f.PC)
	}
	return sb.String()
}
