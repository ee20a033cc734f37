package tui

import (
	"fmt"
	"strings"
	"time"

	"tcdbg/tui/theme"
)

// This file is the first line: the program, how it is, and the totals.

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

// stateLine says how the program stands, on every screen: a glyph, a word and a
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
		return theme.Line{theme.T(theme.Yellow, theme.GlyphPaused+" paused "+r.Where)}
	case r.Live && sc.elapsed() == 0: // a trace that somebody else writes
		return theme.Line{{Text: theme.GlyphRunning + " following", Style: theme.Green}}
	case r.Live:
		l := theme.Line{{Text: theme.GlyphRunning + " live ", Style: theme.Green}, {Text: seconds(sc.elapsed())}}
		if phase, took, all := sc.compiling(); all >= longPhase {
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

// phaseWords is a phase as people call it.
func phaseWords(name string) string {
	if name == "cc" {
		return "C compiler"
	}
	return "compiling: " + theme.Clean(name)
}

func (sc *scene) totals(short bool) string {
	t := sc.report.Totals
	if short {
		return fmt.Sprintf("%df %dg %d%s %d%s %dk", t.Frames, t.Graphs, t.Breaks, theme.GlyphBreak, t.Recompiles, theme.GlyphRecompile, t.Kernels)
	}
	return strings.Join([]string{
		count(t.Frames, "frame"), count(t.Graphs, "graph"), count(t.Breaks, "break"),
		count(t.Recompiles, "recompile"), count(t.Kernels, "kernel"),
	}, "  ")
}
