// Package timeline is the chart of a timeline: events in tracks and levels, an axis from which
// long idle gaps are cut, a window that zooms and moves, and the lines that are drawn of it.
// What is drawn is found by binary search, so that a frame costs the same with a million events
// as with ten.
//
// It imports explain, logs and theme, and knows no screen. Open this file, then axis.go, view.go and
// chart.go.
package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"tcdbg/tui/theme"
)

// Event is one span of time. Times are nanoseconds.
type Event struct {
	Name       string
	Start, Dur int64
	Track      int32 // index of the tracks
	Ref        int32 // what it stands for, to whom it belongs
	Style      theme.Style
	Open       bool // it still runs
	// Self is of a phase what its report says. Of others it is not Told: what those within it on its track leave.
	Told bool
	Self int64
}

// End is where an event ends; what took no time has a nanosecond, so that it can be found.
func (e *Event) End() int64 { return e.Start + max(1, e.Dur) }

// Index is the events of a timeline. It does not change. Events are in the order of their tracks,
// and within one in the order in which they begin, each before those within it.
type Index struct {
	Events []Event
	Tracks []string
	Groups []Group // of ranks that did the same
	Axis   Axis

	members []member // of each track; none: there are no ranks
	suffix  []int    // where in the name of each track what follows the rank begins
	labels  []string // of the tracks in the chart; none: their names
	parent  []int32
	past    []int32 // one beyond the last event within each
	inner   []int64 // time of the events directly within each
	level   []int32
	tracks  []levels
	rows    []place
	widest  int // cells of the longest track name
}

// levels are the events of one track by their level.
type levels [][]int32

// place is one line of a chart: a level of a track.
type place struct{ track, level int32 }

// most bounds the levels of a track and the lanes that events of one track are divided into:
// beyond, they are drawn within the last.
const (
	mostLevels = 200
	mostLanes  = 32
)

// farthest is how far from 1970 an event may be, and how long.
const farthest = 1 << 61

// slack is by how much the ends of events may miss each other: times are written in
// microseconds.
const slack = 2000

// New makes an index. It takes the events for itself.
func New(tracks []string, events []Event) *Index {
	return (&Index{Tracks: tracks, Events: events}).made()
}

// made finishes an index that has its events and tracks.
func (ix *Index) made() *Index {
	events := ix.Events
	for i := range events { // times are read from traces, and are added to below
		e := &events[i]
		e.Start = max(-farthest, min(farthest, e.Start))
		e.Dur = max(0, min(farthest, e.Dur))
	}
	byTime := func(a, b Event) int {
		return cmp.Or(cmp.Compare(a.Track, b.Track), cmp.Compare(a.Start, b.Start), cmp.Compare(b.Dur, a.Dur))
	}
	slices.SortStableFunc(events, byTime)
	if ix.divide() {
		slices.SortStableFunc(events, byTime)
	}
	ix.nest()
	ix.Axis = newAxis(ix)
	for _, t := range ix.Tracks {
		ix.widest = max(ix.widest, theme.Width(theme.Clean(t)))
	}
	for t := range ix.tracks {
		for l := range ix.tracks[t] {
			ix.rows = append(ix.rows, place{int32(t), int32(l)})
		}
	}
	return ix
}

// divide gives events that overlap without lying within each other lanes of their own, as
// tracks beside theirs. It reports whether there are any.
func (ix *Index) divide() bool {
	lanes := make([]int32, len(ix.Events))
	most := make([]int32, len(ix.Tracks))
	for from := 0; from < len(ix.Events); {
		t, to := ix.Events[from].Track, from
		for to < len(ix.Events) && ix.Events[to].Track == t {
			to++
		}
		most[t] = ix.divideTrack(from, to, lanes)
		from = to
	}
	if !slices.ContainsFunc(most, func(n int32) bool { return n > 0 }) {
		return false
	}
	var names []string
	var members []member
	var suffix []int
	first := make([]int32, len(most))
	for t, n := range most {
		first[t] = int32(len(names))
		names = append(names, ix.Tracks[t])
		for l := range n {
			names = append(names, fmt.Sprintf("%s +%d", ix.Tracks[t], l+1))
		}
		if ix.members != nil {
			members = append(members, slices.Repeat([]member{ix.members[t]}, int(n)+1)...)
			suffix = append(suffix, slices.Repeat([]int{ix.suffix[t]}, int(n)+1)...)
		}
	}
	ix.Tracks, ix.members, ix.suffix = names, members, suffix
	for i := range ix.Events {
		e := &ix.Events[i]
		e.Track = first[e.Track] + lanes[i]
	}
	return true
}

// divideTrack finds the lane of each event of one track and returns the last one.
func (ix *Index) divideTrack(from, to int, lanes []int32) (last int32) {
	open := [][]int64{nil} // ends of what is open in each lane
	for i := from; i < to; i++ {
		e := &ix.Events[i]
		for l := range open {
			o := open[l]
			for len(o) > 0 && (o[len(o)-1] <= e.Start || o[len(o)-1]-e.Start <= slack && e.End() > o[len(o)-1]+slack) {
				o = o[:len(o)-1]
			}
			open[l] = o
			fits := len(o) == 0 || e.End() <= o[len(o)-1]+slack
			if !fits && l == len(open)-1 && len(open) < mostLanes {
				open = append(open, []int64{e.End()})
				lanes[i] = int32(l + 1)
				break
			}
			if fits || l == mostLanes-1 {
				open[l] = append(o, e.End())
				lanes[i] = int32(l)
				break
			}
		}
	}
	return int32(len(open) - 1)
}

// nest finds what lies within what.
func (ix *Index) nest() {
	n := len(ix.Events)
	ix.parent, ix.past = make([]int32, n), make([]int32, n)
	ix.inner, ix.level = make([]int64, n), make([]int32, n)
	ix.tracks = make([]levels, len(ix.Tracks))
	var open []int32
	closeTo := func(keep, at int) {
		for len(open) > keep {
			ix.past[open[len(open)-1]] = int32(at)
			open = open[:len(open)-1]
		}
	}
	for i := range ix.Events {
		e := &ix.Events[i]
		if i > 0 && ix.Events[i-1].Track != e.Track {
			closeTo(0, i)
		}
		for keep := len(open); keep > 0; keep-- {
			o := &ix.Events[open[keep-1]]
			if o.End() > e.Start && !(o.End()-e.Start <= slack && e.End() > o.End()+slack) {
				break
			}
			closeTo(keep-1, i)
		}
		ix.parent[i] = -1
		if k := len(open); k > 0 {
			ix.parent[i] = open[k-1]
			ix.inner[open[k-1]] += e.Dur
		}
		l := min(len(open), mostLevels-1)
		ix.level[i] = int32(l)
		t := &ix.tracks[e.Track]
		if l == len(*t) {
			*t = append(*t, nil)
		}
		(*t)[l] = append((*t)[l], int32(i))
		open = append(open, int32(i))
	}
	closeTo(0, n)
}

// Self is the time of an event itself, without those within it.
func (ix *Index) Self(i int) int64 {
	e := &ix.Events[i]
	if e.Told {
		return max(0, min(e.Self, e.Dur))
	}
	return max(0, e.Dur-ix.inner[i])
}

// Level is how deep an event lies.
func (ix *Index) Level(i int) int { return int(ix.level[i]) }

// Parent is the event that an event lies within, -1 for none.
func (ix *Index) Parent(i int) int { return int(ix.parent[i]) }

// Next is the event n after an event on its level of its track, itself at the ends.
func (ix *Index) Next(i, n int) int {
	at := ix.tracks[ix.Events[i].Track][ix.level[i]]
	k := sort.Search(len(at), func(k int) bool { return at[k] >= int32(i) })
	return int(at[max(0, min(len(at)-1, k+n))])
}

// Lines is how many lines the whole chart has.
func (ix *Index) Lines() int { return len(ix.rows) }

// Part is the events of one name directly within another: how many, and how long they took
// with those within them.
type Part struct {
	Name  string
	Count int
	Dur   int64
	Most  int64 // the longest
}

// Callees are the events directly within an event by name, the longest first. Those of which
// none reaches brief are one row without a name, the last: nothing is missing from the sum.
func (ix *Index) Callees(i int, brief int64) []Part {
	at := map[string]int{}
	var parts []Part
	for k := int32(i) + 1; k < ix.past[i]; k = ix.past[k] {
		e := &ix.Events[k]
		n, ok := at[e.Name]
		if !ok {
			n = len(parts)
			at[e.Name] = n
			parts = append(parts, Part{Name: e.Name})
		}
		p := &parts[n]
		p.Count, p.Dur, p.Most = p.Count+1, p.Dur+e.Dur, max(p.Most, e.Dur)
	}
	slices.SortStableFunc(parts, func(a, b Part) int { return cmp.Compare(b.Dur, a.Dur) })
	var rest Part
	parts = slices.DeleteFunc(parts, func(p Part) bool {
		if p.Most < brief {
			rest.Count, rest.Dur = rest.Count+p.Count, rest.Dur+p.Dur
		}
		return p.Most < brief
	})
	if rest.Count > 0 {
		parts = append(parts, rest)
	}
	return parts
}

// Brief is how many events took some time, but less than this, and their self time.
func (ix *Index) Brief(less int64) (n int, self int64) {
	for i := range ix.Events {
		if ix.Events[i].Dur > 0 && ix.Events[i].Dur < less && !ix.Events[i].Open {
			n++
			self += ix.Self(i)
		}
	}
	return n, self
}

// Inside is how many events lie within one, at any depth.
func (ix *Index) Inside(i int) int { return int(ix.past[i]) - i - 1 }
