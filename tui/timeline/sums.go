package timeline

import (
	"cmp"
	"slices"
	"time"

	"tcdbg/explain"
)

// This file adds time up: by phase or name, by function, by cause.

// The kinds of sums.
const (
	Phase    = "phase"
	Span     = "span" // of a Chrome trace
	Function = "function"
	Cause    = "cause"
)

// Sum is time that has something in common.
type Sum struct {
	Name, Kind  string
	Count       int
	Self, Total int64 // without and with what is within; what is within one of its name counts once
	Longest     int   // event, -1: none is kept
	Compiles    []*explain.Compile
}

// Table is sums of one kind, most first; those that have no row are in Rest, so that nothing is
// missing.
type Table struct {
	Title  string
	Counts string // what Count counts
	Sums   []Sum
	More   int // sums in Rest
	Rest   Sum
}

// How many rows a table has.
const (
	mostNames  = 10
	mostGroups = 6
)

// Tables are the sums of a report that there are.
func (ix *Index) Tables(r *explain.Report) []Table {
	var out []Table
	add := func(title, counts string, most int, sums []Sum) {
		if len(sums) == 0 {
			return
		}
		t := Table{Title: title, Counts: counts, Sums: sums}
		if len(sums) > most+1 {
			t.Sums = sums[:most]
			for _, s := range sums[most:] {
				t.More++
				t.Rest.Count, t.Rest.Self = t.Rest.Count+s.Count, t.Rest.Self+s.Self
			}
		}
		out = append(out, t)
	}
	add("TIME BY PHASE", "span", mostNames, ix.phases(r))
	if len(r.Traces) > 0 {
		add("TIME BY SPAN", "span", mostNames, ix.Sums(OfTrace))
	}
	add("COMPILE TIME BY FUNCTION", "compile", mostGroups, byFunction(r))
	add("COMPILE TIME BY CAUSE", "compile", mostGroups, byCause(r))
	return out
}

// phases are the report's sums, which have what is too brief to be kept as well.
func (ix *Index) phases(r *explain.Report) []Sum {
	longest := map[string]int{}
	for i := range ix.Events {
		if e := &ix.Events[i]; e.Ref >= 0 {
			if n, ok := longest[e.Name]; !ok || e.Dur > ix.Events[n].Dur {
				longest[e.Name] = i
			}
		}
	}
	var out []Sum
	for _, s := range r.PhaseSums {
		n, ok := longest[s.Name]
		if !ok {
			n = -1
		}
		out = append(out, Sum{Name: s.Name, Kind: Phase, Count: s.Count, Self: nanos(s.Self), Total: nanos(s.Seconds), Longest: n})
	}
	return out
}

func nanos(seconds float64) int64 { return int64(seconds*1e9 + 0.5) }

// Sums adds up the events that stand for the same, by name, by their self time.
func (ix *Index) Sums(of int32) []Sum {
	at := map[string]int{}
	var sums []Sum
	var past []int32 // one beyond the last event within the outermost one of each sum
	for i := range ix.Events {
		e := &ix.Events[i]
		if min(e.Ref, 0) != min(of, 0) {
			continue
		}
		n, ok := at[e.Name]
		if !ok {
			n = len(sums)
			at[e.Name] = n
			sums, past = append(sums, Sum{Name: e.Name, Kind: Span, Longest: i}), append(past, 0)
		}
		s := &sums[n]
		s.Count++
		s.Self += ix.Self(i)
		if past[n] <= int32(i) { // not within one of its name
			past[n] = ix.past[i]
			s.Total += e.Dur
		}
		if e.Dur > ix.Events[s.Longest].Dur {
			s.Longest = i
		}
	}
	slices.SortStableFunc(sums, func(a, b Sum) int { return cmp.Compare(b.Self, a.Self) })
	return sums
}

// groups adds compiles up by what key says of them, the longest first.
func groups[K comparable](r *explain.Report, kind string, key func(c *explain.Compile) (K, string)) []Sum {
	at := map[K]int{}
	var out []Sum
	for _, fr := range r.Frames {
		for _, c := range fr.Compiles {
			if c.Seconds <= 0 {
				continue
			}
			k, name := key(c)
			n, ok := at[k]
			if !ok {
				n = len(out)
				at[k] = n
				out = append(out, Sum{Name: name, Kind: kind, Longest: -1})
			}
			s := &out[n]
			s.Compiles = append(s.Compiles, c)
			s.Count++
			s.Self += nanos(c.Seconds)
			s.Total = s.Self
		}
	}
	slices.SortStableFunc(out, func(a, b Sum) int { return cmp.Compare(b.Self, a.Self) })
	return out
}

// byFunction is compile time by function; those of several ranks and files are one.
func byFunction(r *explain.Report) []Sum {
	type function struct {
		name, file string
		line       int
	}
	return groups(r, Function, func(c *explain.Compile) (function, string) {
		name := explain.FrameTitle(c.Frame)
		return function{name, c.Frame.Pos.File, c.Frame.Pos.Line}, name
	})
}

// byCause is compile time by why something was compiled: for the first time, after a break, or again.
func byCause(r *explain.Report) []Sum {
	type cause struct {
		kind string
		key  explain.CauseKey
	}
	return groups(r, Cause, func(c *explain.Compile) (cause, string) {
		switch {
		case c.Recompile != nil && len(c.Recompile.Failures) > 0:
			f := &c.Recompile.Failures[0]
			return cause{"again", explain.KeyOf(f)}, "recompiled: " + explain.FailureText(f)
		case c.Recompile != nil:
			return cause{kind: "unknown"}, "recompiled: no guard is recorded"
		case c.Frame.Parent != nil:
			return cause{kind: "part"}, "parts of functions after a break"
		}
		return cause{kind: "first"}, "functions for the first time"
	})
}

// ByCompile is by compile how long at least one phase of a name ran, the longest first.
func ByCompile(r *explain.Report, name string) []*explain.Phase {
	type sum struct {
		*explain.Phase
		end time.Time // of what was added
	}
	at := map[explain.ID]*sum{}
	var out []*explain.Phase
	for _, p := range r.Phases { // by start
		if p.Name != name {
			continue
		}
		s := at[p.ID]
		if s == nil {
			first := *p
			first.Dur = 0
			s = &sum{Phase: &first}
			at[p.ID] = s
			out = append(out, s.Phase)
		}
		from, to := p.Start, p.Start.Add(p.Dur)
		if from.Before(s.end) {
			from = s.end
		}
		if to.After(from) {
			s.Dur += to.Sub(from)
			s.end = to
		}
	}
	slices.SortStableFunc(out, func(a, b *explain.Phase) int { return cmp.Compare(b.Dur, a.Dur) })
	return out
}
