package tui

import (
	"fmt"

	"tcdbg/tui/keys"
	"tcdbg/tui/theme"
)

// This file is screen -, Output: what did the program print?

// outputScreen is the Output screen.
type outputScreen struct {
	pane
}

func newOutput() screen {
	return &outputScreen{pane{
		title: keys.Title{Name: "Output", Short: "Out", Key: "-", Asks: "What did the program print?"},
	}}
}

func (*outputScreen) empty(sc *scene) []string {
	switch {
	case sc.feed.Output() == nil:
		return []string{
			"The program's output was not saved with this trace.",
			"Runs under the screens of tcdbg run and tcdbg exec keep it; --plain leaves it to its terminal.",
		}
	case sc.run.Live:
		return []string{"The program has printed nothing yet."}
	}
	return []string{"The program printed nothing."}
}

// table lists what the program printed.
func (scr *outputScreen) table(feed Feed) rowsOf {
	if o := feed.Output(); o != nil {
		return outputRows{o, scr}
	}
	return rowSlice(nil)
}

// outputRows are the lines that the program printed.
type outputRows struct {
	o   Output
	scr *outputScreen
}

func (s outputRows) Len() int     { return s.o.Len() }
func (s outputRows) At(i int) row { return outputRow{s, i} }

// outputRow is one line.
type outputRow struct {
	outputRows
	i int
}

func (r outputRow) key() string           { return fmt.Sprint(r.i) }
func (r outputRow) sel() Selection        { return Selection{} }
func (r outputRow) matches(q string) bool { return theme.IndexFold(r.o.Line(r.i).Text, q) >= 0 }
func (r outputRow) draw(*scene, int) theme.Line {
	l := r.o.Line(r.i)
	line := theme.L(theme.Plain, l.Text).Skip(r.scr.xoff)
	if l.Err {
		return append(theme.Line{{Text: "! ", Style: theme.Yellow}}, line...)
	}
	return append(theme.Line{{Text: "  "}}, line...)
}
