package render

import (
	"fmt"
	"strings"
	"time"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/logs/calls"
)

// This file writes what became of each call of a compiled function, as text and as JSON.

// calls is a line for each function; of a trace without a record of calls the compiles are
// in other sections.
func (t *TextWriter) calls(r *explain.Report) {
	c := &r.Calls
	if !c.Recorded {
		if len(c.Missing) > 0 {
			t.section("CALLS were not recorded: " + strings.Join(c.Missing, "; "))
		}
		return
	}
	n, least := int64(0), ""
	for _, k := range c.Tracks {
		n += k.Calls()
		if k.Derived || k.GivenUp {
			least = "at least "
		}
	}
	t.section(fmt.Sprintf("CALLS: %s%s of %s", least, explain.Count(int(n), "call"), explain.Count(len(c.Tracks), "function")))
	for _, m := range c.Missing {
		t.line("  not recorded: %s", m)
	}
	for i, k := range c.Tracks {
		if i == t.most(Rows) {
			t.more(len(c.Tracks)-t.most(Rows), "function")
			break
		}
		t.line("  %-28s %s", k.Name, trackText(k))
		t.served(k)
	}
}

// served is what a call of each of a function's entries costs, where it was measured.
func (t *TextWriter) served(k *explain.CallTrack) {
	if k.Frame == nil {
		return
	}
	shown := 0
	for _, c := range k.Frame.Compiles {
		if c.Served == nil {
			continue
		}
		if shown++; shown > t.most(entryRows) {
			t.line("    and further entries")
			return
		}
		t.line("    entry %s: %s", idText(c.ID), strings.Join(c.Lines(), "; "))
	}
}

// entryRows is how many entries of a function are told what their calls cost.
const entryRows = 4

// trackText sums a track up: "62 calls: 2 compiled, 60 hit, 0/1 59 times".
func trackText(k *explain.CallTrack) string {
	by := map[calls.Outcome]int64{}
	for i := range k.Runs {
		for _, s := range k.Runs[i].Parts() {
			by[s.Outcome] += s.Count
		}
	}
	var parts []string
	for _, o := range []struct {
		of   calls.Outcome
		text string
	}{{calls.Hit, "hit an entry"}, {calls.Compiled, "compiled"}, {calls.Eager, "ran eagerly"}, {calls.Raised, "failed"}} {
		if by[o.of] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", by[o.of], o.text))
		}
	}
	marks := ""
	for i := range k.Runs {
		if i == 48 {
			marks += "…"
			break
		}
		marks += string(k.Mark(&k.Runs[i]))
	}
	if ns, timed := k.HitTime(); k.Whole && timed > 0 {
		parts = append(parts, explain.Nanos(ns)+" a hit until it returned, with all that it calls and compiles")
	}
	text := explain.Count(int(k.Calls()), "call") + ": " + strings.Join(parts, ", ") + "  " + marks
	switch {
	case k.Derived:
		text += "  (its calls were not recorded, only compiles)"
	case k.GivenUp:
		text += "  (then it was given up: later calls run eagerly and are not recorded)"
	}
	return text
}

type jsonCalls struct {
	Recorded bool        `json:"recorded"`
	Missing  []string    `json:"missing"`
	Untold   []string    `json:"untold"`
	Tracks   []jsonTrack `json:"tracks"`
}

type jsonTrack struct {
	jsonID
	Function string    `json:"function"`
	Pos      *logs.Pos `json:"pos,omitempty"`
	Process  int       `json:"pid,omitempty"`
	Whole    bool      `json:"whole,omitempty"`
	Derived  bool      `json:"derived,omitempty"`
	GivenUp  bool      `json:"given_up,omitempty"`
	Runs     []jsonRun `json:"runs"`
}

type jsonRun struct {
	First   int64       `json:"first,omitempty"`
	Count   int64       `json:"count"`
	Outcome string      `json:"outcome"`
	Entry   string      `json:"entry,omitempty"`
	Why     string      `json:"why,omitempty"`
	Break   *logs.Pos   `json:"break,omitempty"`
	Start   *time.Time  `json:"start,omitempty"`
	End     *time.Time  `json:"end,omitempty"`
	Timed   int64       `json:"timed,omitempty"`
	Seconds *float64    `json:"seconds,omitempty"`
	Min     *float64    `json:"min_seconds,omitempty"`
	Max     *float64    `json:"max_seconds,omitempty"`
	Sizes   []jsonSize  `json:"sizes,omitempty"`
	Shares  []jsonShare `json:"shares,omitempty"`
}

type jsonSize struct {
	Name string `json:"name"`
	Min  int64  `json:"min"`
	Max  int64  `json:"max"`
}

type jsonShare struct {
	Outcome string `json:"outcome"`
	Entry   string `json:"entry,omitempty"`
	Why     string `json:"why,omitempty"`
	Count   int64  `json:"count"`
}

func callsJSON(c *explain.Calls) jsonCalls {
	return jsonCalls{c.Recorded, orEmpty(c.Missing), orEmpty(c.Untold), list(c.Tracks, trackJSON)}
}

func trackJSON(t *explain.CallTrack) jsonTrack {
	j := jsonTrack{
		jsonID: idJSON(explain.ID{Rank: -1, CompileID: logs.NoCompile}), Function: t.Name, Pos: posJSON(t.Pos), Process: t.Process,
		Whole: t.Whole, Derived: t.Derived, GivenUp: t.GivenUp,
	}
	if t.Frame != nil {
		j.jsonID = idJSON(t.Frame.ID)
	}
	j.Runs = list(t.Runs, func(r calls.Run) jsonRun { return runJSON(t, &r) })
	return j
}

func runJSON(t *explain.CallTrack, r *calls.Run) jsonRun {
	j := jsonRun{
		First: r.First, Count: r.Count, Outcome: string(r.Outcome), Entry: entryJSON(t, r.Entry), Why: r.Why,
		Start: momentJSON(r.Start), End: momentJSON(r.End), Timed: r.Timed,
		Sizes: list(r.Sizes, func(s calls.Size) jsonSize { return jsonSize(s) }),
		Shares: list(r.Shares, func(s calls.Share) jsonShare {
			return jsonShare{string(s.Outcome), entryJSON(t, s.Entry), s.Why, s.Count}
		}),
	}
	if b := t.Break(r); b != nil {
		j.Break = posJSON(b.Pos)
	}
	if r.Timed > 0 {
		j.Seconds, j.Min, j.Max = secondsJSON(r.Nanos), secondsJSON(r.Min), secondsJSON(r.Max)
	}
	return j
}

// entryJSON is the id of an entry of a track, "" for none.
func entryJSON(t *explain.CallTrack, entry int) string {
	if entry < 0 || t.Frame == nil {
		return ""
	}
	return logs.CompileID{Frame: t.Frame.ID.CompileID.Frame, Compile: entry}.String()
}

func secondsJSON(ns int64) *float64 {
	s := float64(ns) / 1e9
	return &s
}

func momentJSON(ns int64) *time.Time {
	at := explain.When(ns).UTC()
	if ns == 0 {
		return nil
	}
	return &at
}
