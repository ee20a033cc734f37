package tui

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"tcdbg/tui/keys"
	"tcdbg/tui/layout"
	"tcdbg/tui/theme"
)

// This file draws the frame: header, tabs, panes, footer. There is no other
// chrome.

// View draws the screen.
func (m *Model) View() string {
	if m.sc.quit || m.columns < 1 || m.sc.h < 1 {
		return ""
	}
	lines := make([]theme.Line, m.sc.h)
	f := m.arrange()
	put := func(r layout.Rect, ls ...theme.Line) {
		for i, l := range ls {
			if i < r.H && r.Y+i < m.sc.h {
				lines[r.Y+i] = l
			}
		}
	}
	put(f.Header, m.sc.header(m.sc.w))
	put(f.Tabs, m.tabs(m.sc.w))
	put(f.Rule, rule(m.sc.w, "", ""))
	switch columns := m.columnsShown(); {
	case m.sc.over != nil:
		m.drawOverlay(f, put)
	case len(columns) > 1:
		m.drawColumns(columns, lines)
	default:
		m.drawBody(m.shown(), f, put)
	}
	put(f.Footer, m.footer(m.sc.w))
	var b strings.Builder
	for i, l := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(m.th.Line(l.Fit(m.columns)))
	}
	return b.String()
}

// drawBody draws lead, list and detail of a screen.
func (m *Model) drawBody(s screen, f layout.Frame, put func(layout.Rect, ...theme.Line)) {
	sc, p := &m.sc, s.state()
	if f.Lead.H > 0 {
		put(f.Lead, s.lead(sc, sc.w)...)
	}
	if p.Len() == 0 {
		put(f.List, emptyLines(s, sc, f.List.W)...)
		put(f.Bottom, rule(sc.w, "", ""))
		return
	}
	var left, right []theme.Line
	if f.List.W > 0 {
		left = p.list.Lines(source{paneRows{p}, sc}, f.List.W, f.List.H, p.drawVersion(sc))
	}
	if f.Detail.W > 0 && p.doc != nil {
		src := docSource{p.doc, p.xoff, p.query, p.inside}
		right = p.docList.Lines(src, f.Detail.W, f.Detail.H, p.drawVersion(sc)<<1|bit(p.inside))
	}
	switch {
	case f.Divider.W == 1:
		put(layout.Rect{X: 0, Y: f.List.Y, W: sc.w, H: f.List.H}, beside(left, right, f)...)
	case f.Stacked:
		put(f.List, left...)
		put(f.Divider, rule(sc.w, "", position("row", &p.list, paneRows{p}, f.List.H)))
		put(f.Detail, right...)
	case f.Detail.W > 0:
		put(f.Detail, right...)
	default:
		put(f.List, left...)
	}
	put(f.Bottom, p.bottomRule(f, sc.w))
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// beside joins list and detail with a rule between them.
func beside(left, right []theme.Line, f layout.Frame) []theme.Line {
	out := make([]theme.Line, f.List.H)
	for i := range out {
		var l theme.Line
		if i < len(left) {
			l = left[i]
		}
		l = append(l.Fit(f.List.W), theme.Span{Text: "│ ", Style: theme.Faint})
		if i < len(right) {
			l = append(l, right[i]...)
		}
		out[i] = l
	}
	return out
}

// rule is a horizontal line with a note at the left and one at the right.
func rule(w int, left, right string) theme.Line {
	var l theme.Line
	if left != "" {
		l = append(l, theme.Span{Text: "── ", Style: theme.Faint}, theme.T(theme.Accent, left), theme.Span{Text: " "})
	}
	tail := theme.Line{}
	if right != "" {
		tail = theme.Line{{Text: " " + right + " ", Style: theme.Faint}, {Text: "──", Style: theme.Faint}}
	}
	if n := w - l.Width() - tail.Width(); n > 0 {
		l = append(l, theme.Span{Text: strings.Repeat("─", n), Style: theme.Faint})
	}
	return append(l, tail...)
}

// position says where in a list the cursor is.
func position(what string, l interface{ Cursor() int }, src interface{ Len() int }, height int) string {
	if src.Len() <= height {
		return ""
	}
	return fmt.Sprintf("%s %d of %d", what, l.Cursor()+1, src.Len())
}

// emptyLines says why a screen has no rows.
func emptyLines(s screen, sc *scene, w int) []theme.Line {
	p := s.state()
	text := s.empty(sc)
	if p.filter != "" {
		text = []string{fmt.Sprintf("Nothing matches the filter %q.", p.filter), "esc clears it."}
	}
	out := []theme.Line{nil}
	for i, t := range text {
		style := theme.Plain
		if i > 0 {
			style = theme.Faint
		}
		for _, l := range theme.Wrap(t, max(10, min(w-4, 90))) {
			out = append(out, theme.Line{{Text: "  "}, {Text: l, Style: style}})
		}
	}
	return out
}

// tabs names the screens, with less text where there is less room.
func (m *Model) tabs(w int) theme.Line {
	for level := range shortestTabs {
		if l := m.tabLine(level); l.Width() <= w {
			return l
		}
	}
	return m.tabLine(shortestTabs)
}

// shortestTabs is the level of tabs with the least text.
const shortestTabs = 4

// tabLine draws the tabs: with counts, those closer together, without counts,
// with short names, or with the keys alone and the open one's name.
func (m *Model) tabLine(level int) theme.Line {
	var l theme.Line
	for i, scr := range m.screens {
		s := keys.Screen(i)
		if s != m.at && scr.absent(m.sc.report) {
			continue
		}
		title := scr.state().title
		name, on := title.Name, s == m.at
		switch {
		case level == shortestTabs-1 && !on:
			name = title.Short
		case level == shortestTabs && !on:
			name = ""
		}
		label := strings.TrimSpace(title.Key + " " + name)
		if level < 2 || level == 2 && on {
			if n := scr.count(m.sc.report); n > 0 {
				label += " " + fmt.Sprint(n)
			}
		}
		style := theme.Plain
		if on {
			style = theme.Reverse
		}
		gap := " "
		if level == 0 {
			gap = "  "
		}
		if i == 0 {
			gap = " "
		}
		l = append(l, theme.Span{Text: gap}, theme.Span{Text: label, Style: style})
	}
	return l
}

// header is program, state and totals.
func (sc *scene) header(w int) theme.Line {
	left := theme.Line{{Text: " "}, {Text: "tcdbg", Style: theme.Bold | theme.Accent}, {Text: "  "}, theme.T(theme.Bold, sc.run.Title)}
	state := sc.stateLine()
	for _, totals := range []string{sc.totals(false), sc.totals(true), ""} {
		right := append(append(theme.Line{}, state...), theme.Span{Text: "   " + totals + " "})
		if totals == "" {
			right = state
		}
		if gap := w - left.Width() - right.Width(); gap >= 2 || totals == "" {
			return append(append(left, theme.Span{Text: theme.Spaces(max(2, gap))}), right...)
		}
	}
	return left
}

// stateLine says how the program is, on every screen: a glyph, a word and a
// time, and that its files are watched.
func (sc *scene) stateLine() theme.Line {
	l := sc.programState()
	if sc.run.Watched {
		l = append(l, theme.Span{Text: "  " + theme.GlyphWatching + " watching", Style: theme.Accent})
	}
	return l
}

func (sc *scene) programState() theme.Line {
	r := sc.run
	switch {
	case sc.frozen:
		return theme.Line{{Text: theme.GlyphPaused + " display frozen, program still running", Style: theme.Yellow}}
	case r.Paused:
		return theme.Line{theme.T(theme.Yellow, theme.GlyphPaused+" "+sc.debug.state+" "+r.Where)}
	case r.Live && sc.elapsed() == 0: // a trace that somebody else writes
		return theme.Line{{Text: theme.GlyphRunning + " following", Style: theme.Green}}
	case r.Live:
		l := theme.Line{{Text: theme.GlyphRunning + " live ", Style: theme.Green}, {Text: seconds(sc.elapsed())}}
		if phase, took, all := sc.compiling(); all >= longPhase {
			l = append(l, theme.Span{Text: "  " + phase + " " + seconds(took), Style: theme.Yellow})
		}
		return l
	case r.Reading:
		return theme.Line{theme.T(theme.Yellow, theme.GlyphRunning+" reading")}
	case r.Ended != "" && r.Failed:
		return theme.Line{theme.T(theme.Red|theme.Bold, theme.GlyphFailed+" "+theme.Cut(r.Ended, 60))}
	case r.Ended != "":
		return theme.Line{theme.T(theme.Plain, theme.GlyphEnded+" "+r.Ended)}
	}
	return theme.Line{{Text: theme.GlyphEnded + " saved"}}
}

// longPhase is how long a compile runs before the header names its phase.
const longPhase = time.Second

// phaseWords is a phase as people call it.
func phaseWords(name string) string {
	if name == "cc" {
		return "C compiler"
	}
	return "compiling: " + theme.Clean(name)
}

func (sc *scene) totals(short bool) string {
	t := sc.report.Totals
	var out []string
	for _, c := range []struct {
		n           int
		what, short string
	}{
		{t.Frames, "frame", "f"},
		{t.Graphs, "graph", "g"},
		{t.Breaks, "break", theme.GlyphBreak},
		{t.Recompiles, "recompile", theme.GlyphRecompile},
		{t.Kernels, "kernel", "k"},
	} {
		unlogged := c.what != "frame" && sc.report.Untold(c.n, c.what)
		switch {
		case short && unlogged:
			out = append(out, "?"+c.short)
		case short:
			out = append(out, fmt.Sprint(c.n)+c.short)
		case unlogged:
			out = append(out, "no "+c.what+"s logged")
		default:
			out = append(out, count(c.n, c.what))
		}
	}
	if short {
		return strings.Join(out, " ")
	}
	return strings.Join(out, "  ")
}

// footer is the prompt, a notice, or the keys of a screen.
func (m *Model) footer(w int) theme.Line {
	sc := &m.sc
	switch n := sc.notice; {
	case m.sc.prompt.On():
		return m.sc.prompt.Line()
	case n.text != "":
		style := theme.Accent
		if n.bad {
			style = theme.Red
		}
		return theme.Line{{Text: " "}, theme.T(style, n.text)}
	case sc.search.running():
		return theme.L(theme.Accent, " "+sc.search.note())
	}
	return sc.keyLine(m.at, w)
}

// keyLine is the keys, as many as there is room for; help and quit always.
func (sc *scene) keyLine(s keys.Screen, w int) theme.Line {
	var l, tail theme.Line
	for _, b := range sc.footerKeys(s) {
		if !sc.useful(b.Action) || s == keys.Stop && !sc.debugs(b.Action) {
			continue
		}
		name, _, _ := strings.Cut(b.Keys(), " ")
		next := theme.Line{{Text: " "}, {Text: name, Style: theme.Bold}, {Text: " " + sc.footerWord(b) + "  ", Style: theme.Faint}}
		if b.Action == keys.Help || b.Action == keys.Quit {
			tail = append(tail, next...)
		} else {
			l = append(l, next...)
		}
	}
	const spans = 3 // a key
	for len(l) > 0 && l.Width()+tail.Width() > w {
		l = l[:len(l)-spans]
	}
	return append(l, tail...)
}

// useful reports whether a key does something now: what has ended cannot be
// paused, and only what tcdbg started can run again.
func (sc *scene) useful(a keys.Action) bool {
	switch a {
	case keys.Pause:
		return sc.run.Live || sc.frozen
	case keys.Rerun:
		return !sc.run.Live && sc.run.Again
	case keys.Lower:
		l, ok := sc.feed.(Lowering)
		return ok && (l.Lowered() != "" || !sc.report.OfGo() && len(sc.report.Graphs) > 0)
	}
	return true
}

// footerWord is a binding's title, shortened to what it would do now.
func (sc *scene) footerWord(b keys.Binding) string {
	if b.Action == keys.Pause {
		switch {
		case sc.run.Paused:
			return "continue"
		case sc.frozen:
			return "unfreeze"
		case sc.run.Control:
			return "pause"
		}
		return "freeze"
	}
	if l, ok := sc.feed.(Lowering); ok && b.Action == keys.Lower && l.Lowered() != "" {
		return "back"
	}
	short := map[keys.Action]string{
		keys.Lower:  "lower",
		keys.Editor: "edit", keys.Palette: "commands", keys.View: "view", keys.Columns: "columns",
		keys.Order: "sort", keys.Filter: "filter", keys.Fold: "fold",
		keys.DiffEntries: "compare", keys.HideSame: "hide", keys.StepOn: "step",
		keys.Try: "try", keys.DiffRuns: "compare", keys.NextRefusal: "not fused", keys.ByBytes: "by bytes", keys.PreviewFix: "fix",
	}[b.Action]
	if short != "" {
		return short
	}
	first, _, _ := strings.Cut(b.Title, ";")
	return first
}

// footerKeys are the bindings of a screen's footer, in their order.
func (sc *scene) footerKeys(s keys.Screen) []keys.Binding {
	var out []keys.Binding
	for _, b := range sc.keys.Rows {
		if b.Footer > 0 && b.On(s) {
			out = append(out, b)
		}
	}
	sort.SliceStable(out, func(i, j int) bool {
		a, b := out[i], out[j]
		if a.Footer != b.Footer {
			return a.Footer < b.Footer
		}
		return a.Screens != nil && b.Screens == nil
	})
	return out
}

// Linked screens stand beside each other, and their cursors follow one selection.

// linked is which screens do so, of the user's choice.
type linked struct {
	on bool
	of [3]keys.Screen
	at int // of these, the one that has the keys
}

// The least terminal for it.
const (
	linkedWidth  = 160
	linkedHeight = 24
)

// column is one screen of those that are shown.
type column struct {
	screen keys.Screen
	x, w   int
}

// columnsShown are the screens that are shown: one, or the linked ones.
func (m *Model) columnsShown() []column {
	if !m.linked.on || m.columns < linkedWidth || m.sc.h < linkedHeight || m.sc.over != nil {
		return []column{{m.at, 0, m.sc.w}}
	}
	const gap = 2 // a line and a blank
	n := len(m.linked.of)
	w := (m.sc.w - gap*(n-1)) / n
	out := make([]column, n)
	for i, s := range m.linked.of {
		out[i] = column{s, i * (w + gap), w}
	}
	out[n-1].w = m.sc.w - out[n-1].x
	return out
}

// within does something as if the terminal were w columns wide.
func (m *Model) within(w int, do func()) {
	whole := m.sc.w
	m.sc.w = w
	do()
	m.sc.w = whole
}

// link puts three screens beside each other, or ends that.
func (m *Model) link() {
	switch {
	case m.linked.on:
		m.linked.on = false
		return
	case m.columns < linkedWidth || m.sc.h < linkedHeight:
		m.sc.fail(fmt.Sprintf("linked panes want %d columns and %d lines; this terminal has %d and %d",
			linkedWidth, linkedHeight, m.columns, m.sc.h))
		return
	case m.linked.of == [3]keys.Screen{}:
		m.linked.of = [3]keys.Screen{keys.Source, keys.Graph, keys.Kernels}
	}
	m.linked.on = true
	m.sc.say("linked: tab goes to the next pane, a screen's key puts it into this one")
}

// settle has the screen that was opened among the linked ones: where it is, or in the place
// of the one that had the keys.
func (m *Model) settle() {
	l := &m.linked
	if !l.on || l.of[l.at] == m.at {
		return
	}
	if i := slices.Index(l.of[:], m.at); i >= 0 {
		l.at = i
	} else {
		l.of[l.at] = m.at
	}
}

// nextColumn gives the keys to the next of the linked screens; false: there is one.
func (m *Model) nextColumn() bool {
	if len(m.columnsShown()) == 1 {
		return false
	}
	m.at = m.linked.of[(m.linked.at+1)%len(m.linked.of)]
	return true
}

// drawColumns draws linked screens, each as on a terminal of its column's width.
func (m *Model) drawColumns(columns []column, lines []theme.Line) {
	for i, c := range columns {
		m.within(c.w, func() {
			s := m.screens[c.screen]
			f := s.state().arrange(&m.sc)
			part := make([]theme.Line, m.sc.h)
			m.drawBody(s, f, func(r layout.Rect, ls ...theme.Line) {
				for j, l := range ls {
					if j < r.H && r.Y+j < len(part) {
						part[r.Y+j] = l
					}
				}
			})
			part[f.Rule.Y] = m.columnTitle(c)
			for y := f.Rule.Y; y < f.Footer.Y; y++ {
				if i == 0 {
					lines[y] = nil
				} else {
					lines[y] = append(lines[y], theme.Span{Text: "│ ", Style: theme.Faint})
				}
				lines[y] = append(lines[y], part[y].Fit(c.w)...)
			}
		})
	}
}

// columnTitle is the line above a linked screen.
func (m *Model) columnTitle(c column) theme.Line {
	title := m.pane(c.screen).title
	l := rule(c.w, title.Key+" "+title.Name, "")
	if c.screen == m.at {
		l[1].Style = theme.Reverse
	}
	return l
}
