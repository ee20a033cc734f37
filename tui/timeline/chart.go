package timeline

import (
	"sort"
	"strings"

	"tcdbg/tui/theme"
)

// This file draws a window.

// gapCell marks time that is cut out.
const gapCell = "╱"

// shades are a cell by how much of it something takes.
var shades = []string{"░", "▒", "▓", "█"}

// Chart draws lines of an index.
type Chart struct {
	*Index
	View     View
	Axis     Axis // the index's, or one that reaches to now
	Selected int  // event, -1: none
	Duration func(ns int64) string
}

// gutter is the width of the names of tracks; 0: there is one track.
func (c *Chart) gutter(w int) int {
	if len(c.Tracks) < 2 {
		return 0
	}
	return min(c.widest, room(w)) + 1
}

// room is how many cells of w the names of tracks may have.
func room(w int) int { return max(6, w/6) }

// label is what a track is called at its side.
func (c *Chart) label(track int32) string {
	if c.labels != nil {
		return theme.Clean(c.labels[track])
	}
	return theme.Clean(c.Tracks[track])
}

// LineOf is the line of the selected event, -1 for none.
func (c *Chart) LineOf() int {
	if c.Selected < 0 || c.Selected >= len(c.Events) {
		return -1
	}
	want := place{c.Events[c.Selected].Track, c.level[c.Selected]}
	i := sort.Search(len(c.rows), func(i int) bool {
		r := c.rows[i]
		return r.track > want.track || r.track == want.track && r.level >= want.level
	})
	if i == len(c.rows) || c.rows[i] != want {
		return -1
	}
	return i
}

// Scroll moves the lines so that the selected event is among the h that are shown; in a job with what else its track has.
func (c *Chart) Scroll(h int) {
	line := c.LineOf()
	if last := line; line >= 0 && len(c.Groups) > 0 {
		for last+1 < len(c.rows) && c.rows[last+1].track == c.rows[line].track {
			last++
		}
		c.View.Line(last, len(c.rows), h)
	}
	c.View.Line(line, len(c.rows), h)
}

// Draw draws h lines of levels.
func (c *Chart) Draw(w, h int) []theme.Line {
	g := c.gutter(w)
	gaps := c.gapCells(w - g)
	var out []theme.Line
	for i := c.View.Top; i < len(c.rows) && len(out) < h; i++ {
		r := c.rows[i]
		var l theme.Line
		if g > 0 {
			name := ""
			if len(out) == 0 || c.rows[i-1].track != r.track {
				name = c.label(r.track)
			}
			l = append(l, theme.Span{Text: theme.Fit(cutLeft(name, g-1), g), Style: theme.Faint})
		}
		out = append(out, append(l, c.drawLevel(c.tracks[r.track][r.level], w-g, gaps)...))
	}
	return out
}

// cutLeft keeps the end of a name, which tells threads apart.
func cutLeft(name string, w int) string {
	if theme.Width(name) <= w {
		return name
	}
	return theme.CutLeft(name, w)
}

// EventAt is the event under a cell of what Draw draws, or the first that begins after it on
// the line; -1 for none.
func (c *Chart) EventAt(x, y, w int) int {
	g := c.gutter(w)
	i := c.View.Top + y
	if i < 0 || i >= len(c.rows) || x < g || w <= g {
		return -1
	}
	ev := c.tracks[c.rows[i].track][c.rows[i].level]
	from := c.Axis.Moment(c.place(x-g, w-g))
	to := c.Axis.Moment(c.place(x-g+1, w-g))
	k := c.firstAfter(ev, from)
	if k == len(ev) || c.Events[ev[k]].Start >= to && c.column(c.Events[ev[k]].Start, w-g) > x-g {
		return -1
	}
	best := ev[k]
	for n := 0; k < len(ev) && n < 64 && c.Events[ev[k]].Start < to; k, n = k+1, n+1 {
		if c.Events[ev[k]].Dur > c.Events[best].Dur {
			best = ev[k]
		}
	}
	return int(best)
}

// PlaceAt is the place of the axis under a column of what Draw draws.
func (c *Chart) PlaceAt(x, w int) int64 {
	g := c.gutter(w)
	return c.place(max(0, x-g), w-g)
}

// place is where a cell of w begins on the axis.
func (c *Chart) place(cell, w int) int64 {
	from, to := c.View.Window(c.Axis)
	return from + int64(float64(to-from)*float64(cell)/float64(max(1, w)))
}

// column is the cell of a moment, before 0 or beyond w where it is not shown.
func (c *Chart) column(t int64, w int) int { return int(c.cell(t, w)) }

// cell is column with the part of the cell.
func (c *Chart) cell(t int64, w int) float64 {
	from, to := c.View.Window(c.Axis)
	x := float64(c.Axis.On(t)-from) / float64(max(1, to-from)) * float64(w)
	return max(-1, min(float64(w)+1, x))
}

// firstAfter is the first of a level's events that ends after a moment.
func (c *Chart) firstAfter(ev []int32, t int64) int {
	return sort.Search(len(ev), func(i int) bool { return c.end(ev[i]) > t })
}

// end is where an event is drawn to.
func (c *Chart) end(i int32) int64 {
	if e := &c.Events[i]; e.Open {
		_, to := c.Axis.Span()
		return max(to, e.End())
	}
	return c.Events[i].End()
}

// drawLevel draws one level: cell by cell where events are short, at once where they are long.
func (c *Chart) drawLevel(ev []int32, w int, gaps []bool) theme.Line {
	var l theme.Line
	next := 0 // what was drawn at its length is not drawn again for what is left of its last cell
	for x := 0; x < w; {
		from := c.Axis.Moment(c.place(x, w))
		k := max(next, c.firstAfter(ev, from))
		start := w
		if k < len(ev) {
			start = max(x, min(w, c.column(c.Events[ev[k]].Start, w)))
		}
		if start > x {
			l = append(l, blank(x, start, gaps)...)
			x = start
			continue
		}
		i := ev[k]
		n := min(w-x, max(1, int(c.cell(c.end(i), w)+0.5)-x))
		l = append(l, c.cells(ev, k, x, n, w))
		if n > 1 {
			next = k + 1
		}
		x += n
	}
	return l
}

// cells draws the event k of a level on n cells from x on.
func (c *Chart) cells(ev []int32, k, x, n, w int) theme.Span {
	e := &c.Events[ev[k]]
	selected := c.Selected == int(ev[k])
	style := e.Style
	if n == 1 {
		to := c.Axis.Moment(c.place(x+1, w))
		from := c.Axis.Moment(c.place(x, w))
		last := sort.Search(len(ev), func(i int) bool { return c.Events[ev[i]].Start >= to })
		selected = selected || c.Selected >= 0 && c.within(ev[k:max(k+1, last)])
		if selected {
			return theme.Span{Text: theme.GlyphCursor, Style: theme.Yellow | theme.Bold}
		}
		return theme.Span{Text: shades[c.shade(ev[k:max(k+1, last)], from, to)], Style: style}
	}
	if selected {
		return theme.Span{Text: theme.Fit(theme.GlyphCursor+theme.Clean(e.Name), n), Style: theme.Yellow | theme.Bold | theme.Reverse}
	}
	if n < 4 {
		return theme.Span{Text: strings.Repeat("█", n), Style: style}
	}
	return theme.Span{Text: theme.Fit(theme.Clean(e.Name), n), Style: style | theme.Reverse}
}

// within says whether the selected event is among some of a level.
func (c *Chart) within(ev []int32) bool {
	i := sort.Search(len(ev), func(i int) bool { return ev[i] >= int32(c.Selected) })
	return i < len(ev) && ev[i] == int32(c.Selected)
}

// shadeLooks is how many events of one cell are looked at.
const shadeLooks = 16

// shade is how much of a cell its events take, by some of them where they are many.
func (c *Chart) shade(ev []int32, from, to int64) int {
	step := max(1, len(ev)/shadeLooks)
	sum, n := int64(0), 0
	for i := 0; i < len(ev); i += step {
		e := &c.Events[ev[i]]
		sum += min(to, e.End()) - max(from, e.Start)
		n++
	}
	share := float64(sum) / float64(max(1, n)) * float64(len(ev)) / float64(max(1, to-from))
	return max(0, min(len(shades)-1, int(share*float64(len(shades)))))
}

// gapCells tells the cells that are within a gap.
func (c *Chart) gapCells(w int) []bool {
	out := make([]bool, max(0, w))
	from, to := c.View.Window(c.Axis)
	segs := c.Axis.segs
	for i := sort.Search(len(segs), func(i int) bool { return segs[i].at+segs[i].len > from }); i < len(segs) && segs[i].at < to; i++ {
		if !segs[i].gap {
			continue
		}
		a, b := c.column(segs[i].from, w), c.column(segs[i].to, w)
		for x := max(0, a); x < min(w, max(b, a+1)); x++ {
			out[x] = true
		}
	}
	return out
}

// blank is cells without events.
func blank(from, to int, gaps []bool) theme.Line {
	var l theme.Line
	for x := from; x < to; {
		n := 1
		for x+n < to && gaps[x+n] == gaps[x] {
			n++
		}
		text := theme.Spaces(n)
		if gaps[x] {
			text = strings.Repeat(gapCell, n)
		}
		l = append(l, theme.Span{Text: text, Style: theme.Faint})
		x += n
	}
	return l
}

// Ticks is the line of times below the chart: since the first moment, and how long the gaps are.
func (c *Chart) Ticks(w int) theme.Line {
	const step = 20
	g := c.gutter(w)
	w -= g
	text := make([]string, 0, 16)
	used := 0
	put := func(x int, s string) {
		if n := theme.Width(s); x >= used && x+n <= w {
			text = append(text, theme.Spaces(x-used)+s)
			used = x + n + 1
			text = append(text, " ")
		}
	}
	begin, _ := c.Axis.Span()
	gaps := c.gapNotes(w)
	for x := 0; x < w; {
		next := (x/step + 1) * step
		mark := "└" + c.Duration(c.Axis.Moment(c.place(x, w))-begin)
		if len(gaps) > 0 && gaps[0].x < x+theme.Width(mark)+1 {
			put(gaps[0].x, gaps[0].text)
			gaps = gaps[1:]
			x = max(next, used)
			continue
		}
		put(x, mark)
		if len(gaps) > 0 && gaps[0].x < next {
			put(gaps[0].x, gaps[0].text)
			gaps = gaps[1:]
		}
		x = next
	}
	return theme.Line{{Text: theme.Spaces(g) + strings.TrimRight(strings.Join(text, ""), " "), Style: theme.Faint}}
}

type gapNote struct {
	x    int
	text string
}

// mostNotes bounds the gaps whose length is written.
const mostNotes = 64

func (c *Chart) gapNotes(w int) []gapNote {
	var out []gapNote
	from, to := c.View.Window(c.Axis)
	segs := c.Axis.segs
	for i := sort.Search(len(segs), func(i int) bool { return segs[i].at+segs[i].len > from }); i < len(segs) && segs[i].at < to; i++ {
		if segs[i].gap && len(out) < mostNotes {
			out = append(out, gapNote{max(0, c.column(segs[i].from, w)), gapCell + c.Duration(segs[i].to-segs[i].from) + " idle"})
		}
	}
	return out
}
