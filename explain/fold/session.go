package fold

import (
	"slices"
	"strings"

	"tcdbg/explain"
	"tcdbg/logs"
)

// This file folds a debugging session: stops, breakpoints, answers. Of stops the heads
// are kept; their values stay in the trace.

// What is kept of a session at most.
const (
	maxStops   = 2000
	maxPoints  = 1000
	maxAnswers = 200
)

// session is the state of the fold of it.
type session struct {
	stops    []*explain.Stop
	standing []*explain.Stop // of stops: each thread has one
	points   []logs.Point
	answers  []*logs.Answer
	earlier  int // stops that are not kept
}

// heldStop is what a stop's head holds, its strings included.
const heldStop = 1 << 10

// tcdbgHookFailure tells what of ours went wrong within the program, which went on.
func tcdbgHookFailure(f *Fold, r *logs.Record) {
	var v logs.HookFailure
	if !f.versioned(r, &v) {
		return
	}
	text := "tcdbg's own code within the program failed: " + v.Where
	if lines := strings.Split(strings.TrimSpace(v.Error), "\n"); v.Error != "" {
		text += ": " + lines[len(lines)-1]
	}
	f.hold(heldEvent + len(text))
	f.side = append(f.side, explain.SideNote{ID: f.id(r), Kind: "tcdbg", Text: f.intern(text)})
}

func tcdbgStop(f *Fold, r *logs.Record) {
	var v logs.Stop
	if !f.versioned(r, &v) {
		return
	}
	load := r.Loader()
	s := &explain.Stop{
		ID: v.ID, Process: v.Process, Rank: r.Rank, Thread: f.intern(v.Thread), Kind: logs.StopKind(f.intern(string(v.Kind))),
		Why: f.intern(v.Why), Point: v.Point, Compiled: f.intern(v.Compiled), Compile: f.intern(v.Compile),
		Seq: r.Seq, At: f.at(r), Stands: true, Moment: v.Moment, Past: v.Past, NoBack: f.intern(v.NoBack), Note: f.intern(v.Note),
		Load: func() *logs.Stop {
			var whole logs.Stop
			decodePayload([]byte(load()), &whole) // it was read once; a file that is gone leaves it empty
			return &whole
		},
	}
	if v.Rank != nil {
		s.Rank = *v.Rank
	}
	if v.Where != nil {
		s.Where = f.pos(*v.Where)
	}
	f.goesOn(v.Process, v.Thread, true)
	f.extend(s.At, 0)
	f.hold(heldStop)
	k := &f.session
	k.stops, k.standing = append(k.stops, s), append(k.standing, s)
	if n := len(k.stops) - maxStops; n >= maxStops {
		k.stops = slices.Clone(k.stops[n:])
		k.earlier += n
		f.hold(-n * heldStop)
	}
}

// goesOn ends the stop of a thread; where exact is not set, "" and 0 are every thread and
// every process.
func (f *Fold) goesOn(process int, thread string, exact bool) {
	f.session.standing = slices.DeleteFunc(f.session.standing, func(s *explain.Stop) bool {
		same := s.Process == process && s.Thread == thread
		if !exact {
			same = (process == 0 || s.Process == process) && (thread == "" || s.Thread == thread)
		}
		s.Stands = s.Stands && !same
		return same
	})
}

func tcdbgPoint(f *Fold, r *logs.Record) {
	var v logs.Point
	if !f.versioned(r, &v) {
		return
	}
	k := &f.session
	at := slices.IndexFunc(k.points, func(p logs.Point) bool { return p.ID == v.ID && p.Process == v.Process })
	switch {
	case v.Cleared && at >= 0:
		k.points = slices.Delete(slices.Clone(k.points), at, at+1)
	case v.Cleared || at < 0 && len(k.points) == maxPoints:
	case at >= 0:
		k.points = slices.Clone(k.points) // reports share it
		k.points[at] = v
	default:
		f.hold(heldEvent + len(v.Spec) + len(v.Error))
		k.points = append(k.points, v)
	}
}

func tcdbgAnswer(f *Fold, r *logs.Record) {
	var v logs.Answer
	if !f.versioned(r, &v) {
		return
	}
	k := &f.session
	f.hold(heldStop)
	if k.answers = append(k.answers, &v); len(k.answers) >= 2*maxAnswers {
		k.answers = slices.Clone(k.answers[maxAnswers:])
		f.hold(-maxAnswers * heldStop)
	}
}

// copySession gives a report the session so far: the newest of each.
func copySession(f *Fold, r *explain.Report) {
	k := &f.session
	from := max(0, len(k.stops)-maxStops)
	r.Session.Earlier = k.earlier + from
	r.Session.Stops = make([]*explain.Stop, len(k.stops)-from)
	for i, s := range k.stops[from:] {
		cp := *s
		r.Session.Stops[i] = &cp
	}
	r.Session.Points = k.points[:len(k.points):len(k.points)]
	from = max(0, len(k.answers)-maxAnswers)
	r.Session.Answers = k.answers[from:len(k.answers):len(k.answers)]
}
