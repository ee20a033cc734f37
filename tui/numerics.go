package tui

import (
	"cmp"
	"fmt"
	"strings"

	"tcdbg/explain"
	"tcdbg/explain/numerics"
	"tcdbg/logs"
	"tcdbg/tui/columns"
	"tcdbg/tui/keys"
	"tcdbg/tui/theme"
)

// This file is screen #, Numerics: which compiled graphs compute what eager execution does? Its
// rows are graphs, those that differ first, and what two further runs say of the capture, which
// comes before them where it differs: it is the first stage.

// numericsScreen is the Numerics screen.
type numericsScreen struct {
	pane
}

func newNumerics() screen {
	return &numericsScreen{pane{
		title: keys.Title{
			Name: "Numerics", Short: "Num", Key: "#", Asks: "Do compiled graphs compute what eager execution computes?",
		},
		leadLines: 2, detailed: true, share: 0.6,
		columns: columns.Of("calls", "how many calls were compared", "worst", "the largest difference, in what its dtype allows"),
		orders: []order{
			{name: "differing first"},
			{
				name: "largest difference first", lacks: "no value was compared",
				arrange: betweenHeads(func(a, b *numericsRow) int { return cmp.Compare(b.worst(), a.worst()) }),
				has:     ofRows(func(r *numericsRow) bool { return r.worst() >= 0 }),
			},
			{name: "most calls compared first", arrange: betweenHeads(func(a, b *numericsRow) int {
				return cmp.Compare(b.g.Compared, a.g.Compared)
			})},
			{name: "by name", arrange: betweenHeads(func(a, b *numericsRow) int { return strings.Compare(a.g.Name(), b.g.Name()) })},
		},
	}}
}

func (*numericsScreen) empty(*scene) []string {
	return []string{
		"Nothing was compared with eager execution in this run.",
		"tcdbg check --numerics runs a program with each compiled graph beside eager execution, and says which differ, from " +
			"which stage of the compiler and which operator on.",
	}
}

// absent says that a run in which nothing was compared has no tab for it.
func (*numericsScreen) absent(r *explain.Report) bool { return r.Numerics == nil }

func (*numericsScreen) count(r *explain.Report) int {
	n := 0
	if r.Numerics == nil {
		return 0
	}
	for _, g := range r.Numerics.Graphs {
		if g.Result == logs.NumericsDiffers {
			n++
		}
	}
	if c := r.Numerics.Capture; c != nil && c.Result == logs.NumericsDiffers {
		n++
	}
	return n
}

func (scr *numericsScreen) lead(sc *scene, w int) []theme.Line {
	n := sc.report.Numerics
	if n == nil {
		return nil
	}
	second := theme.L(theme.Faint, "   "+n.Summary()).Fit(w)
	if !n.Differs() {
		return []theme.Line{theme.L(theme.Bold|theme.Green, " "+theme.GlyphDone+" nothing differs by more than its dtype allows"), second}
	}
	where := ""
	for _, g := range n.Graphs {
		if g.Fault != nil && where == "" {
			where = ": " + g.Name() + ", first in " + numerics.Place(g.Fault)
		}
	}
	if where == "" {
		where = ": what was captured"
	}
	return []theme.Line{theme.L(theme.Bold|theme.Break, " "+theme.GlyphFailed+" results differ"+where).Fit(w), second}
}

// numericsCells is the name of a graph and its figures, in a list of w cells.
func numericsCells(c *columns.Set, w int, name, calls, worst string) string {
	const figure = 9
	width := min(40, max(12, w/3))
	text := ""
	for _, k := range []struct{ name, text string }{{"calls", calls}, {"worst", worst}} {
		if c.On(k.name) {
			text += fmt.Sprintf(" %*s", figure, k.text)
		} else {
			width += figure + 1
		}
	}
	return theme.Fit(name, width) + text + "  "
}

func (scr *numericsScreen) rows(in *input) []row {
	n := in.report.Numerics
	if n == nil {
		return nil
	}
	rows := []row{&headRow{draws: func(_ *scene, w int) theme.Line {
		return theme.L(theme.Faint, "  "+numericsCells(scr.columns, w, "GRAPH", "calls", "worst")+"FIRST IN").Fit(w)
	}}}
	if n.Capture != nil && n.Capture.Result == logs.NumericsDiffers {
		rows = append(rows, &captureRow{n.Capture, scr.columns})
	}
	for _, result := range []string{logs.NumericsDiffers, logs.NumericsUndecided, logs.NumericsEqual, logs.NumericsNone} {
		for _, g := range n.Graphs {
			if g.Result == result {
				rows = append(rows, &numericsRow{g, scr.columns})
			}
		}
	}
	if n.Capture != nil && n.Capture.Result != logs.NumericsDiffers {
		rows = append(rows, &captureRow{n.Capture, scr.columns})
	}
	return rows
}

// numericsRow is one graph.
type numericsRow struct {
	g     *numerics.Graph
	shown *columns.Set
}

// worst is the largest difference, -1 where nothing was compared.
func (r *numericsRow) worst() float64 {
	if v := r.g.Worst(); v != nil {
		return v.Worst
	}
	return -1
}

func (r *numericsRow) key() string {
	return fmt.Sprintf("numerics %d %d %s %s", r.g.Rank, r.g.Process, r.g.Compile, r.g.Graph)
}

func (r *numericsRow) sel() Selection {
	var id explain.ID
	if _, err := fmt.Sscanf(r.g.Compile, "%d/%d", &id.Frame, &id.Compile); err != nil {
		return Selection{}
	}
	id.Rank = r.g.Rank
	s := Selection{HasID: true, ID: id}
	if f := r.g.Fault; f != nil && f.Pos != nil {
		s.Pos = *f.Pos
	}
	return s
}

func (r *numericsRow) matches(q string) bool {
	text := r.g.Name() + " " + r.g.Result
	if f := r.g.Fault; f != nil {
		text += " " + numerics.Place(f) + " " + numerics.PosText(f.Pos)
	}
	return theme.IndexFold(text, q) >= 0
}

func (r *numericsRow) draw(_ *scene, w int) theme.Line {
	glyph, style, words := numericsMark(r.g.Result)
	worst := "-"
	if v := r.g.Worst(); v != nil {
		if worst = numerics.Times(v.Worst); v.Worst >= numerics.Boundless {
			worst = "inf"
		}
	}
	if f := r.g.Fault; f != nil {
		words = numerics.Place(f)
	} else if r.g.Why != "" {
		words = r.g.Why
	}
	calls := fmt.Sprintf("%d of %d", r.g.Compared, r.g.Calls)
	l := theme.Line{
		theme.T(style, glyph+" "),
		{Text: numericsCells(r.shown, w, theme.Clean(r.g.Name()), calls, worst)},
		theme.T(style&^theme.Bold, words),
	}
	for _, b := range r.g.Sources() {
		l = append(l, theme.T(theme.Yellow, " "+theme.GlyphGuard+" "+b.What))
	}
	return l.Fit(w)
}

// numericsMark is how a result is shown.
func numericsMark(result string) (glyph string, style theme.Style, words string) {
	switch result {
	case logs.NumericsEqual:
		return theme.GlyphDone, theme.Green, "equal"
	case logs.NumericsDiffers:
		return theme.GlyphFailed, theme.Break | theme.Bold, "differs"
	case logs.NumericsUndecided:
		return theme.GlyphGuard, theme.Yellow, "undecided"
	}
	return theme.GlyphSkipped, theme.Faint, result
}

// captureRow is the capture.
type captureRow struct {
	c     *logs.NumericsCapture
	shown *columns.Set
}

func (r *captureRow) key() string    { return "capture" }
func (r *captureRow) sel() Selection { return Selection{} }
func (r *captureRow) matches(q string) bool {
	return theme.IndexFold("capture "+r.c.Result+" "+numerics.CaptureText(r.c), q) >= 0
}

func (r *captureRow) draw(_ *scene, w int) theme.Line {
	glyph, style, words := numericsMark(r.c.Result)
	calls := "-" // equal ones before the first that differs are no measure
	if r.c.Result == logs.NumericsEqual {
		calls = fmt.Sprint(r.c.Calls)
	} else {
		words = numerics.CaptureText(r.c)
	}
	return theme.Line{
		theme.T(style, glyph+" "),
		{Text: numericsCells(r.shown, w, "capture", calls, "")},
		theme.T(style&^theme.Bold, words),
	}.Fit(w)
}

func (*numericsScreen) enter(r row) (keys.Screen, bool) {
	if g, ok := r.(*numericsRow); ok && g.sel().HasID {
		return keys.Graph, true
	}
	return 0, false
}

func (*numericsScreen) detail(sc *scene, r row, w int) *doc {
	d := newDoc(sc, w)
	switch r := r.(type) {
	case *numericsRow:
		docNumerics(d, r.g)
	case *captureRow:
		docCapture(d, r.c)
	}
	return d
}

func docCapture(d *doc, c *logs.NumericsCapture) {
	glyph, style, words := numericsMark(c.Result)
	d.wrap(style|theme.Bold, 0, glyph+" capture: "+words)
	d.blank()
	d.wrap(theme.Plain, 0, numerics.CaptureText(c))
	for _, text := range numerics.CaptureFaultText(c.Fault) {
		d.wrap(theme.Plain, 2, text)
	}
	if f := c.Fault; f != nil && f.CapturedPos != nil {
		d.place(*f.CapturedPos)
	} else if f != nil && f.EagerPos != nil {
		d.place(*f.EagerPos)
	}
	d.blank()
	d.wrap(theme.Faint, 0, "Two further runs of the program: one with nothing compiled, one with its captured graphs run operator by "+
		"operator. Both use the same kernels, so that what differs was captured otherwise.")
	for _, l := range c.Limits {
		d.wrap(theme.Faint, 2, "not compared: "+l)
	}
}

// docNumerics is all that is known of one graph.
func docNumerics(d *doc, g *numerics.Graph) {
	glyph, style, words := numericsMark(g.Result)
	d.wrap(style|theme.Bold, 0, glyph+" "+g.Name()+": "+words)
	d.labelled("backend", g.Backend)
	d.labelled("compared", fmt.Sprintf("%d of %s", g.Compared, count(int(g.Calls), "call")))
	if g.Why != "" {
		d.wrap(theme.Plain, 0, g.Why)
	}
	if f := g.Fault; f != nil {
		docFault(d, f)
	}
	for i, b := range g.Sources() {
		if i == 0 {
			d.heading("NaN AND Inf")
		}
		d.wrap(theme.Yellow, 2, numerics.BornText(b)+" (in eager execution)")
		if b.Pos != nil {
			d.place(*b.Pos)
		}
	}
	if len(g.Values) > 0 {
		d.heading("COMPARED, each at its worst")
		for i := range g.Values {
			d.wrap(theme.Plain, 2, numerics.ValueText(&g.Values[i]))
		}
	}
	if len(g.NotCompared) > 0 {
		d.heading("NOT COMPARED")
		for _, n := range g.NotCompared {
			d.wrap(theme.Plain, 2, n)
		}
	}
	if g.Repro != "" {
		d.heading("REPRODUCER")
		d.wrap(theme.Plain, 2, g.Repro)
	}
}

// docFault is where a graph first differs, and how that was found.
func docFault(d *doc, f *logs.NumericsFault) {
	d.heading(fmt.Sprintf("FIRST IN %s (call %d)", strings.ToUpper(f.Stage), f.Call))
	d.wrap(theme.Break, 2, numerics.Place(f))
	if f.Pos != nil {
		d.place(*f.Pos)
	}
	d.wrap(theme.Plain, 2, numerics.ValueText(&f.Value))
	d.heading("THE SEARCH")
	for _, s := range f.Ran {
		d.wrap(theme.Plain, 2, s)
	}
	if len(f.Nodes) > 0 {
		d.heading("NODES AND KERNELS")
	}
	for i := range f.Nodes {
		v := &f.Nodes[i]
		style := theme.Plain
		if v.Beyond > v.Excused {
			style = theme.Break
		}
		text := numerics.ValueText(v)
		if v.Ops != "" {
			text += "; " + v.Ops
		}
		d.wrap(style, 2, text)
	}
}
