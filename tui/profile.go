package tui

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/tui/columns"
	"tcdbg/tui/keys"
	"tcdbg/tui/theme"
)

// This file is screen %, Profile: where does a steady step spend its time?

// profileScreen is the Profile screen.
type profileScreen struct {
	pane
}

func newProfile() screen {
	return &profileScreen{pane{
		title:     keys.Title{Name: "Profile", Short: "Prf", Key: "%", Asks: "Where does a steady step spend its time?"},
		leadLines: 3, detailed: true, share: 0.62,
		columns: columns.Of(
			"a step", "its time in a steady step", "share", "its part of the step", "calls", "calls in a step", "kind", "what it is",
			"place", "the line",
		),
		orders: []order{
			{name: "most time first"},
			{
				name: "most calls first", lacks: "calls were not counted",
				arrange: betweenHeads(func(a, b *costRow) int { return cmp.Compare(b.c.Calls, a.c.Calls) }),
				has:     ofRows(func(r *costRow) bool { return r.c.Calls > 0 }),
			},
			{name: "by kind", arrange: betweenHeads(func(a, b *costRow) int { return cmp.Compare(a.c.Kind, b.c.Kind) })},
			{name: "by name", arrange: betweenHeads(func(a, b *costRow) int { return strings.Compare(a.c.Text(), b.c.Text()) })},
			{
				name: "by line", lacks: "no place is known",
				arrange: betweenHeads(func(a, b *costRow) int { return comparePos(a.c.Pos, b.c.Pos) }),
				has:     ofRows(func(r *costRow) bool { return r.c.Pos.File != "" }),
			},
		},
	}}
}

func (*profileScreen) empty(sc *scene) []string {
	lines := []string{
		"No steps were recorded.",
		"tcdbg exec --profile -- python train.py records steady steps with torch.profiler.",
		"A Chrome trace that a program has written itself: tcdbg replay TRACE chrome.json",
	}
	for _, s := range sc.report.Side {
		if s.Kind == "profile" {
			lines = append(lines, "! "+s.Text)
		}
	}
	return lines
}

func (*profileScreen) count(r *explain.Report) int { return len(r.Profiles) }

// absent says that a run without recorded steps has no tab for them.
func (*profileScreen) absent(r *explain.Report) bool { return !r.Profiled() }

func (*profileScreen) lead(sc *scene, _ int) []theme.Line {
	ps := sc.report.Profiles
	if len(ps) == 0 {
		return nil
	}
	s := ps[0].Summary()
	out := []theme.Line{theme.L(theme.Bold, " "+s[0]), theme.L(theme.Plain, " "+s[1])}
	switch {
	case len(ps) > 1:
		out[0] = theme.L(theme.Bold, " "+count(len(ps), "process")+"; of the first: "+s[0])
	case len(s) > 2:
		return append(out, theme.L(theme.Faint, " "+s[2]))
	}
	return append(out, nil)
}

func (scr *profileScreen) rows(in *input) []row {
	var rows []row
	for _, p := range in.report.Profiles {
		if len(in.report.Profiles) > 1 {
			rows = append(rows, &headRow{text: profileName(p) + ": " + p.Summary()[0]})
		}
		rows = append(rows, &headRow{draws: func(*scene, int) theme.Line {
			figures, kind := costCells(scr.columns, "A STEP", "share", "calls", "KIND")
			return theme.L(theme.Faint, figures+kind+"WHAT")
		}})
		for i, c := range p.Costs() {
			rows = append(rows, &costRow{p, c, i, in.report, scr.columns})
		}
	}
	return rows
}

func profileName(p *explain.Profile) string {
	if p.Rank >= 0 {
		return fmt.Sprintf("rank %d", p.Rank)
	}
	return filepath.Base(p.File)
}

// costRow is one thing that took time in the steps.
type costRow struct {
	p *explain.Profile
	c *explain.Cost
	n int
	r *explain.Report

	shown *columns.Set
}

// costCells are the figures of a row, and its kind.
func costCells(c *columns.Set, step, share, calls, kind string) (figures, kinds string) {
	figures = columns.Text(c.Fit(columns.Plenty, columns.Cell{Name: "a step", Width: -9, Text: step},
		columns.Cell{Name: "share", Width: -6, Text: share}, columns.Cell{Name: "calls", Width: -6, Text: calls}))
	if figures != "" {
		figures += "  "
	}
	if c.On("kind") {
		kinds = columns.Padded(8, kind) + " "
	}
	return figures, kinds
}

func (r *costRow) key() string { return fmt.Sprintf("%s %d %s", r.p.File, r.n, r.c.Text()) }

func (r *costRow) sel() Selection {
	s := Selection{}
	if r.c.Pos.Line > 0 {
		s = posSel(r.c.Pos)
	}
	if r.c.Of != nil {
		s.HasID, s.ID = true, r.c.Of.ID
	}
	if r.c.Kind == explain.KernelCost {
		s.Kernel = r.c.Name
	}
	if g := r.group(); g != nil && (r.c.Kind == explain.LeftCost || r.c.Kind == explain.IdleCost) {
		s.Break = g.Key
	}
	return s
}

// group is the cause of the break that the row is about.
func (r *costRow) group() *explain.BreakGroup {
	if r.c.Break == nil {
		return nil
	}
	for _, g := range r.r.Breaks {
		for _, b := range g.Breaks {
			if b == r.c.Break {
				return g
			}
		}
	}
	return nil
}

func (r *costRow) matches(q string) bool {
	return theme.IndexFold(r.c.Text(), q) >= 0 || theme.IndexFold(string(r.c.Kind), q) >= 0 || theme.IndexFold(r.c.Pos.File, q) >= 0
}

// costStyles colours the kinds.
var costStyles = map[explain.CostKind]theme.Style{
	explain.GraphCost: theme.Compiled, explain.KernelCost: theme.Compiled, explain.ExternCost: theme.Accent,
	explain.EagerCost: theme.Eager, explain.LookupCost: theme.Guard, explain.LeftCost: theme.Break, explain.IdleCost: theme.Red,
}

func (r *costRow) draw(sc *scene, w int) theme.Line {
	c := r.c
	calls := ""
	if c.Calls > 0 {
		calls = fmt.Sprintf("%.3g", float64(c.Calls)/float64(max(1, len(r.p.Steps))))
	}
	figures, kind := costCells(r.shown, nanos(r.p.PerStep(c.Worth())), explain.Share(c.Worth(), r.p.Total()), calls, string(c.Kind))
	l := theme.Line{{Text: figures}, {Text: kind, Style: costStyles[c.Kind]}, {Text: c.Text()}}
	if place := c.Place(func(p logs.Pos) string { return sc.place(p) }); place != "" && r.shown.On("place") {
		l = append(l, theme.Span{Text: "  " + place, Style: theme.Faint})
	}
	return l
}

// enter opens what a row is about.
func (*profileScreen) enter(r row) (keys.Screen, bool) {
	cr, ok := r.(*costRow)
	switch {
	case !ok:
		return 0, false
	case cr.c.Kind == explain.GraphCost || cr.c.Kind == explain.ExternCost:
		return keys.Graph, cr.c.Of != nil
	case cr.c.Kind == explain.LookupCost:
		return keys.Guards, cr.c.Of != nil
	}
	s := cr.sel()
	return screenFor(s), s != Selection{}
}

func (*profileScreen) detail(sc *scene, r row, w int) *doc {
	d := newDoc(sc, w)
	cr, ok := r.(*costRow)
	if !ok {
		return d
	}
	c, p := cr.c, cr.p
	d.add(theme.T(theme.Bold, c.Text()))
	if place := c.Place(func(p logs.Pos) string { return sc.place(p) }); place != "" {
		d.labelled("where", place)
	}
	if c.Nanos >= 0 {
		d.labelled("processor", fmt.Sprintf("%s %s, %s of it", nanos(p.PerStep(c.Nanos)), p.Of(), explain.Share(c.Nanos, p.Total())))
	}
	if p.Device {
		d.labelled("GPU", costDevice(p, c))
	}
	if c.Calls > 0 {
		d.labelled("calls", fmt.Sprintf("%d in %s, %s each", c.Calls, count(len(p.Steps), "step"), nanos(c.Worth()/c.Calls)))
	}
	d.blank()
	d.wrap(theme.Plain, 0, costMeaning[c.Kind])
	if g := cr.group(); g != nil {
		d.blank()
		d.wrap(theme.Break, 0, g.Lead.Title())
		if g.Fix.Text != "" {
			d.wrap(theme.Plain, 2, g.Fix.Label()+g.Fix.Text)
		}
	}
	d.heading("THE STEPS")
	for _, s := range p.Summary() {
		d.wrap(theme.Plain, 2, s)
	}
	d.labelled("from", strings.TrimPrefix(filepath.Base(p.File), "."))
	return d
}

func costDevice(p *explain.Profile, c *explain.Cost) string {
	switch {
	case c.Kind == explain.IdleCost:
		return nanos(p.PerStep(c.Device)) + " " + p.Of() + " without work"
	case c.Device == 0:
		return "nothing was launched"
	}
	return nanos(p.PerStep(c.Device)) + " " + p.Of() + " of work"
}

// costMeaning says what the time of a row holds.
var costMeaning = map[explain.CostKind]string{
	explain.GraphCost:  "Calls of a compiled graph, with its kernels and the code that calls them.",
	explain.KernelCost: "A kernel that Inductor generated. Its time is in its graph's, too.",
	explain.ExternCost: "An operator of a library that the graph calls. Its time is in its graph's, too.",
	explain.EagerCost: "An operator that ran outside of graphs: after a break, in a function that is not compiled, " +
		"in the backward pass, or in the optimizer.",
	explain.LookupCost: "Testing the guards of the entries until one fits.",
	explain.LeftCost: "What the calls of this entry spend after their graph, without the parts that go on: the operators that break it, " +
		"Python, and finding the entry of the next part. Without the break it is not there.",
	explain.IdleCost: "The GPU had finished what this entry gave it, and waited for the next kernel.",
}
