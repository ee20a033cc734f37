package tui

import (
	"sort"

	"tcdbg/tui/keys"
	"tcdbg/tui/theme"
)

// This file is the help, made from the key table.

// help is the keys of a screen and the glyphs.
type help struct{ sheet }

// newHelp lists the keys of a screen and what the glyphs mean.
func newHelp(sc *scene, s keys.Screen, title keys.Title) *help {
	o := &help{sheet{title: title.Name + ": " + title.Asks, brief: true}}
	groups := map[string][]keys.Binding{}
	var order []string
	for _, b := range sc.keys.Rows {
		if !b.On(s) {
			continue
		}
		if groups[b.Group] == nil {
			order = append(order, b.Group)
		}
		groups[b.Group] = append(groups[b.Group], b)
	}
	sort.SliceStable(order, func(i, j int) bool {
		return groups[order[i]][0].Screens != nil && groups[order[j]][0].Screens == nil
	})
	for _, g := range order {
		o.add(theme.L(theme.Bold, g))
		for _, b := range groups[g] {
			o.add(theme.Line{{Text: "  " + theme.Fit(b.Keys(), 14), Style: theme.Accent}, {Text: b.Title}})
		}
		o.add(nil)
	}
	o.add(theme.L(theme.Bold, "Glyphs"))
	for _, g := range []struct {
		glyph string
		style theme.Style
		means string
	}{
		{theme.GlyphCompiled, theme.Compiled, "runs compiled"},
		{theme.GlyphEager, theme.Eager, "runs eagerly"},
		{theme.GlyphBreak, theme.Break, "graph break"},
		{theme.GlyphRecompile, theme.Recompile, "recompiled"},
		{theme.GlyphGuard, theme.Guard, "guard"},
		{theme.GlyphSkipped, theme.Faint, "skipped, or no tensor ops"},
		{theme.GlyphRunning, theme.Green, "program running"},
	} {
		o.add(theme.Line{{Text: "  "}, {Text: theme.Fit(g.glyph, 14), Style: g.style}, {Text: g.means}})
	}
	return o
}
