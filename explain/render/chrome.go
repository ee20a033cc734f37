package render

import (
	"bufio"
	"encoding/json"
	"io"
	"sort"
	"strconv"
	"time"

	"tcdbg/explain"
)

// This file writes the compile-time flame chart in Chrome's trace format,
// which Perfetto and chrome://tracing open.

// chromeEvent is one event: a complete one ("X"), an instant ("i") or a name
// of a process ("M").
type chromeEvent struct {
	Name  string         `json:"name"`
	Cat   string         `json:"cat,omitempty"`
	Phase string         `json:"ph"`
	TS    float64        `json:"ts"` // µs
	Dur   *float64       `json:"dur,omitempty"`
	PID   int            `json:"pid"`
	TID   int            `json:"tid"`
	Scope string         `json:"s,omitempty"`
	Args  map[string]any `json:"args,omitempty"`
}

// WriteChrome writes the report's phases; without any, the compiles
// themselves are in. Times count from the start that otherData names: of whole
// microseconds since 1970 a float64 keeps no fractions.
func WriteChrome(w io.Writer, r *explain.Report) error {
	events := chromeEvents(r)
	b := bufio.NewWriter(w)
	_, _ = b.WriteString(`{"displayTimeUnit":"ms",`) // the writer keeps its first error for Flush
	if other := chromeOther(r); len(other) > 0 {
		text, err := json.Marshal(other)
		if err != nil {
			return err
		}
		_, _ = b.WriteString(`"otherData":` + string(text) + ",")
	}
	_, _ = b.WriteString(`"traceEvents":[`)
	for i := range events {
		if i > 0 {
			_ = b.WriteByte(',')
		}
		_ = b.WriteByte('\n')
		text, err := json.Marshal(&events[i])
		if err != nil {
			return err
		}
		_, _ = b.Write(explain.EscapeControls(text))
	}
	_, _ = b.WriteString("\n]}\n")
	return b.Flush()
}

// chromeOther is what the events do not say: when they begin, and which there are too many of.
func chromeOther(r *explain.Report) map[string]any {
	out := map[string]any{}
	if start := chromeStart(r); !start.IsZero() {
		out["start"] = start.UTC().Format(time.RFC3339Nano)
	}
	for _, left := range []struct {
		name string
		n    int64
	}{
		{"phases_left_out", r.PhasesLeftOut}, {"deep_phases_left_out", r.DeepPhases}, {"instants_left_out", r.InstantsLeftOut},
	} {
		if left.n > 0 {
			out[left.name] = left.n
		}
	}
	return out
}

// chromeStart is the earliest moment of what is written.
func chromeStart(r *explain.Report) time.Time {
	var first time.Time
	note := func(t time.Time) {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	for _, p := range r.Phases {
		note(p.Start)
	}
	for _, p := range r.Unclosed {
		note(p.Start)
	}
	for _, x := range r.Instants {
		note(x.At)
	}
	for _, fr := range r.Frames {
		for _, c := range fr.Compiles {
			note(c.Start)
		}
	}
	return first
}

// chromeEvents lists names first, then all events by their time, each in a lane of
// its process in which it nests.
func chromeEvents(r *explain.Report) []chromeEvent {
	var names, out []chromeEvent
	if len(r.Ranks) == 0 {
		names = append(names, chromeEvent{Name: "process_name", Phase: "M", Args: map[string]any{"name": r.Title}})
	}
	for _, rk := range r.Ranks {
		names = append(
			names,
			chromeEvent{Name: "process_name", Phase: "M", PID: rk.Rank, Args: map[string]any{"name": "rank " + strconv.Itoa(rk.Rank)}},
		)
	}
	start, brief := chromeStart(r), explain.BriefNames(r)
	for _, p := range r.Phases {
		out = append(out, phaseEvent(p, start))
	}
	for i := range r.Unclosed {
		out = append(out, phaseEvent(&r.Unclosed[i], start))
	}
	for _, x := range r.Instants {
		e := chromeEvent{Name: x.Name, Cat: "compile", Phase: "i", Scope: "t", TS: since(start, x.At), PID: max(x.ID.Rank, 0)}
		e.Args = compileArgs(x.ID)
		out = append(out, e)
	}
	for _, fr := range r.Frames {
		for _, c := range fr.Compiles {
			out = append(out, compileEvents(c, start, brief, len(r.Phases) == 0)...)
		}
	}
	sort.SliceStable(out, func(i, j int) bool {
		if out[i].TS != out[j].TS {
			return out[i].TS < out[j].TS
		}
		return out[i].length() > out[j].length()
	})
	lanes := laneSet{}
	for i := range out {
		out[i].TID = lanes.place(&out[i])
	}
	names = append(names, threadNames(out)...)
	return append(names, out...)
}

// phaseEvent is a phase; one whose end was not recorded reaches to the end of what was.
func phaseEvent(p *explain.Phase, start time.Time) chromeEvent {
	dur := float64(p.Dur) / 1e3
	e := chromeEvent{Name: p.Name, Cat: "compile", Phase: "X", TS: since(start, p.Start), Dur: &dur, PID: max(p.ID.Rank, 0)}
	e.Args = compileArgs(p.ID)
	if p.Open {
		if e.Args == nil {
			e.Args = map[string]any{}
		}
		e.Args["end"] = "not recorded"
	}
	return e
}

// compileArgs names the compile that an event is of; nil where it is of none.
func compileArgs(id explain.ID) map[string]any {
	if id.Frame < 0 {
		return nil
	}
	return map[string]any{"compile_id": id.CompileID.String(), "epoch": id.Epoch}
}

// threadNames names the lanes, and processes that no rank has named.
func threadNames(events []chromeEvent) []chromeEvent {
	type lane struct{ pid, tid int }
	seen := map[lane]bool{}
	var out []chromeEvent
	for i := range events {
		l := lane{events[i].PID, events[i].TID}
		if seen[l] {
			continue
		}
		seen[l] = true
		name := "compile"
		if l.tid > 0 {
			name = "compile, at the same time " + strconv.Itoa(l.tid)
		}
		out = append(out, chromeEvent{Name: "thread_name", Phase: "M", PID: l.pid, TID: l.tid, Args: map[string]any{"name": name}})
	}
	return out
}

// since is a moment in microseconds.
func since(start, at time.Time) float64 { return float64(at.Sub(start)) / 1e3 }

func (e *chromeEvent) length() float64 {
	if e.Dur == nil {
		return 0
	}
	return *e.Dur
}

// laneSet are the ends of what is open in each lane of each process: a trace of
// events has them nested in a lane, and what threads and processes without a rank
// do at one time is not.
type laneSet map[int][][]float64

// maxLanes bounds the lanes of a process; what overlaps with more than that many
// others is cut to fit.
const maxLanes = 64

// place finds the lane of the next event by time.
func (l laneSet) place(e *chromeEvent) int {
	if e.Phase != "X" {
		return 0
	}
	end := e.TS + *e.Dur
	for i, open := range l[e.PID] {
		for len(open) > 0 && open[len(open)-1] <= e.TS {
			open = open[:len(open)-1]
		}
		last := i == maxLanes-1
		if n := len(open); n == 0 || end <= open[n-1] || last {
			if n > 0 && last {
				end = min(end, open[n-1])
				*e.Dur = end - e.TS
			}
			l[e.PID][i] = append(open, end)
			return i
		}
		l[e.PID][i] = open
	}
	l[e.PID] = append(l[e.PID], []float64{end})
	return len(l[e.PID]) - 1
}

// compileEvents marks breaks and recompiles, and the compile itself where the
// trace holds no phases.
func compileEvents(c *explain.Compile, start time.Time, brief explain.Names, whole bool) []chromeEvent {
	if c.Start.IsZero() {
		return nil
	}
	var out []chromeEvent
	at, pid := since(start, c.Start), max(c.ID.Rank, 0)
	if whole {
		dur := c.Seconds * 1e6
		out = append(
			out,
			chromeEvent{
				Name: c.Frame.Name, Cat: "compile", Phase: "X", TS: at, Dur: &dur, PID: pid,
				Args: map[string]any{"compile_id": c.ID.CompileID.String()},
			},
		)
	}
	for _, b := range c.Breaks {
		out = append(
			out,
			chromeEvent{
				Name: "break " + b.Code, Cat: "break", Phase: "i", Scope: "t", TS: at, PID: pid,
				Args: map[string]any{"type": b.Title(), "place": brief.Place(b.Pos), "code": b.Pos.Code},
			},
		)
	}
	if c.Recompile != nil && len(c.Recompile.Failures) > 0 {
		g := c.Recompile.Failures[0]
		out = append(
			out,
			chromeEvent{
				Name: "recompile", Cat: "recompile", Phase: "i", Scope: "t", TS: at, PID: pid,
				Args: map[string]any{"function": c.Frame.Name, "reason": explain.FailureText(&g)},
			},
		)
	}
	return out
}
