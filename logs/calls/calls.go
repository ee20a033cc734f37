// Package calls is the track of a compiled function: what became of each of its calls, in
// runs of calls that went alike. Both engines write tracks; the report reads them.
//
// It imports nothing of ours. Open this file first (what a run is), then recorder.go (how an
// engine collects runs) and track.go (how a reader keeps them).
package calls

import "slices"

// Outcome is what became of a call.
type Outcome string

// The outcomes.
const (
	Hit      Outcome = "hit"     // an entry of the cache served it
	Compiled Outcome = "compile" // no entry fitted: one was compiled, which then served it
	Eager    Outcome = "eager"   // it ran without compiled code
	Raised   Outcome = "raised"  // its compile, or the compiled code, ended with an error
	Mixed    Outcome = "mixed"   // calls of several outcomes, merged: Shares counts them
	Lost     Outcome = "lost"    // compiles among them: runs that a reader has no room for
)

// Why a call ran without compiled code, where an engine knows it.
const (
	AtLimit  = "limit"      // the recompile limit was reached
	Disabled = "disabled"   // where compiling is disabled
	Skipped  = "skipped"    // the compiler gave the function up
	Deferred = "deferred"   // a deferred call, of which only the host knows what follows
	Off      = "off"        // Disable is set
	Stance   = "stance "    // and the stance's name
	NoEntry  = "no entry"   // no entry fitted, and nothing was compiled
	Stopping = "breakpoint" // so that a line of it can be stopped at

	Suppressed = "suppressed" // the backend failed, and SuppressErrors is set
)

// NoEntryNumber is the Entry of a run that none served.
const NoEntryNumber = -1

// Run is consecutive calls of one function that went alike.
type Run struct {
	First int64 `json:"first"` // number of its first call, from 1; 0: calls that are not numbered
	Count int64 `json:"count"`
	Start int64 `json:"start,omitempty"` // of the first call, nanoseconds since 1970; 0: not recorded
	End   int64 `json:"end,omitempty"`   // of the last call

	Outcome Outcome `json:"outcome"`
	Entry   int     `json:"entry"`         // compile number of the entry, NoEntryNumber for none
	Why     string  `json:"why,omitempty"` // of eager and raised calls

	// Of the calls that were timed, what they took in compiled code, or eagerly; see Part.Whole.
	Timed int64 `json:"timed,omitempty"`
	Nanos int64 `json:"ns,omitempty"`
	Min   int64 `json:"min,omitempty"`
	Max   int64 `json:"max,omitempty"`

	Sizes  []Size  `json:"sizes,omitempty"`  // dynamic ones, and what they were
	Shares []Share `json:"shares,omitempty"` // of mixed and lost runs
}

// Size is a size that may change from call to call, with what it was in a run.
type Size struct {
	Name string `json:"name"` // L['x'].size()[0]
	Min  int64  `json:"min"`
	Max  int64  `json:"max"`
}

// Share is how many calls of a merged run had one outcome.
type Share struct {
	Outcome Outcome `json:"outcome"`
	Entry   int     `json:"entry"`
	Why     string  `json:"why,omitempty"`
	Count   int64   `json:"count"`
}

// Event reports a run that is no steady work: a compile, an error, calls without compiled code.
func (r *Run) Event() bool {
	return r.Outcome != Hit && (r.Outcome != Mixed || r.has(Eager) || r.has(Raised))
}

// has reports whether a merged run has calls of an outcome.
func (r *Run) has(o Outcome) bool {
	return slices.ContainsFunc(r.Shares, func(s Share) bool { return s.Outcome == o })
}

// Last is the number of the run's last call.
func (r *Run) Last() int64 { return r.First + r.Count - 1 }

// alike reports whether next goes on with r: the same outcome in the calls that follow.
func (r *Run) alike(next *Run) bool {
	return r.Outcome == next.Outcome && r.Outcome != Compiled && r.Outcome != Mixed && r.Outcome != Lost &&
		r.Entry == next.Entry && r.Why == next.Why && r.follows(next) && slices.Equal(r.Sizes, next.Sizes)
}

// follows reports whether the calls of next come right after those of r.
func (r *Run) follows(next *Run) bool {
	if r.First == 0 || next.First == 0 {
		return r.First == next.First
	}
	return next.First == r.First+r.Count
}

// extend counts the calls of next to r, whatever their outcome.
func (r *Run) extend(next *Run) {
	if r.First == 0 || next.First > 0 && next.First < r.First {
		r.First = next.First
	}
	r.Count += next.Count
	if r.Start == 0 || next.Start > 0 && next.Start < r.Start {
		r.Start = next.Start
	}
	r.End = max(r.End, next.End)
	if next.Timed > 0 {
		if r.Timed == 0 || next.Min < r.Min {
			r.Min = next.Min
		}
		r.Max = max(r.Max, next.Max)
		r.Timed += next.Timed
		r.Nanos += next.Nanos
	}
}

// maxShares and maxSizes bound what a merged run tells; what is beyond is counted together.
const (
	maxShares = 12
	maxSizes  = 12
)

// merge makes r a run of its calls and those of next, of outcome as.
func (r *Run) merge(next *Run, as Outcome) {
	shares := r.shares()
	for _, s := range next.shares() {
		shares = addShare(shares, s)
	}
	r.extend(next)
	r.Sizes = mergeSizes(r.Sizes, next.Sizes)
	if len(shares) == 1 && as == Mixed && shares[0].Outcome != Compiled { // the sizes alone differed
		r.Outcome, r.Entry, r.Why, r.Shares = shares[0].Outcome, shares[0].Entry, shares[0].Why, nil
		return
	}
	r.Outcome, r.Entry, r.Why, r.Shares = as, NoEntryNumber, "", shares
}

// Parts are a run's calls by outcome: one part where they went alike.
func (r *Run) Parts() []Share { return r.shares() }

// shares are a run's calls by outcome, in memory of their own.
func (r *Run) shares() []Share {
	if r.Outcome == Mixed || r.Outcome == Lost {
		return slices.Clone(r.Shares)
	}
	return []Share{{r.Outcome, r.Entry, r.Why, r.Count}}
}

// addShare counts s; beyond the bound it is one of an outcome whose entry is not told.
func addShare(list []Share, s Share) []Share {
	same := func(x Share) bool { return x.Outcome == s.Outcome && x.Entry == s.Entry && x.Why == s.Why }
	i := slices.IndexFunc(list, same)
	if i < 0 && len(list) >= maxShares {
		s.Entry, s.Why = NoEntryNumber, ""
		i = slices.IndexFunc(list, same)
	}
	if i < 0 {
		return append(list, s)
	}
	list[i].Count += s.Count
	return list
}

// mergeSizes is the range of each size.
func mergeSizes(a, b []Size) []Size {
	if len(a) == 0 && len(b) == 0 {
		return nil
	}
	out := slices.Clone(a)
	for _, s := range b {
		i := slices.IndexFunc(out, func(x Size) bool { return x.Name == s.Name })
		switch {
		case i >= 0:
			out[i].Min, out[i].Max = min(out[i].Min, s.Min), max(out[i].Max, s.Max)
		case len(out) < maxSizes:
			out = append(out, s)
		}
	}
	return out
}

// Part is what a record adds to the track of one function.
type Part struct {
	Frame int `json:"frame"` // its id in the trace, -1: none
	// Epoch is how often ids had started again in the process before.
	Epoch int    `json:"epoch,omitempty"`
	Name  string `json:"name"` // of the function
	File  string `json:"file,omitempty"`
	Line  int    `json:"line,omitempty"`
	// Whole says that calls are timed until they return, as their callers see them: with finding the
	// entry, compiling, and all that they call.
	Whole bool `json:"whole,omitempty"`
	// Runs are those that have ended since the record before; Open is the one that goes on,
	// and takes the place of the one of the record before.
	Runs []Run `json:"runs,omitempty"`
	Open *Run  `json:"open,omitempty"`
}

// UntoldGivenUp says in Record.Untold that calls of a function are not told once it is left to
// eager execution for good.
const UntoldGivenUp = "calls of functions that were given up"

// UntoldInner says in Record.Untold that calls from within compiled functions have no time.
const UntoldInner = "duration of calls from within compiled functions"

// Record is artifact tcdbg_calls: what was called since the record before.
type Record struct {
	Process int    `json:"pid"`
	Parts   []Part `json:"parts,omitempty"`
	// Engine is whose calls they are, "PyTorch 2.6.0": releases before 2.7 do not write their version.
	Engine string `json:"engine,omitempty"`
	// Missing says in words why calls of this process are not recorded, or what of them.
	Missing string `json:"missing,omitempty"`
	// Untold names what this engine does not tell of a call: "duration", UntoldInner, UntoldGivenUp.
	Untold []string `json:"untold,omitempty"`
}

// ArtifactName is that of records of calls.
func (Record) ArtifactName() (string, int) { return "tcdbg_calls", 1 }
