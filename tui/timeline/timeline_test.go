package timeline

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"tcdbg/tui/theme"
)

const second = int64(1e9)

// ev is an event; times are seconds.
func ev(name string, track int32, start, dur float64) Event {
	return Event{Name: name, Track: track, Start: int64(start*1e9) + 1, Dur: int64(dur * 1e9), Style: theme.Compiled}
}

func chartOf(ix *Index) *Chart {
	return &Chart{Index: ix, Axis: ix.Axis, Selected: -1, Duration: Duration}
}

func text(ls []theme.Line) string {
	var b strings.Builder
	for _, l := range ls {
		b.WriteString(strings.TrimRight(l.Text(), " ") + "\n")
	}
	return b.String()
}

// All levels are there, and self and total time are exact.
func TestNesting(t *testing.T) {
	var events []Event
	for d := range 12 {
		events = append(events, ev(fmt.Sprintf("level %d", d), 0, 0, 24-float64(d)))
	}
	events = append(events, ev("leaf", 0, 12.5, 0.25), ev("leaf", 0, 12.0, 0.25))
	ix := New([]string{""}, events)
	if ix.Lines() != 13 {
		t.Fatalf("%d levels", ix.Lines())
	}
	if got := ix.Self(11); got != 13*second-second/2 {
		t.Errorf("self time %d", got)
	}
	if got := ix.Callees(11, 1e6); len(got) != 1 || got[0].Count != 2 || got[0].Dur != second/2 {
		t.Errorf("%+v", got)
	}
	if ix.Next(12, 1) != 13 || ix.Next(13, 1) != 13 || ix.Next(13, -1) != 12 || ix.Parent(13) != 11 {
		t.Error("neighbours")
	}
	drawn := text(chartOf(ix).Draw(80, 99))
	for _, want := range []string{"level 0", "level 11", "█"} {
		if !strings.Contains(drawn, want) {
			t.Errorf("lacks %q:\n%s", want, drawn)
		}
	}
}

// What is under a millisecond is in the sums: of callees, and of all events.
func TestBriefEventsCount(t *testing.T) {
	events := []Event{ev("outer", 0, 0, 10), ev("long", 0, 1, 1)}
	for i := range 312 {
		events = append(events, ev(fmt.Sprintf("brief %d", i%7), 0, 3+float64(i)*0.001, 0.000_125))
	}
	ix := New([]string{""}, events)
	parts := ix.Callees(0, 1e6)
	if len(parts) != 2 || parts[1].Name != "" || parts[1].Count != 312 || parts[1].Dur != 312*125_000 {
		t.Errorf("%+v", parts)
	}
	if n, own := ix.Brief(1e6); n != 312 || own != 312*125_000 {
		t.Errorf("%d, %d", n, own)
	}
	sum := int64(0)
	for _, s := range ix.Sums(0) {
		sum += s.Self
	}
	if sum != 10*second {
		t.Errorf("self times are %d in all", sum)
	}
}

// Events within others of their name count once, and a deep stack is no more work than a flat one.
func TestSumsOfNestedEvents(t *testing.T) {
	const depth = 200_000
	events := make([]Event, 0, depth)
	for i := range int64(depth) {
		events = append(events, Event{Name: fmt.Sprintf("f%d", i%20_000), Start: i * 10_000, Dur: (2*depth - i) * 10_000})
	}
	ix := New([]string{""}, events)
	start := time.Now()
	sums := ix.Sums(0)
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("took %v", took)
	}
	for _, s := range sums {
		if s.Count != 10 || s.Total != ix.Events[s.Longest].Dur {
			t.Fatalf("%+v", s)
		}
	}
	ix = New([]string{""}, []Event{ev("f", 0, 0, 2), ev("g", 0, 0, 1), ev("f", 0, 0, 0.5), ev("f", 0, 3, 1)})
	if got := ix.Sums(0); got[0].Name != "f" || got[0].Total != 3*second {
		t.Errorf("%+v", got)
	}
}

// Five hours with three seconds of work: the gaps are cut and marked, and what is drawn is the work.
func TestGapsAreCut(t *testing.T) {
	const hour = 3600
	ix := New([]string{""}, []Event{ev("first", 0, 0, 1), ev("second", 0, 2*hour, 1), ev("third", 0, 5*hour, 1)})
	if n, length := ix.Axis.Cut(); n != 2 || length != (5*hour-2)*second {
		t.Errorf("%d gaps of %d", n, length)
	}
	c := chartOf(ix)
	drawn := c.Draw(78, 1)[0].Text()
	for _, want := range []string{"first", "second", "third", gapCell} {
		if !strings.Contains(drawn, want) {
			t.Errorf("lacks %q: %s", want, drawn)
		}
	}
	if ticks := c.Ticks(78).Text(); !strings.Contains(ticks, "╱1 h 59 m idle") || !strings.Contains(ticks, "╱2 h 59 m idle") {
		t.Error(ticks)
	}
	for _, e := range ix.Events {
		if back := ix.Axis.Moment(ix.Axis.On(e.Start)); back != e.Start {
			t.Errorf("%d became %d", e.Start, back)
		}
	}
	c.Axis = ix.Axis.Whole(true)
	if n, _ := c.Axis.Cut(); n != 0 || strings.Contains(c.Draw(78, 1)[0].Text(), gapCell) {
		t.Error("gaps are still cut")
	}
}

// Threads that overlap in one track are drawn below each other; nothing is lost.
func TestOverlaps(t *testing.T) {
	ix := New([]string{"p", "q"}, []Event{ev("a", 0, 0, 3), ev("b", 0, 2, 3), ev("c", 0, 2.5, 0.2), ev("d", 1, 0, 1)})
	if got := strings.Join(ix.Tracks, " "); got != "p p +1 q" {
		t.Errorf("tracks %s", got)
	}
	for i, e := range ix.Events {
		if e.Name == "d" && ix.Tracks[e.Track] != "q" || e.Name == "b" && ix.Tracks[e.Track] != "p +1" {
			t.Errorf("event %d %s is on %s", i, e.Name, ix.Tracks[e.Track])
		}
	}
}

// Zooming keeps its place, does not leave the axis, and ends at all of it.
func TestZoom(t *testing.T) {
	ix := New([]string{""}, []Event{ev("a", 0, 0, 100)})
	var v View
	at := 30 * second
	for range 5 {
		v.Zoom(ix.Axis, 0.5, at)
	}
	from, to := v.Window(ix.Axis)
	if from > at || to < at || to-from < 3*second || to-from > 4*second {
		t.Errorf("%d to %d", from, to)
	}
	for range 50 {
		v.Pan(ix.Axis, 0.5)
	}
	if _, to := v.Window(ix.Axis); to != ix.Axis.Len() {
		t.Errorf("panned to %d of %d", to, ix.Axis.Len())
	}
	for range 9 {
		v.Zoom(ix.Axis, 2, at)
	}
	if v.Zoomed(ix.Axis) {
		t.Error("not back at all")
	}
	for range 99 {
		v.Zoom(ix.Axis, 0.5, at)
	}
	if from, to := v.Window(ix.Axis); to-from != narrowest {
		t.Errorf("%d shown", to-from)
	}
}

// What is drawn under a cell is what a click there finds.
func TestEventAt(t *testing.T) {
	ix := random(3000)
	c := chartOf(ix)
	for range 40 {
		c.View.Zoom(c.Axis, 0.8, c.Axis.Len()/3)
		lines := c.Draw(100, 8)
		for y, l := range lines {
			x := 0
			for _, s := range l {
				if n := theme.Width(s.Text); n > 4 && s.Style&theme.Reverse != 0 {
					i := c.EventAt(x+n/2, y, 100)
					if i < 0 || !strings.HasPrefix(c.Events[i].Name, strings.TrimRight(s.Text, " …")) {
						t.Fatalf("%d,%d: %q is event %d", x, y, s.Text, i)
					}
				}
				x += theme.Width(s.Text)
			}
		}
	}
}

// Times of no clock are drawn, too.
func TestImpossibleTimes(t *testing.T) {
	ix := New([]string{""}, []Event{
		{Name: "a", Start: math.MinInt64, Dur: math.MaxInt64},
		{Name: "b", Start: math.MaxInt64, Dur: math.MaxInt64},
		{Name: "c", Start: 5, Dur: -7},
		{Name: "d", Start: 5},
	})
	c := chartOf(ix)
	for range 200 {
		for _, l := range c.Draw(60, 5) {
			if l.Width() != 60 {
				t.Fatalf("%q", l.Text())
			}
		}
		c.Ticks(60)
		c.EventAt(30, 0, 60)
		c.View.Zoom(c.Axis, 0.5, c.Axis.Len()/3)
		c.View.Pan(c.Axis, 0.3)
	}
	none := chartOf(New(nil, nil))
	none.Draw(60, 5)
	none.Ticks(60)
}

// Lines have the width that they are asked for, at every zoom.
func TestWidths(t *testing.T) {
	ix := random(2000)
	for w := 10; w < 200; w += 17 {
		c := chartOf(ix)
		for range 30 {
			for _, l := range c.Draw(w, 40) {
				if l.Width() != w {
					t.Fatalf("%d cells of %d: %q", l.Width(), w, l.Text())
				}
			}
			if l := c.Ticks(w); l.Width() > w {
				t.Fatalf("%d cells of %d: %q", l.Width(), w, l.Text())
			}
			c.View.Zoom(c.Axis, 0.6, c.Axis.Len()/2)
		}
	}
}

// random is a timeline of n events in four tracks, twelve levels deep, with gaps.
func random(n int) *Index {
	r := rand.New(rand.NewPCG(1, 2))
	var events []Event
	var grow func(track int32, from, dur int64, level int)
	grow = func(track int32, from, dur int64, level int) {
		name := fmt.Sprintf("phase %d", r.IntN(50))
		events = append(events, Event{Name: name, Start: from, Dur: dur, Track: track, Style: theme.Compiled})
		if level == 12 || dur < 10 {
			return
		}
		kids := 1 + r.IntN(3)
		for k := range kids {
			if len(events) < n {
				grow(track, from+dur/int64(kids)*int64(k), dur/int64(kids)*9/10, level+1)
			}
		}
	}
	for at := int64(1e15); len(events) < n; at += 2 * second {
		if r.IntN(100) == 0 {
			at += 3600 * second
		}
		grow(int32(r.IntN(4)), at, second+r.Int64N(second), 0)
	}
	return New([]string{"a", "b", "c", "d"}, events)
}

// BenchmarkFrame is a chart of a million events at every zoom.
func BenchmarkFrame(b *testing.B) {
	ix := random(1_000_000)
	for _, zoom := range []int{0, 6, 12, 24} {
		b.Run(fmt.Sprint(zoom), func(b *testing.B) {
			c := chartOf(ix)
			for range zoom {
				c.View.Zoom(c.Axis, 0.5, c.Axis.Len()/3)
			}
			for b.Loop() {
				c.Draw(250, 60)
				c.Ticks(250)
			}
		})
	}
}

// BenchmarkIndex is what a million events take before they are shown.
func BenchmarkIndex(b *testing.B) {
	ix := random(1_000_000)
	for b.Loop() {
		New([]string{"a", "b", "c", "d"}, append([]Event(nil), ix.Events...))
	}
}
