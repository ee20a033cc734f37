package explain

import (
	"fmt"
	"time"

	"tcdbg/logs"
	"tcdbg/logs/calls"
)

// Calls is what became of every call of the compiled functions.
type Calls struct {
	Tracks []*CallTrack // one for each function, in the order of the report's frames
	// Recorded is not set where the trace has compiles only: then tracks hold these, and what
	// was called between them is not known.
	Recorded bool
	Missing  []string // why calls, or some, are not recorded; in words
	Untold   []string // what the engine does not tell of calls: "duration", calls.UntoldInner
}

// CallTrack is the calls of one function, in runs of calls that went alike, oldest first.
type CallTrack struct {
	Frame   *Frame // nil: the trace has no compile of it
	Name    string // of the function
	Pos     logs.Pos
	Process int
	Runs    []calls.Run
	// Whole says that calls are timed until they return, with compiling and all that they call.
	Whole bool
	// Derived says that the runs are made of the compiles alone.
	Derived bool
	// GivenUp says that the function runs eagerly since its last compile, and that the engine
	// tells of no call after that.
	GivenUp bool
}

// HitTime is what the calls took that an entry served, on average, and how many were timed.
func (t *CallTrack) HitTime() (ns, timed int64) {
	for i := range t.Runs {
		if r := &t.Runs[i]; r.Outcome == calls.Hit {
			ns, timed = ns+r.Nanos, timed+r.Timed
		}
	}
	return ns / max(timed, 1), timed
}

// Calls counts the calls; those that were not numbered, too.
func (t *CallTrack) Calls() (n int64) {
	for i := range t.Runs {
		n += t.Runs[i].Count
	}
	return n
}

// Compile is the compile whose entry a run's calls were served by, nil for none.
func (t *CallTrack) Compile(r *calls.Run) *Compile {
	if t.Frame == nil || r.Entry < 0 {
		return nil
	}
	for _, c := range t.Frame.Compiles {
		if c.ID.Compile == r.Entry {
			return c
		}
	}
	return nil
}

// Break is the graph break at which the run's calls left compiled code, nil for none.
func (t *CallTrack) Break(r *calls.Run) *Break {
	c := t.Compile(r)
	if c == nil || r.Outcome != calls.Hit && r.Outcome != calls.Compiled {
		return nil
	}
	for i := len(c.Breaks) - 1; i >= 0; i-- {
		if b := c.Breaks[i]; !b.During && b.Outcome != "skipped" && b.Outcome != "error" {
			return b
		}
	}
	return nil
}

// Miss is why no earlier entry served the call that a run begins with, nil where it is not
// known or there was no earlier one.
func (t *CallTrack) Miss(r *calls.Run) *Recompile {
	if r.Outcome == calls.Compiled {
		if c := t.Compile(r); c != nil {
			return c.Recompile
		}
	}
	if t.Frame == nil || r.Outcome != calls.Eager && r.Outcome != calls.Raised || r.First == 0 {
		return nil
	}
	for _, c := range t.Frame.Compiles {
		if rc := c.Recompile; rc != nil && rc.Call >= r.First && rc.Call <= r.Last() {
			return rc
		}
	}
	return nil
}

// At is where the arrow of a call is: the line at which its graph broke, else the function's.
func (t *CallTrack) At(r *calls.Run) logs.Pos {
	if b := t.Break(r); b != nil && b.Pos.Line > 0 {
		return b.Pos
	}
	return t.Pos
}

// CallNumbers names the calls of a run: "call 7", "calls 8-107".
func CallNumbers(r *calls.Run) string {
	switch {
	case r.First == 0 && r.Count == 1:
		return "a call without a number"
	case r.First == 0:
		return fmt.Sprintf("%d calls without a number", r.Count)
	case r.Count == 1:
		return fmt.Sprintf("call %d", r.First)
	}
	return fmt.Sprintf("calls %d-%d", r.First, r.Last())
}

// eagerWhy says why calls ran without compiled code.
var eagerWhy = map[string]string{
	calls.AtLimit:    "the recompile limit is reached: no entry is added any more",
	calls.Disabled:   "called where compiling is disabled",
	calls.Skipped:    "the compiler gave this function up",
	calls.Deferred:   "a deferred call, which is never compiled",
	calls.NoEntry:    "no entry fitted, and nothing was compiled",
	calls.Off:        "the setting Disable has every call run eagerly",
	calls.Suppressed: "the backend failed on its graph, and SuppressErrors has it run eagerly",
	calls.Stopping:   "a breakpoint is on one of its lines, which compiled code has not",
}

// EagerWhy is why calls ran without compiled code, in words.
func EagerWhy(why string) string {
	if text := eagerWhy[why]; text != "" {
		return text
	}
	if len(why) > len(calls.Stance) && why[:len(calls.Stance)] == calls.Stance {
		return "torch.compile's stance is " + why[len(calls.Stance):]
	}
	return why
}

// Mark is the one letter of a run: the number of the entry that served it (its last digit),
// b where its calls left at a graph break, C a compile, e eager, ! an error, + several
// entries, ~ runs that were merged away.
func (t *CallTrack) Mark(r *calls.Run) rune {
	switch r.Outcome {
	case calls.Compiled:
		return 'C'
	case calls.Eager:
		return 'e'
	case calls.Raised:
		return '!'
	case calls.Lost:
		return '~'
	case calls.Hit:
		switch {
		case t.Break(r) != nil:
			return 'b'
		case r.Entry >= 0:
			return rune('0' + r.Entry%10)
		}
		return 'h'
	}
	return '+'
}

// When is a moment of a run, zero where it was not recorded.
func When(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns)
}
