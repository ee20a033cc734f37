package tui

import (
	"sort"
	"strings"

	"tcdbg/tui/keys"
	"tcdbg/tui/theme"
)

// This file is the last line: what is asked or said, or the keys that matter now.

// footer is the prompt, a notice, or the keys of a screen.
func (m *Model) footer(w int) theme.Line {
	sc := &m.sc
	switch n := sc.notice; {
	case m.prompt.on():
		return m.prompt.line()
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
	for _, b := range footerKeys(s) {
		if !sc.useful(b.Action) {
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
