package fold

import (
	"cmp"
	"slices"
	"strings"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/logs/calls"
)

// This file folds the tracks of calls. A track may come before the first compile of its
// function is read: the two are brought together in the report.

// trackKey names the function of a track: by its id, and where the trace has none, by name.
type trackKey struct {
	rank, epoch, process, frame int
	name                        string
}

// callTrack is a track while it is being folded.
type callTrack struct {
	key   trackKey
	pos   logs.Pos
	whole bool
	track calls.Track
}

// called is the state of the fold of calls.
type called struct {
	tracks   map[trackKey]*callTrack
	order    []*callTrack
	recorded bool
	missing  []string
	untold   []string
}

const heldRun = 160

func tcdbgCalls(f *Fold, r *logs.Record) {
	var v calls.Record
	if !f.versioned(r, &v) {
		return
	}
	if strings.HasPrefix(v.Engine, "PyTorch ") {
		f.setEngine(v.Engine)
	}
	k := &f.called
	if v.Missing != "" && !slices.Contains(k.missing, v.Missing) && len(k.missing) < maxMissing {
		k.missing = append(k.missing, f.intern(v.Missing))
	}
	for _, u := range v.Untold {
		if !slices.Contains(k.untold, u) && len(k.untold) < maxMissing {
			k.untold = append(k.untold, f.intern(u))
		}
	}
	for i := range v.Parts {
		callPart(f, r, v.Process, &v.Parts[i])
	}
}

// maxMissing bounds what is said of calls that are not recorded.
const maxMissing = 16

func callPart(f *Fold, r *logs.Record, process int, p *calls.Part) {
	key := trackKey{rank: r.Rank, epoch: r.Epoch + p.Epoch, process: process, frame: p.Frame}
	if p.Frame < 0 {
		key.name = f.intern(p.Name)
	}
	k := &f.called
	k.recorded = true
	t := k.tracks[key]
	if t == nil {
		if k.tracks == nil {
			k.tracks = map[trackKey]*callTrack{}
		}
		t = &callTrack{key: key, pos: logs.Pos{File: f.intern(p.File), Line: p.Line, Func: f.intern(p.Name)}}
		f.hold(heldFrame)
		k.tracks[key] = t
		k.order = append(k.order, t)
	}
	t.whole = t.whole || p.Whole
	for i := range p.Runs {
		shareRun(f, &p.Runs[i])
	}
	if p.Open != nil {
		shareRun(f, p.Open)
	}
	before := t.track.Len()
	t.track.Put(p)
	f.hold((t.track.Len() - before) * heldRun)
}

// maxOfRun bounds the sizes and shares of a run: our engines write fewer.
const maxOfRun = 16

// shareRun interns the strings of a run, of which the trace may be anybody's.
func shareRun(f *Fold, r *calls.Run) {
	r.Count, r.Sizes, r.Shares = max(0, r.Count), r.Sizes[:min(len(r.Sizes), maxOfRun)], r.Shares[:min(len(r.Shares), maxOfRun)]
	r.Outcome, r.Why = calls.Outcome(f.intern(string(r.Outcome))), f.intern(r.Why)
	for i := range r.Sizes {
		r.Sizes[i].Name = f.intern(r.Sizes[i].Name)
	}
	for i := range r.Shares {
		r.Shares[i].Outcome, r.Shares[i].Why = calls.Outcome(f.intern(string(r.Shares[i].Outcome))), f.intern(r.Shares[i].Why)
	}
}

// copyCalls gives a report the tracks so far.
func copyCalls(f *Fold, r *explain.Report, c *copier) {
	k := &f.called
	r.Calls = explain.Calls{
		Recorded: k.recorded, Missing: k.missing[:len(k.missing):len(k.missing)], Untold: k.untold[:len(k.untold):len(k.untold)],
	}
	told := map[*explain.Frame]bool{}
	for _, t := range k.order {
		out := &explain.CallTrack{Name: t.pos.Func, Pos: t.pos, Process: t.key.process, Runs: t.track.Runs(), Whole: t.whole}
		if fr := c.frames[t.frame(f)]; fr != nil {
			told[fr] = true
			out.Frame, out.Name, out.Pos = fr, fr.Title(), fr.Pos
			n := len(out.Runs)
			out.Runs = withFailures(out.Runs, fr)
			out.GivenUp = givenUp(fr, len(out.Runs) > n) && slices.Contains(k.untold, calls.UntoldGivenUp)
		}
		r.Calls.Tracks = append(r.Calls.Tracks, out)
	}
	for _, fr := range r.Frames {
		if runs := runsOfCompiles(fr); !told[fr] && len(runs) > 0 {
			r.Calls.Tracks = append(r.Calls.Tracks, &explain.CallTrack{Frame: fr, Name: fr.Title(), Pos: fr.Pos, Runs: runs, Derived: true})
		}
	}
	place := map[*explain.Frame]int{}
	for i, fr := range r.Frames {
		place[fr] = i + 1
	}
	slices.SortStableFunc(r.Calls.Tracks, func(a, b *explain.CallTrack) int {
		return orderOf(place, a) - orderOf(place, b)
	})
}

// frame is the track's, nil where the trace has it not. PyTorch's records have a rank only once
// the process group is there, ours where the environment names one.
func (t *callTrack) frame(f *Fold) *explain.Frame {
	for _, rank := range []int{t.key.rank, -1} {
		fr := f.frames[frameKey{rank, t.key.epoch, -1, t.key.frame}]
		// Processes without ranks may use the same ids.
		if fr != nil && (t.pos.File == "" || fr.Name == "" || fr.Wraps != nil || fr.Name == t.pos.Func) {
			return fr
		}
	}
	return nil
}

// orderOf puts functions without a compile after the others.
func orderOf(place map[*explain.Frame]int, t *explain.CallTrack) int {
	if n := place[t.Frame]; t.Frame != nil && n > 0 {
		return n
	}
	return len(place) + 1
}

// givenUp says whether a function's last compile left it to eager execution for good. At its
// recompile limit PyTorch still looks for an entry in most calls and tells of them: unseen says that
// it did not tell of the call that reached the limit.
func givenUp(fr *explain.Frame, unseen bool) bool {
	n := len(fr.Compiles)
	if n == 0 {
		return false
	}
	last := fr.Compiles[n-1].Status
	return last == explain.Skipped || last == explain.Limit && unseen
}

// withFailures adds the calls whose compiles gave no code to runs that do not have them: Python's
// hooks are told of code only.
func withFailures(runs []calls.Run, fr *explain.Frame) []calls.Run {
	has := func(o calls.Outcome, why string) bool {
		return slices.ContainsFunc(runs, func(r calls.Run) bool {
			return slices.ContainsFunc(r.Parts(), func(s calls.Share) bool { return s.Outcome == o && (why == "" || s.Why == why) })
		})
	}
	var more []calls.Run
	for _, r := range runsOfCompiles(fr) {
		if r.Outcome == calls.Raised && has(calls.Eager, calls.Suppressed) { // nobody saw the error
			continue
		}
		if r.Outcome != calls.Compiled && !has(r.Outcome, r.Why) && r.Start > 0 {
			r.First = 0
			more = append(more, r)
		}
	}
	if len(more) == 0 {
		return runs
	}
	out := slices.Concat(runs, more)
	slices.SortStableFunc(out, func(a, b calls.Run) int { return cmp.Compare(a.Start, b.Start) })
	return out
}

// runsOfCompiles is what the compiles of a function alone say of its calls: each served the
// call that it was for.
func runsOfCompiles(fr *explain.Frame) []calls.Run {
	var out []calls.Run
	for _, c := range fr.Compiles {
		run := calls.Run{Count: 1, Entry: c.ID.Compile}
		if c.Recompile != nil {
			run.First = c.Recompile.Call
		}
		if !c.Start.IsZero() {
			run.Start = c.Start.UnixNano()
			run.End = run.Start + int64(c.Seconds*1e9)
		}
		switch c.Status {
		case explain.Compiled, explain.Empty:
			run.Outcome = calls.Compiled
		case explain.Limit:
			run.Outcome, run.Why, run.Entry = calls.Eager, calls.AtLimit, calls.NoEntryNumber
		case explain.Skipped:
			run.Outcome, run.Why, run.Entry = calls.Eager, calls.Skipped, calls.NoEntryNumber
		case explain.Failed:
			run.Outcome, run.Entry = calls.Raised, calls.NoEntryNumber
		default:
			continue
		}
		out = append(out, run)
	}
	return out
}
