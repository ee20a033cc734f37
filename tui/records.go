package tui

import (
	"fmt"
	"strings"

	"tcdbg/explain"
	"tcdbg/tui/keys"
	"tcdbg/tui/syntax"
	"tcdbg/tui/theme"
)

// This file is the screens that list the feed's own tables: 0, Logs (what
// exactly was recorded?) and -, Output (what did the program print?); and
// Ranks.

// logsScreen is the screen with its state.
type logsScreen struct {
	pane
}

func newLogs() screen {
	return &logsScreen{pane{id: keys.Logs, leadLines: 2, detailed: true, share: 0.5}}
}

func (*logsScreen) empty(sc *scene) []string {
	if sc.run.Live {
		return []string{"No record yet.", "Every record of the trace appears here as it is written; / searches all payloads."}
	}
	return []string{"The trace holds no record."}
}

func (scr *logsScreen) lead(sc *scene, _ int) []theme.Line {
	t := sc.report.Totals
	l := theme.Line{{Text: " " + count(int(t.Records), "record"), Style: theme.Bold}}
	if t.UnexplainedRecords > 0 {
		l = append(l, theme.Span{Text: fmt.Sprintf(" · %d of an unknown kind", t.UnexplainedRecords), Style: theme.Yellow})
	}
	st := sc.report.Stats
	for _, bad := range []struct {
		n    int64
		what string
	}{{st.BadJSON, "bad JSON"}, {st.MD5Mismatch, "bad md5 checksum"}, {st.Stray, "stray lines"}, {st.Oversized, "too large"}} {
		if bad.n > 0 {
			l = append(l, theme.Span{Text: fmt.Sprintf(" · %d %s", bad.n, bad.what), Style: theme.Yellow})
		}
	}
	if s := &sc.search; s.query != "" {
		l = append(l, theme.T(theme.Accent, fmt.Sprintf(" · %s with %q", count(len(s.hits), "record"), s.query)))
	}
	return []theme.Line{l, nil}
}

// table lists the records.
func (*logsScreen) table(feed Feed) rowsOf {
	if r := feed.Records(); r != nil {
		return recordRows{r}
	}
	return rowSlice(nil)
}

// recordRows are the records as rows.
type recordRows struct{ r Records }

func (s recordRows) Len() int     { return s.r.Len() }
func (s recordRows) At(i int) row { return recordRow{s.r, i} }

// recordRow is one record.
type recordRow struct {
	r Records
	i int
}

func (r recordRow) key() string    { return fmt.Sprint(r.i) }
func (r recordRow) sel() Selection { return Selection{} }
func (r recordRow) matches(q string) bool {
	rec := r.r.At(r.i)
	return rec.Rank >= 0 && strings.EqualFold(q, fmt.Sprintf("r%d", rec.Rank)) || theme.IndexFold(rec.Kind, q) >= 0 || theme.IndexFold(rec.ID, q) >= 0 || theme.IndexFold(rec.Summary, q) >= 0
}

func (r recordRow) draw(_ *scene, w int) theme.Line {
	rec := r.r.At(r.i)
	id := rec.ID
	if id != "" {
		id = "[" + id + "]"
	}
	if rec.Rank >= 0 {
		id += fmt.Sprintf(" r%d", rec.Rank)
	}
	size := bytesText(rec.Bytes)
	l := theme.Line{{Text: theme.Clean(rec.Time) + " ", Style: theme.Faint}, {Text: theme.Fit(id, 8) + " ", Style: theme.Faint}, theme.T(kindStyle(rec.Kind), rec.Kind+" "), theme.T(theme.Faint, rec.Summary)}
	return append(l.Fit(max(0, w-len(size)-1)), theme.Span{Text: " " + size, Style: theme.Faint})
}

// kindStyle colours the records that people look for.
func kindStyle(kind string) theme.Style {
	switch {
	case strings.Contains(kind, "break"):
		return theme.Break
	case strings.Contains(kind, "recompile"), strings.Contains(kind, "guard_miss"):
		return theme.Recompile
	case strings.Contains(kind, "guard"):
		return theme.Guard
	case strings.Contains(kind, "graph"):
		return theme.Compiled
	case kind == "str", kind == "chromium_event", strings.HasPrefix(kind, "describe_"):
		return theme.Faint
	case strings.Contains(kind, "output_code"), strings.Contains(kind, "kernel"):
		return theme.Accent
	}
	return theme.Plain
}

func (scr *logsScreen) detail(sc *scene, r row, w int) *doc {
	d := newDoc(sc, w)
	rr := r.(recordRow)
	rec := rr.r.At(rr.i)
	d.add(theme.T(theme.Bold, rec.Kind), theme.T(theme.Faint, fmt.Sprintf("  record %d  %s", rr.i, rec.ID)))
	text, ok := sc.text(fmt.Sprintf("record %d", rr.i), func() string { return rr.r.Payload(rr.i) })
	if !ok {
		d.add(theme.T(theme.Faint, "reading …"))
		return d
	}
	d.blank()
	d.code(sc.hl, payloadLang(rec.Kind), text)
	return d
}

func payloadLang(kind string) syntax.Lang {
	switch {
	case strings.Contains(kind, "output_code"):
		return syntax.Python
	case strings.Contains(kind, "graph") && !strings.Contains(kind, "break"):
		return syntax.FX
	}
	return syntax.None
}

// outputScreen is the screen with its state.
type outputScreen struct {
	pane
}

func newOutput() screen {
	return &outputScreen{pane{id: keys.Output}}
}

func (*outputScreen) empty(sc *scene) []string {
	switch {
	case sc.feed.Output() == nil:
		return []string{"The program's output was not saved with this trace.", "Runs under the screens of tcdbg run and tcdbg exec keep it; --plain leaves it to its terminal."}
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

// ranksScreen is the screen with its state.
type ranksScreen struct {
	pane
}

func newRanks() screen {
	return &ranksScreen{pane{id: keys.Ranks, leadLines: 2, detailed: true, share: 0.6}}
}

func (*ranksScreen) empty(_ *scene) []string {
	return []string{"This run has one process.", "Ranks of a distributed run are compared here by function and place."}
}

func (*ranksScreen) count(r *explain.Report) int { return len(r.Ranks) }

// absent says that a run of one process has no tab for them.
func (*ranksScreen) absent(r *explain.Report) bool { return len(r.Ranks) < 2 }

func (scr *ranksScreen) lead(sc *scene, _ int) []theme.Line {
	if len(sc.report.Ranks) == 0 {
		return nil
	}
	bad := 0
	for _, r := range sc.report.Ranks {
		if len(r.Diverged) > 0 {
			bad++
		}
	}
	if bad == 0 {
		return []theme.Line{theme.L(theme.Bold|theme.Compiled, " all "+count(len(sc.report.Ranks), "rank")+" compiled the same"), nil}
	}
	first := theme.L(theme.Bold|theme.Break, fmt.Sprintf(" %d of %d ranks differ", bad, len(sc.report.Ranks)))
	if d := sc.report.Divergence; len(d) > 0 { // what first parted them is the question here
		return []theme.Line{first, theme.L(theme.Plain, " "+d[0])}
	}
	return []theme.Line{first, nil}
}

func (*ranksScreen) rows(in *input) []row {
	if len(in.report.Ranks) == 0 {
		return nil
	}
	rows := []row{&headRow{text: padded(6, "RANK", -7, "frames", -7, "graphs", -7, "breaks", -11, "recompiles", -8, "kernels", -9, "compile") + " DIFFERS"}}
	for _, r := range in.report.Ranks {
		rows = append(rows, &rankRow{r})
	}
	return rows
}

// rankRow is one process.
type rankRow struct{ r *explain.Rank }

func (r *rankRow) key() string    { return fmt.Sprintf("rank %d %s", r.r.Rank, r.r.Path) }
func (r *rankRow) sel() Selection { return Selection{} }
func (r *rankRow) matches(q string) bool {
	for _, d := range r.r.Diverged {
		if theme.IndexFold(d, q) >= 0 {
			return true
		}
	}
	return strings.EqualFold(q, fmt.Sprintf("r%d", r.r.Rank)) || theme.IndexFold(r.r.Path, q) >= 0
}

func (r *rankRow) draw(_ *scene, _ int) theme.Line {
	t := r.r.Totals
	l := theme.Line{{Text: padded(6, number(int64(r.r.Rank)), -7, t.Frames, -7, t.Graphs, -7, t.Breaks, -11, t.Recompiles, -8, t.Kernels, -9, secondsOr(t.CompileSeconds)) + " "}}
	if n := len(r.r.Diverged); n > 0 {
		return append(l, theme.Span{Text: theme.GlyphBreak + " " + count(n, "function"), Style: theme.Break})
	}
	return append(l, theme.Span{Text: theme.GlyphDone + " same", Style: theme.Green})
}

func (scr *ranksScreen) detail(sc *scene, r row, w int) *doc {
	d := newDoc(sc, w)
	rr, ok := r.(*rankRow)
	if !ok {
		return d
	}
	d.add(theme.T(theme.Bold, fmt.Sprintf("rank %d", rr.r.Rank)))
	d.wrap(theme.Faint, 0, rr.r.Path)
	if rr.r.Caches != "" {
		d.labelled("caches", rr.r.Caches)
	}
	if len(rr.r.Diverged) == 0 {
		d.blank()
		d.wrap(theme.Plain, 0, "Its breaks and graphs are the same as on the other ranks.")
		return d
	}
	d.heading("DIFFERS FROM THE OTHER RANKS")
	for _, f := range rr.r.Diverged {
		d.wrap(theme.Plain, 2, theme.GlyphBreak+" "+f)
	}
	return d
}
