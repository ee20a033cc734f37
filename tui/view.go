package tui

import (
	"fmt"
	"strings"

	"tcdbg/tui/keys"
	"tcdbg/tui/theme"
)

// This file draws the frame: header, tabs, panes, footer. There is no other
// chrome.

// View draws the screen.
func (m *Model) View() string {
	if m.sc.quit || m.sc.w < 1 || m.sc.h < 1 {
		return ""
	}
	lines := make([]theme.Line, m.sc.h)
	f := m.arrange()
	put := func(r rect, ls ...theme.Line) {
		for i, l := range ls {
			if i < r.h && r.y+i < m.sc.h {
				lines[r.y+i] = l
			}
		}
	}
	put(f.header, m.sc.header(m.sc.w))
	put(f.tabs, m.tabs(m.sc.w))
	put(f.rule, rule(m.sc.w, "", ""))
	if m.sc.over != nil {
		m.drawOverlay(f, put)
	} else {
		m.drawBody(f, put)
	}
	put(f.footer, m.footer(m.sc.w))
	var b strings.Builder
	for i, l := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(m.th.Line(l.Fit(m.sc.w)))
	}
	return b.String()
}

// drawBody draws lead, list and detail.
func (m *Model) drawBody(f frame, put func(rect, ...theme.Line)) {
	sc, s := &m.sc, m.shown()
	p := s.state()
	if f.lead.h > 0 {
		put(f.lead, s.lead(sc, sc.w)...)
	}
	if p.Len() == 0 {
		put(f.list, emptyLines(s, sc, f.list.w)...)
		put(f.bottom, rule(sc.w, "", ""))
		return
	}
	var left, right []theme.Line
	if f.list.w > 0 {
		left = p.list.Lines(source{paneRows{p}, sc}, f.list.w, f.list.h, p.drawVersion(sc))
	}
	if f.detail.w > 0 && p.doc != nil {
		src := docSource{p.doc, p.xoff, p.query, p.inside}
		right = p.docList.Lines(src, f.detail.w, f.detail.h, p.drawVersion(sc)<<1|bit(p.inside))
	}
	switch {
	case f.divider.w == 1:
		put(rect{0, f.list.y, sc.w, f.list.h}, beside(left, right, f)...)
	case f.stacked:
		put(f.list, left...)
		put(f.divider, rule(sc.w, "", position("row", &p.list, paneRows{p}, f.list.h)))
		put(f.detail, right...)
	case f.detail.w > 0:
		put(f.detail, right...)
	default:
		put(f.list, left...)
	}
	put(f.bottom, p.bottomRule(f, sc.w))
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
		name, on := s.String(), s == m.at
		switch {
		case level == shortestTabs-1 && !on:
			name = s.Short()
		case level == shortestTabs && !on:
			name = ""
		}
		label := strings.TrimSpace(s.Key() + " " + name)
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
