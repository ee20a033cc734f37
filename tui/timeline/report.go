package timeline

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/logs/chrome"
	"tcdbg/tui/theme"
)

// This file makes an index of a report: its phases, those of the run before, and Chrome traces.

// What an event stands for that is no phase of the report.
const (
	OfTrace  = -1 // a span of a Chrome trace
	OfBefore = -2 // a phase of the run before
)

// Wish is what a timeline is asked to show beside the phases of a report.
type Wish struct {
	Before *explain.Report // nil: none
	Name   string          // of the run before
	Align  bool            // files begin together, whenever they were written
}

// lane is a track in the making: a file, and a process or thread of it.
type lane struct {
	run, rank, file, thread int
	name                    string
}

// builder makes an index.
type builder struct {
	lanes  map[lane]int32
	order  []lane
	events []Event
	groups []Group
	member []member // of each lane
	suffix []int    // where in the name of each lane what follows the rank begins
}

// Of makes the index of a report. traces are those of its Chrome traces that were read.
func Of(r *explain.Report, w Wish, traces []*chrome.Tracks) *Index {
	b := &builder{lanes: map[lane]int32{}}
	b.phases(r, 0, "")
	if w.Before != nil {
		b.phases(w.Before, 1, w.Name)
	}
	groups, of := traceGroups(r, traces, len(b.groups))
	b.groups = append(b.groups, groups...)
	for i, t := range traces {
		if t != nil {
			b.trace(t, i, len(r.Traces) > 1, r.Traces[i], of)
		}
	}
	b.begin(w)
	ix := &Index{Events: b.events, Groups: b.groups}
	b.sorted(ix)
	return ix.made()
}

func (b *builder) lane(l lane) int32 {
	n, ok := b.lanes[l]
	if !ok {
		n = int32(len(b.order))
		b.lanes[l] = n
		b.order = append(b.order, l)
		b.member, b.suffix = append(b.member, noMember), append(b.suffix, 0)
	}
	return n
}

// Phases are the phases of a report by start, or where none are recorded its compiles, as far as it is
// known when they began and how long they took.
func Phases(r *explain.Report) []*explain.Phase {
	if len(r.Phases) > 0 {
		return r.Phases
	}
	var out []*explain.Phase
	for _, fr := range r.Frames {
		for _, c := range fr.Compiles {
			if c.Start.IsZero() || c.Seconds <= 0 {
				continue
			}
			out = append(out, &explain.Phase{
				Name: "compile " + explain.FrameTitle(fr), ID: c.ID, Start: c.Start, Dur: time.Duration(c.Seconds * 1e9),
				Self: time.Duration(c.Seconds * 1e9),
			})
		}
	}
	slices.SortStableFunc(out, func(a, b *explain.Phase) int { return a.Start.Compare(b.Start) })
	return out
}

func (b *builder) phases(r *explain.Report, run int, name string) {
	threads := map[int]map[int]bool{}
	phases := Phases(r)
	groups, of := groupsOf(r, phases, run, len(b.groups))
	b.groups = append(b.groups, groups...)
	for _, p := range phases {
		if threads[p.Source] == nil {
			threads[p.Source] = map[int]bool{}
		}
		threads[p.Source][p.Thread] = true
	}
	for i, p := range phases {
		l := lane{run: run, rank: p.ID.Rank, file: p.Source, thread: p.Thread}
		n, known := b.lanes[l]
		if !known {
			n = b.lane(l)
			title, thread := phaseTrack(r, p, name, len(threads)), ""
			if len(threads[p.Source]) > 1 {
				thread = fmt.Sprintf("t%d", p.Thread)
			}
			b.order[n].name, b.suffix[n] = strings.TrimPrefix(title+" "+thread, " "), len(title)
			b.order[n].name = strings.TrimSuffix(b.order[n].name, " ")
			if g, ok := of[p.ID.Rank]; ok {
				b.member[n] = member{g, int32(p.ID.Rank)}
			}
		}
		e := Event{Name: p.Name, Start: p.Start.UnixNano(), Dur: int64(p.Dur), Track: n, Ref: int32(i), Open: p.Open}
		e.Told, e.Self = true, int64(p.Self)
		e.Style = PhaseStyle(p)
		if run > 0 {
			e.Ref, e.Open = OfBefore, false
		}
		b.events = append(b.events, e)
	}
}

// phaseTrack names the track of a phase by what tells it from others.
func phaseTrack(r *explain.Report, p *explain.Phase, run string, files int) string {
	var s []string
	switch {
	case run != "":
		s = append(s, run)
	case p.ID.Rank < 0 && files < 2:
		s = append(s, r.Title)
	}
	switch {
	case p.ID.Rank >= 0:
		s = append(s, fmt.Sprintf("rank %d", p.ID.Rank))
	case files > 1 && p.Source < len(r.Sources):
		s = append(s, fileTitle(r, r.Sources[p.Source].Path))
	}
	return strings.Join(s, " ")
}

// fileTitle names a file by what tells it from the others: its folder where each has its own, else
// its name without what PyTorch's have in common.
func fileTitle(r *explain.Report, path string) string {
	dir := filepath.Dir(path)
	beside := slices.ContainsFunc(r.Sources, func(o logs.Source) bool { return o.Path != path && filepath.Dir(o.Path) == dir })
	if !beside && filepath.Base(dir) != "." && filepath.Base(dir) != "/" {
		return filepath.Base(dir)
	}
	return strings.TrimPrefix(filepath.Base(path), "dedicated_log_torch_trace_")
}

// PhaseStyle colours recompiles as recompiles, so that they show as second hills.
func PhaseStyle(p *explain.Phase) theme.Style {
	switch {
	case p.ID.CompileID.Frame >= 0 && p.ID.Compile > 0:
		return theme.Recompile
	case p.Depth%2 == 0:
		return theme.Compiled
	}
	return theme.Accent
}

// traceStyles tell the kinds of spans of a Chrome trace.
var traceStyles = map[string]theme.Style{
	"cpu_op": theme.Compiled, "user_annotation": theme.Guard, "gpu_user_annotation": theme.Guard, "kernel": theme.Recompile,
	"gpu_memcpy": theme.Eager, "gpu_memset": theme.Eager, "cuda_runtime": theme.Eager, "cuda_driver": theme.Eager,
	"python_function": theme.Accent,
}

func (b *builder) trace(t *chrome.Tracks, file int, several bool, of explain.ChromeTrace, groups map[int]int32) {
	styles := make([]theme.Style, len(t.Cats))
	for i, c := range t.Cats {
		styles[i] = traceStyles[c]
		if styles[i] == theme.Plain {
			styles[i] = []theme.Style{theme.Compiled, theme.Accent, theme.Eager}[i%3]
		}
	}
	lanes := make([]int32, len(t.Tracks))
	for i, name := range t.Tracks {
		lanes[i] = b.lane(lane{run: ofTraces, rank: of.Rank, file: file, thread: i})
		switch {
		case of.Rank >= 0:
			title := fmt.Sprintf("rank %d", of.Rank)
			name = title + " " + name
			if g, ok := groups[of.Rank]; ok {
				b.member[lanes[i]], b.suffix[lanes[i]] = member{g, int32(of.Rank)}, len(title)
			}
		case several:
			name = filepath.Base(of.File) + " " + name
		}
		b.order[lanes[i]].name = name
	}
	for i := range t.Spans {
		s := &t.Spans[i]
		b.events = append(b.events, Event{
			Name: t.Names[s.Name], Start: s.Start, Dur: s.Dur, Track: lanes[s.Track], Ref: OfTrace, Style: styles[s.Cat],
		})
	}
}

// begin has the run before begin with this one, and where that is wished each file.
func (b *builder) begin(w Wish) {
	group := func(l lane) [2]int {
		if w.Align {
			return [2]int{l.run, l.file}
		}
		return [2]int{l.run, 0}
	}
	first := map[[2]int]int64{}
	for i := range b.events {
		g := group(b.order[b.events[i].Track])
		if t, ok := first[g]; !ok || b.events[i].Start < t {
			first[g] = b.events[i].Start
		}
	}
	var origin int64
	for g, t := range first {
		if g[0] == 0 && (origin == 0 || t < origin) {
			origin = t
		}
	}
	for i := range b.events {
		l := b.order[b.events[i].Track]
		if origin != 0 && (l.run == 1 || w.Align) {
			b.events[i].Start += origin - first[group(l)]
		}
	}
}

// sorted orders the tracks: this run, the one before, traces; ranks in their order, those of a group together where its
// first one is, after the one that stands for them.
func (b *builder) sorted(ix *Index) {
	by := make([]int, len(b.order))
	for i := range by {
		by[i] = i
	}
	key := func(i int) (first, stands int) {
		m := b.member[i]
		if m.group < 0 {
			return b.order[i].rank, 0
		}
		if g := &b.groups[m.group]; int(m.rank) != g.Stands {
			return g.Ranks[0], 1
		}
		return b.groups[m.group].Ranks[0], 0
	}
	slices.SortStableFunc(by, func(i, j int) int {
		x, y := b.order[i], b.order[j]
		first, stands := key(i)
		other, beside := key(j)
		return cmp.Or(cmp.Compare(x.run, y.run), cmp.Compare(first, other), cmp.Compare(stands, beside),
			cmp.Compare(x.rank, y.rank), cmp.Compare(x.file, y.file))
	})
	to := make([]int32, len(by))
	for n, i := range by {
		to[i] = int32(n)
		ix.Tracks = append(ix.Tracks, b.order[i].name)
		ix.members, ix.suffix = append(ix.members, b.member[i]), append(ix.suffix, b.suffix[i])
	}
	for i := range b.events {
		b.events[i].Track = to[b.events[i].Track]
	}
}

// Duration is nanoseconds as people read them, up to hours.
func Duration(ns int64) string {
	d := time.Duration(ns)
	switch {
	case ns <= 0:
		return "0"
	case ns < 1e7:
		return explain.Nanos(ns)
	case d < 2*time.Minute:
		return explain.Duration(d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d m %02d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %02d m", int(d.Hours()), int(d.Minutes())%60)
}
