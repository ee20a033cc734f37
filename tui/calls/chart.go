// Package calls draws the tracks of compiled functions: a line of cells for each, one moment
// above the other, so that one column is one time in all of them.
//
// It imports explain, logs/calls and theme, and knows no screen. Open this file.
package calls

import (
	"cmp"
	"slices"

	"tcdbg/explain"
	"tcdbg/logs/calls"
	"tcdbg/tui/theme"
)

// Chart is the runs of all functions in the order in which they began. It does not change.
type Chart struct {
	tracks []*explain.CallTrack
	when   [][]int64 // of each track's runs: a moment, also where none was recorded
	column [][]int   // of each track's runs: the place in the order of all
	total  int
	order  []Place // of events, in order
}

// Place is one run of one track.
type Place struct{ Track, Run int }

// New orders the runs of a report.
func New(c *explain.Calls) *Chart {
	ch := &Chart{tracks: c.Tracks}
	type run struct {
		Place
		when int64
	}
	var all []run
	for i, t := range c.Tracks {
		whens := make([]int64, len(t.Runs))
		last := int64(0)
		for k := range t.Runs {
			if w := t.Runs[k].Start; w > last {
				last = w
			} else {
				last++ // not recorded, or within the call before: after that one
			}
			whens[k] = last
			all = append(all, run{Place{i, k}, last})
		}
		ch.when = append(ch.when, whens)
		ch.column = append(ch.column, make([]int, len(t.Runs)))
	}
	slices.SortStableFunc(all, func(a, b run) int { return cmp.Compare(a.when, b.when) })
	for n, r := range all {
		ch.column[r.Track][r.Run] = n
		if c.Tracks[r.Track].Runs[r.Run].Event() {
			ch.order = append(ch.order, r.Place)
		}
	}
	ch.total = len(all)
	return ch
}

// When is the moment of a run.
func (ch *Chart) When(p Place) int64 { return ch.when[p.Track][p.Run] }

// At is the run of a track that was the last one at a moment, its first one where none was;
// -1 for a track without runs.
func (ch *Chart) At(track int, moment int64) int {
	n, found := slices.BinarySearch(ch.when[track], moment)
	switch {
	case found:
		return n
	case len(ch.when[track]) == 0:
		return -1
	}
	return max(0, n-1)
}

// Event is the next compile, error or eager call after a moment, of any function; back: the
// one before. It reports false where there is none.
func (ch *Chart) Event(moment int64, back bool) (Place, bool) {
	n, _ := slices.BinarySearchFunc(ch.order, moment, func(p Place, m int64) int { return cmp.Compare(ch.When(p), m) })
	if back {
		n--
	} else {
		for n < len(ch.order) && ch.When(ch.order[n]) <= moment {
			n++
		}
	}
	if n < 0 || n >= len(ch.order) {
		return Place{}, false
	}
	return ch.order[n], true
}

// rank says which of several runs in one cell is drawn: the higher one.
var rank = map[rune]int{'!': 7, 'C': 6, '~': 5, 'e': 4, '+': 3, 'b': 2}

// style is the colour of a mark.
func style(mark rune) theme.Style {
	switch mark {
	case '!':
		return theme.Red | theme.Bold
	case 'C':
		return theme.Recompile | theme.Bold
	case 'e':
		return theme.Eager
	case 'b':
		return theme.Break
	case '~':
		return theme.Faint
	}
	return theme.Compiled
}

// Draw draws a track in w cells. The run at, -1 for none, is marked; where a cell has
// several runs, what is rarest shows.
func (ch *Chart) Draw(track, w, at int) theme.Line {
	if w <= 0 {
		return nil
	}
	cells := make([]rune, min(w, ch.total))
	for k := range ch.tracks[track].Runs {
		i := ch.cell(track, k, w)
		mark := ch.tracks[track].Mark(&ch.tracks[track].Runs[k])
		if cells[i] == 0 || rank[mark] > rank[cells[i]] {
			cells[i] = mark
		}
	}
	cursor := -1
	if at >= 0 {
		cursor = ch.cell(track, at, w)
		cells[cursor] = ch.tracks[track].Mark(&ch.tracks[track].Runs[at])
	}
	var l theme.Line
	for i, c := range cells {
		s := theme.Span{Text: "·", Style: theme.Faint}
		if c != 0 {
			s = theme.Span{Text: string(c), Style: style(c)}
		}
		if i == cursor {
			s.Style |= theme.Reverse
		}
		if n := len(l); n > 0 && l[n-1].Style == s.Style {
			l[n-1].Text += s.Text
			continue
		}
		l = append(l, s)
	}
	return l
}

// cell is the cell of a run where there are w.
func (ch *Chart) cell(track, run, w int) int {
	n := ch.column[track][run]
	if ch.total > w {
		n = n * w / ch.total
	}
	return n
}

// Legend says what the marks mean.
func Legend() theme.Line {
	var l theme.Line
	for _, m := range []struct {
		mark rune
		text string
	}{
		{'0', "…9 hit of that entry "},
		{'b', " hit, then break "},
		{'C', " compile "},
		{'e', " eager "},
		{'!', " error "},
		{'+', " mixed"},
	} {
		l = append(l, theme.Span{Text: " " + string(m.mark), Style: style(m.mark)}, theme.Span{Text: m.text, Style: theme.Faint})
	}
	return l
}

// Outcome is what became of a run's calls, in words, with the entry's id.
func Outcome(t *explain.CallTrack, r *calls.Run, id func(explain.ID) string) string {
	entry := "an entry"
	if c := t.Compile(r); c != nil {
		entry = "entry " + id(c.ID)
	}
	switch r.Outcome {
	case calls.Hit:
		return "hit of " + entry
	case calls.Compiled:
		if r.Entry == 0 {
			return "first compile: " + entry
		}
		return "no entry fitted: compiled " + entry
	case calls.Eager:
		return "ran eagerly: " + explain.EagerWhy(r.Why)
	case calls.Raised:
		if r.Entry >= 0 {
			return "an error in the compiled code of " + entry
		}
		return "an error, without compiled code"
	case calls.Lost:
		return "calls that are not kept one by one"
	}
	return "calls of several outcomes, merged"
}

// Runs are those of a track.
func (ch *Chart) Runs(track int) []calls.Run { return ch.tracks[track].Runs }
