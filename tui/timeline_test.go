package tui

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/tui/keys"
)

// gapFeed is a run of five hours: three compiles, twelve levels deep, and many brief phases.
func gapFeed() *fakeFeed {
	t0 := time.UnixMilli(1_800_000_000_000)
	r := &explain.Report{Title: "train.py"}
	sums := map[string]*explain.PhaseSum{}
	add := func(id explain.ID, name string, depth int, from, dur time.Duration) {
		r.Phases = append(r.Phases, &explain.Phase{Name: name, ID: id, Start: t0.Add(from), Dur: dur, Depth: depth})
		s := sums[name]
		if s == nil {
			s = &explain.PhaseSum{Name: name}
			sums[name] = s
		}
		s.Count++
		s.Seconds += dur.Seconds()
	}
	for k, at := range []time.Duration{0, 2 * time.Hour, 5 * time.Hour} {
		id := explain.ID{Rank: -1, CompileID: logs.CompileID{Frame: k}}
		for d := range 12 {
			add(id, fmt.Sprintf("phase %d", d), d, at+time.Duration(d)*time.Millisecond, time.Second-time.Duration(2*d)*time.Millisecond)
		}
		for i := range 104 {
			add(id, "brief", 12, at+20*time.Millisecond+time.Duration(i)*time.Millisecond, 100*time.Microsecond)
		}
		fr := &explain.Frame{ID: id, Name: fmt.Sprintf("layer%d", k), Status: explain.Compiled}
		fr.Compiles = []*explain.Compile{{ID: id, Frame: fr, Seconds: 1, Status: explain.Compiled}}
		r.Frames = append(r.Frames, fr)
	}
	selfTimes(r.Phases)
	for i := range 12 {
		r.PhaseSums = append(r.PhaseSums, *sums[fmt.Sprintf("phase %d", i)])
	}
	r.PhaseSums = append(r.PhaseSums, *sums["brief"])
	r.Totals.Compiles, r.Totals.CompileSeconds = 3, 3
	return &fakeFeed{report: r, run: Run{Title: "train.py"}}
}

// All levels, gaps that are cut, what is brief, and time by function and cause are on the screen.
func TestTimelineOfFiveHours(t *testing.T) {
	d := newDriver(t, gapFeed(), Options{}, 160, 50)
	d.script(`
		keys 9
		expect the chart spans 5 h 00 m, 4 h 59 m idle in 2 gaps cut out
		expect 312 under 1 ms, 31 ms in all
		expect phase 11
		expect 1 h 59 m idle
		expect COMPILE TIME BY FUNCTION
		expect layer2
		expect functions for the first time
	`)
	d.script("keys / \ntype phase 11\nkeys enter n")
	d.script(`
		expect and 104 under 1 ms, 10 ms in all
		expect WITHIN IT
	`)
}

// Keys zoom, move and come back; with all in view the key of Output opens Output.
func TestTimelineKeys(t *testing.T) {
	d := newDriver(t, gapFeed(), Options{}, 160, 50)
	d.script(`
		keys 9 + +
		expect window
		keys right left - -
		refute window
		keys Z
		expect window
		keys Z
		refute window
		keys z
		expect z folds ranks that did the same; Z zooms to the span
		keys i
		expect idle gaps are as long as they are
		refute cut out
		keys i u
		expect spans under 1 ms are hidden
		refute brief              1
		keys -
		screen Output
	`)
}

// The wheel zooms where the pointer is, dragging moves the window, and a click selects what is there.
func TestTimelineMouse(t *testing.T) {
	d := newDriver(t, gapFeed(), Options{}, 160, 50)
	d.script("keys 9")
	scr := d.m.screens[keys.Timeline].(*timelineScreen)
	at := func(b tea.MouseButton, a tea.MouseAction, x, y int) {
		d.send(tea.MouseMsg{Button: b, Action: a, X: x, Y: y})
	}
	for range 6 {
		at(tea.MouseButtonWheelUp, tea.MouseActionPress, 80, 6)
	}
	from, to := scr.view.Window(scr.head().ix.Axis)
	if !scr.view.Zoomed(scr.head().ix.Axis) || from == 0 {
		t.Fatalf("the wheel shows %d to %d", from, to)
	}
	at(tea.MouseButtonLeft, tea.MouseActionPress, 80, 6)
	r, ok := scr.selected().(*spanRow)
	if !ok || r.event().Name != "phase 2" {
		t.Errorf("a click on the third level selects %v", scr.selected())
	}
	at(tea.MouseButtonLeft, tea.MouseActionMotion, 100, 6)
	if moved, _ := scr.view.Window(scr.head().ix.Axis); moved >= from {
		t.Errorf("dragged right, the window went from %d to %d", from, moved)
	}
	at(tea.MouseButtonLeft, tea.MouseActionRelease, 100, 6)
	at(tea.MouseButtonWheelDown, tea.MouseActionPress, 10, 40)
	if scr.list.Top() == 0 {
		t.Error("the wheel below the chart does not scroll the list")
	}
}

// The run before stands below this one, and begins with it.
func TestTimelineOfTwoRuns(t *testing.T) {
	f := gapFeed()
	f.before = gapFeed().report
	for _, p := range f.before.Phases {
		p.Start = p.Start.Add(-48 * time.Hour)
	}
	d := newDriver(t, f, Options{}, 160, 50)
	d.script("keys 9 d\nexpect spans 5 h 00 m")
	ix := d.m.screens[keys.Timeline].(*timelineScreen).head().ix
	if len(ix.Tracks) != 2 || ix.Events[0].Start != ix.Events[len(ix.Events)/2].Start {
		t.Errorf("tracks %q", ix.Tracks)
	}
	d.script("keys d")
	if ix := d.m.screens[keys.Timeline].(*timelineScreen).head().ix; len(ix.Tracks) != 1 {
		t.Errorf("tracks %q", ix.Tracks)
	}
}

// A Chrome trace that any program wrote has its threads as tracks, and opens here.
func TestTimelineOfAChromeTrace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "web.json")
	text := `[{"name":"process_name","ph":"M","pid":7,"args":{"name":"web\u001b[31m server"}},
		{"name":"request","ph":"X","pid":7,"tid":1,"ts":1000,"dur":9000},{"name":"query","ph":"X","pid":7,"tid":1,"ts":2000,"dur":3000},
		{"name":"gzip","ph":"B","pid":7,"tid":2,"ts":3000},{"ph":"E","pid":7,"tid":2,"ts":4000.5}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f := &fakeFeed{report: &explain.Report{Traces: []explain.ChromeTrace{{Rank: -1, File: path}}}, run: Run{Title: "web.json"}}
	d := newDriver(t, f, Options{}, 120, 40)
	d.script(`
		screen Timeline
		expect 3 spans in 2 tracks
		expect TIME BY SPAN
		expect request
		expect gzip
	`)
	if strings.Contains(d.frame(), "\x1b[31m server") {
		t.Error("control characters of a name are written")
	}
}

// What the chart does not show is said: events of a trace that are no spans, phases that were not kept.
func TestTimelineSaysWhatIsMissing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kinds.json")
	text := `[{"name":"request","ph":"X","pid":7,"tid":1,"ts":1000,"dur":9000}`
	for _, ph := range strings.Split("C C s t f b n e S T p F N", " ") {
		text += `,{"ph":"` + ph + `","name":"n","id":1,"pid":7,"tid":1,"ts":3000}`
	}
	if err := os.WriteFile(path, []byte(text+"]"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := &explain.Report{Traces: []explain.ChromeTrace{{Rank: -1, File: path}}}
	d := newDriver(t, &fakeFeed{report: r, run: Run{Title: "kinds.json"}}, Options{}, 80, 24)
	d.script(`
		screen Timeline
		expect not drawn: 2 counters, 3 flow events, 7 async events, 1 other event
	`)
	if err := os.WriteFile(path, []byte(strings.Replace(text, `"ph":"X"`, `"ph":"C"`, 1)+"]"), 0o600); err != nil {
		t.Fatal(err)
	}
	d = newDriver(t, &fakeFeed{report: &explain.Report{Traces: r.Traces}, run: Run{Title: "kinds.json"}}, Options{}, 80, 24)
	d.script(`
		screen Timeline
		expect No span is recorded.
		expect not drawn: 3 counters, 3 flow events, 7 async events, 1 other event
		refute text logs have none
	`)
	f := gapFeed()
	f.report.PhasesLeftOut = 1204
	d = newDriver(t, f, Options{}, 80, 24)
	d.script(`
		keys 9
		screen Timeline
		expect 1204 phases are not kept
	`)
}

// The list, the line below the chart, the detail and the sums show one self time: that of the report, also where phases of
// a thread overlap.
func TestTimelineShowsOneSelfTime(t *testing.T) {
	t0 := time.UnixMilli(1_800_000_000_000)
	id := explain.ID{Rank: -1}
	r := &explain.Report{Title: "train.py", Phases: []*explain.Phase{
		{Name: "wait", ID: id, Start: t0, Dur: 10 * time.Second, Self: 3 * time.Second},
		{Name: "inner", ID: id, Start: t0.Add(time.Second), Dur: 2 * time.Second, Self: 2 * time.Second, Depth: 1},
		{Name: "compile_file", ID: id, Start: t0.Add(5 * time.Second), Dur: 10 * time.Second, Self: 10 * time.Second, Depth: 1},
	}}
	for _, p := range r.Phases {
		r.PhaseSums = append(r.PhaseSums, explain.PhaseSum{Name: p.Name, Count: 1, Seconds: p.Dur.Seconds(), Self: p.Self.Seconds()})
	}
	d := newDriver(t, &fakeFeed{report: r, run: Run{Title: "train.py"}}, Options{}, 160, 50)
	d.script(`
		keys 9
		expect 3.00 s   10.0 s      1
		expect self        3.00 s
		keys / 
		type wait
		keys enter n
		expect wait  10.00 s, self 3.00 s · 1 span within it
		expect self        3.00 s
		expect Of the total 5.00 s are of phases that began later
		expect total      self
		refute of its own
	`)
}

// BenchmarkTimelineKeys is a key and the frame, with a million phases.
func BenchmarkTimelineKeys(b *testing.B) {
	f := gapFeed()
	r := f.report
	for i := range 1_000_000 {
		r.Phases = append(r.Phases, &explain.Phase{
			Name: fmt.Sprintf("p%d", i%97), ID: r.Phases[0].ID, Dur: 900_000,
			Start: r.Phases[0].Start.Add(time.Hour + time.Duration(i)*time.Millisecond),
		})
	}
	d := newDriver(&testing.T{}, f, Options{Colour: true}, 250, 80)
	d.send(keyMsg("9"))
	d.frame()
	for _, k := range []string{"j", "+", "-", "left", "G", "]", "Z"} {
		b.Run(k, func(b *testing.B) {
			for b.Loop() {
				d.m.Update(keyMsg(k))
				_ = d.m.View()
			}
		})
	}
}
