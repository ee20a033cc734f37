package tui

import (
	"fmt"
	"sort"
	"strings"
	"time"

	"tcdbg/tui/keys"
	"tcdbg/tui/theme"
)

// This file draws the frame: header, tabs, panes, footer. There is no other
// chrome.

// View draws the screen.
func (m *Model) View() string {
	if m.quit || m.w < 1 || m.h < 1 {
		return ""
	}
	lines := make([]theme.Line, m.h)
	f := m.arrange()
	put := func(r rect, ls ...theme.Line) {
		for i, l := range ls {
			if i < r.h && r.y+i < m.h {
				lines[r.y+i] = l
			}
		}
	}
	put(f.header, m.header(m.w))
	put(f.tabs, m.tabs(m.w))
	put(f.rule, rule(m.w, "", ""))
	if m.overlay.open() {
		m.drawOverlay(f, put)
	} else {
		m.drawBody(f, put)
	}
	put(f.footer, m.footer(m.w))
	var b strings.Builder
	for i, l := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(m.th.Line(l.Fit(m.w)))
	}
	return b.String()
}

// drawBody draws lead, list and detail.
func (m *Model) drawBody(f frame, put func(rect, ...theme.Line)) {
	p, d := m.current(), m.def()
	if f.lead.h > 0 && d.lead != nil {
		put(f.lead, d.lead(m, m.w)...)
	}
	if p.Len() == 0 {
		put(f.list, m.emptyLines(f.list.w)...)
		put(f.bottom, rule(m.w, "", ""))
		return
	}
	var left, right []theme.Line
	if f.list.w > 0 {
		left = p.list.Lines(source{m, p}, f.list.w, f.list.h, m.drawVersion(p))
	}
	if f.detail.w > 0 && p.doc != nil {
		src := docSource{p.doc, p.xoff, p.query, p.inside}
		right = p.detail.Lines(src, f.detail.w, f.detail.h, m.drawVersion(p)<<1|bit(p.inside))
	}
	switch {
	case f.divider.w == 1:
		put(rect{0, f.list.y, m.w, f.list.h}, beside(left, right, f)...)
	case f.stacked:
		put(f.list, left...)
		put(f.divider, rule(m.w, "", position("row", &p.list, paneRows{p}, f.list.h)))
		put(f.detail, right...)
	case f.detail.w > 0:
		put(f.detail, right...)
	default:
		put(f.list, left...)
	}
	put(f.bottom, m.bottomRule(f, p))
}

// bottomRule closes the panes: under each stands where in it the cursor is.
func (m *Model) bottomRule(f frame, p *pane) theme.Line {
	list, detail := position("row", &p.list, paneRows{p}, f.list.h), ""
	if f.detail.w > 0 && p.doc != nil {
		detail = position("line", &p.detail, docSource{d: p.doc}, f.detail.h)
	}
	switch {
	case f.divider.w == 1:
		return append(rule(f.list.w, p.filterNote(), list), rule(m.w-f.list.w, "", detail)...)
	case f.detail.w > 0: // the list is above it, or not shown
		return rule(m.w, p.filterNote(), detail)
	}
	return rule(m.w, p.filterNote(), list)
}

// drawVersion changes when the text of rows may have: report, search, filter,
// sideways scroll.
func (m *Model) drawVersion(p *pane) uint64 {
	h := p.version*1_000_003 + uint64(m.texts.gen)*8191 + uint64(p.xoff)*131 + uint64(p.mode) + m.selGen*524287
	for i := range len(p.query) {
		h = h*31 + uint64(p.query[i])
	}
	if p.inside {
		h = h*31 + 1
	}
	return h
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// beside joins list and detail with a rule between them.
func beside(left, right []theme.Line, f frame) []theme.Line {
	out := make([]theme.Line, f.list.h)
	for i := range out {
		var l theme.Line
		if i < len(left) {
			l = left[i]
		}
		l = append(l.Fit(f.list.w), theme.Span{Text: "│ ", Style: theme.Faint})
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

func (p *pane) filterNote() string {
	if p.filter == "" && p.order.compare != nil {
		return p.order.name
	}
	if p.filter == "" {
		return ""
	}
	total := 0
	if p.rows != nil {
		total = p.rows.Len()
	}
	return fmt.Sprintf("filter %q: %d of %d", p.filter, p.Len(), total)
}

func (m *Model) emptyLines(w int) []theme.Line {
	p := m.current()
	text := m.def().empty(m)
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

// header is program, state and totals.
func (m *Model) header(w int) theme.Line {
	left := theme.Line{{Text: " "}, {Text: "tcdbg", Style: theme.Bold | theme.Accent}, {Text: "  "}, theme.T(theme.Bold, m.run.Title)}
	state := m.stateLine()
	for _, totals := range []string{m.totals(false), m.totals(true), ""} {
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

// stateLine says how the program stands, on every screen: a glyph, a word and a
// time, and that its files are watched.
func (m *Model) stateLine() theme.Line {
	l := m.programState()
	if m.run.Watched {
		l = append(l, theme.Span{Text: "  " + theme.GlyphWatching + " watching", Style: theme.Accent})
	}
	return l
}

func (m *Model) programState() theme.Line {
	r := m.run
	switch {
	case m.frozen:
		return theme.Line{{Text: theme.GlyphPaused + " display frozen, program still running", Style: theme.Yellow}}
	case r.Paused:
		return theme.Line{theme.T(theme.Yellow, theme.GlyphPaused+" paused "+r.Where)}
	case r.Live && m.elapsed() == 0: // a trace that somebody else writes
		return theme.Line{{Text: theme.GlyphRunning + " following", Style: theme.Green}}
	case r.Live:
		l := theme.Line{{Text: theme.GlyphRunning + " live ", Style: theme.Green}, {Text: seconds(m.elapsed())}}
		if phase, took, all := m.compiling(); all >= longPhase {
			l = append(l, theme.Span{Text: "  " + phase + " " + seconds(took), Style: theme.Yellow})
		}
		return l
	case r.Ended != "" && r.Failed:
		return theme.Line{theme.T(theme.Red|theme.Bold, theme.GlyphFailed+" "+theme.Cut(r.Ended, 60))}
	case r.Ended != "":
		return theme.Line{theme.T(theme.Plain, theme.GlyphEnded+" "+r.Ended)}
	}
	return theme.Line{{Text: theme.GlyphEnded + " saved"}}
}

// longPhase is how long a compile runs before the header names its phase.
const longPhase = time.Second

// compiling names the innermost phase of a compile that runs now, with how long it
// and the outermost one have been running.
func (m *Model) compiling() (phase string, took, all time.Duration) {
	p := m.facts.running
	if p == nil || !m.run.Live {
		return "", 0, 0
	}
	return phaseWords(p.Name), max(0, m.now().Sub(p.Start)), m.now().Sub(m.facts.since)
}

// phaseWords is a phase as people call it.
func phaseWords(name string) string {
	if name == "cc" {
		return "C compiler"
	}
	return "compiling: " + theme.Clean(name)
}

func (m *Model) elapsed() time.Duration {
	if m.run.Elapsed > 0 || m.run.Start.IsZero() {
		return m.run.Elapsed
	}
	return time.Since(m.run.Start)
}

func (m *Model) totals(short bool) string {
	t := m.report.Totals
	if short {
		return fmt.Sprintf("%df %dg %d%s %d%s %dk", t.Frames, t.Graphs, t.Breaks, theme.GlyphBreak, t.Recompiles, theme.GlyphRecompile, t.Kernels)
	}
	return strings.Join([]string{
		count(t.Frames, "frame"), count(t.Graphs, "graph"), count(t.Breaks, "break"),
		count(t.Recompiles, "recompile"), count(t.Kernels, "kernel"),
	}, "  ")
}

// count is "1 graph", "2 graphs".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
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
	for i := range m.defs {
		s := keys.Screen(i)
		if s == keys.Ranks && len(m.report.Ranks) < 2 && m.screen != keys.Ranks {
			continue
		}
		name, on := s.String(), s == m.screen
		switch {
		case level == shortestTabs-1 && !on:
			name = s.Short()
		case level == shortestTabs && !on:
			name = ""
		}
		label := strings.TrimSpace(s.Key() + " " + name)
		if c := m.defs[i].count; c != nil && (level < 2 || level == 2 && on) {
			if n := c(m.report); n > 0 {
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

// footer is the prompt, a message, or the keys that matter here.
func (m *Model) footer(w int) theme.Line {
	if m.prompt.on() {
		return m.promptLine(w)
	}
	if m.status != "" {
		style := theme.Accent
		if m.bad {
			style = theme.Red
		}
		return theme.Line{{Text: " "}, theme.T(style, m.status)}
	}
	if m.search.running() {
		return theme.L(theme.Accent, " "+m.search.note())
	}
	return m.footerLine(w)
}

// footerLine is the keys, as many as there is room for; help and quit always.
func (m *Model) footerLine(w int) theme.Line {
	var l, tail theme.Line
	for _, b := range footerKeys(m.screen) {
		if !m.useful(b.Action) {
			continue
		}
		name, _, _ := strings.Cut(b.Keys(), " ")
		next := theme.Line{{Text: " "}, {Text: name, Style: theme.Bold}, {Text: " " + m.footerWord(b) + "  ", Style: theme.Faint}}
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
func (m *Model) useful(a keys.Action) bool {
	switch a {
	case keys.Pause:
		return m.run.Live || m.frozen
	case keys.Rerun:
		return !m.run.Live && m.run.Again
	}
	return true
}

// footerWord is a binding's title, shortened to what it would do now.
func (m *Model) footerWord(b keys.Binding) string {
	if b.Action == keys.Pause {
		switch {
		case m.run.Paused:
			return "continue"
		case m.frozen:
			return "unfreeze"
		case m.run.Control:
			return "pause"
		}
		return "freeze"
	}
	short := map[keys.Action]string{
		keys.Editor: "edit", keys.Palette: "commands", keys.View: "view", keys.Order: "sort", keys.Filter: "filter", keys.Fold: "fold",
		keys.DiffEntries: "compare", keys.HideSame: "hide", keys.StepOn: "step",
		keys.DiffRuns: "compare", keys.NextRefusal: "not fused", keys.PreviewFix: "fix",
	}[b.Action]
	if short != "" {
		return short
	}
	return b.Title
}

// footerKeys are the bindings of a screen's footer, in their order.
func footerKeys(s keys.Screen) []keys.Binding {
	var out []keys.Binding
	for _, b := range keys.Table() {
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
