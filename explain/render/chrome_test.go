package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"
	"unicode/utf8"

	"tcdbg/explain"
	"tcdbg/internal/test/traces"
	"tcdbg/logs"
)

// strictEvent is an event with the fields that the format asks for; pointers tell
// what is missing.
type strictEvent struct {
	Name *string
	Ph   *string
	TS   *float64
	Dur  *float64
	PID  *int
	TID  *int
	S    string
	Args map[string]any
}

// strictChrome reads a trace as an importer does that forgives nothing: every
// event has its fields, times never go back within a thread, and slices of a
// thread nest.
func strictChrome(text []byte) (slices int, err error) {
	if !utf8.Valid(text) {
		return 0, fmt.Errorf("not UTF-8")
	}
	var doc struct {
		TraceEvents []strictEvent
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return 0, err
	}
	type thread struct{ pid, tid int }
	last, open := map[thread]float64{}, map[thread][]float64{}
	for i, e := range doc.TraceEvents {
		if e.Name == nil || e.Ph == nil || e.PID == nil || e.TID == nil || e.TS == nil {
			return slices, fmt.Errorf("event %d lacks a field", i)
		}
		t := thread{*e.PID, *e.TID}
		if *e.Ph == "M" {
			if _, named := e.Args["name"].(string); !named {
				return slices, fmt.Errorf("event %d names nothing", i)
			}
			continue
		}
		if *e.TS < last[t] || *e.TS < 0 {
			return slices, fmt.Errorf("event %d of %v at %v, after %v", i, t, *e.TS, last[t])
		}
		last[t] = *e.TS
		switch *e.Ph {
		case "i":
			if e.S != "t" && e.S != "p" && e.S != "g" {
				return slices, fmt.Errorf("instant %d of scope %q", i, e.S)
			}
		case "X":
			if e.Dur == nil || *e.Dur < 0 {
				return slices, fmt.Errorf("slice %d without a duration", i)
			}
			stack := open[t]
			for len(stack) > 0 && stack[len(stack)-1] <= *e.TS {
				stack = stack[:len(stack)-1]
			}
			if end := *e.TS + *e.Dur; len(stack) > 0 && end > stack[len(stack)-1]+1e-6 {
				return slices, fmt.Errorf("slice %d (%s) of %v ends at %v, after the one around it at %v", i, *e.Name, t, end,
					stack[len(stack)-1])
			}
			open[t] = append(stack, *e.TS+*e.Dur)
			slices++
		default:
			return slices, fmt.Errorf("event %d of phase %q", i, *e.Ph)
		}
	}
	return slices, nil
}

// TestChromeTraceIsStrict: an importer has nothing to repair in any trace.
func TestChromeTraceIsStrict(t *testing.T) {
	total := 0
	for _, path := range traces.Files(t, "../testdata/traces") {
		r := report(t, path)
		var b bytes.Buffer
		if err := WriteChrome(&b, r); err != nil {
			t.Fatal(err)
		}
		n, err := strictChrome(b.Bytes())
		if err != nil || n < len(r.Phases)+len(r.Unclosed) {
			t.Errorf("%s: %d slices of %d phases: %v", path, n, len(r.Phases), err)
		}
		total += n
	}
	if total < 1000 {
		t.Errorf("%d slices", total)
	}
}

// TestChromeLanes: what overlaps is put in lanes of its own, names of any bytes are
// JSON, and more than there are lanes is cut.
func TestChromeLanes(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	r := &explain.Report{Title: "a\x00b\xff</script>\u2028"}
	add := func(from, dur time.Duration) {
		r.Phases = append(r.Phases, &explain.Phase{
			Name: "p\x1b[2J\xff", ID: explain.ID{Rank: -1, CompileID: logs.NoCompile},
			Start: start.Add(from), Dur: dur,
		})
	}
	add(0, 10*time.Second)
	add(time.Second, 3*time.Second)              // nests
	add(2*time.Second, 4*time.Second)            // overlaps with the one before
	add(2*time.Second, 4*time.Second+333)        // and this, by a part of a microsecond
	for i := range 2 * time.Duration(maxLanes) { // a staircase
		add(20*time.Second+i*time.Millisecond, time.Second)
	}
	var b bytes.Buffer
	if err := WriteChrome(&b, r); err != nil {
		t.Fatal(err)
	}
	if n, err := strictChrome(b.Bytes()); err != nil || n != len(r.Phases) {
		t.Errorf("%d slices: %v", n, err)
	}
	tids := map[int]bool{}
	for _, e := range chromeEvents(r) {
		tids[e.TID] = true
	}
	if len(tids) != maxLanes {
		t.Errorf("%d lanes", len(tids))
	}
}

// TestChromeKeepsWhatNeverEnded: phases without an end and instants are written, and each lane
// and process has a name.
func TestChromeKeepsWhatNeverEnded(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	id := explain.ID{Rank: -1, CompileID: logs.NoCompile}
	r := &explain.Report{
		Title:    "a run",
		Unclosed: []explain.Phase{{Name: "never ended", ID: id, Start: start, Dur: time.Second, Open: true}},
		Instants: []explain.Instant{{Name: "cache miss", ID: id, At: start.Add(time.Millisecond)}},
	}
	r.Phases = []*explain.Phase{{Name: "overlaps", ID: id, Start: start.Add(time.Second / 2), Dur: time.Second}}
	var b bytes.Buffer
	if err := WriteChrome(&b, r); err != nil {
		t.Fatal(err)
	}
	if n, err := strictChrome(b.Bytes()); err != nil || n != 2 {
		t.Errorf("%d slices: %v", n, err)
	}
	named, kinds := map[[2]int]bool{}, map[string]string{}
	for _, e := range chromeEvents(r) {
		if e.Name == "thread_name" {
			named[[2]int{e.PID, e.TID}] = true
		}
		kinds[e.Name] = e.Phase
		if e.Phase != "M" && !named[[2]int{e.PID, e.TID}] {
			t.Errorf("%s is in a thread without a name", e.Name)
		}
	}
	if kinds["never ended"] != "X" || kinds["cache miss"] != "i" || kinds["process_name"] != "M" {
		t.Errorf("%v", kinds)
	}
}
