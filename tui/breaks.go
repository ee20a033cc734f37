package tui

import (
	"cmp"
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/tui/columns"
	"tcdbg/tui/keys"
	"tcdbg/tui/syntax"
	"tcdbg/tui/theme"
)

// This file is screen 3, Breaks: which causes, worst first, and how do I
// remove each?

// noiseGroup is the fold of breaks inside the framework.
const noiseGroup = "noise"

// breaksScreen is the Breaks screen.
type breaksScreen struct {
	pane
}

func newBreaks() screen {
	return &breaksScreen{pane{
		title: keys.Title{
			Name: "Breaks", Short: "Brk", Key: "3",
			Asks: "Breaks by cost, worst first: why does each happen, and how do I fix it?",
		},
		columns: columns.Of(
			"times", "how often it happened", "a call", "what a steady call loses by it", "compiling", "the compile time that it costs",
		),
		leadLines: 2, detailed: true, view: view{folds: map[string]bool{noiseGroup: true}},
		orders: []order{
			{name: "causes first"},
			{name: "most compile time first", compare: breakOrder(func(a, b *breakRow) int {
				return cmp.Compare(b.g.Seconds, a.g.Seconds)
			})},
			{name: "most often first", compare: breakOrder(func(a, b *breakRow) int { return cmp.Compare(b.g.Times(), a.g.Times()) })},
			{name: "by line", compare: breakOrder(func(a, b *breakRow) int { return comparePos(a.g.Lead.Pos, b.g.Lead.Pos) })},
		},
	}}
}

// breakOrder compares breaks; those inside the framework stay below their heading, at the end.
func breakOrder(compare func(a, b *breakRow) int) func(a, b row) int {
	part := func(r row) int {
		b, ok := r.(*breakRow)
		switch {
		case !ok:
			return 1
		case b.fold != "":
			return 2
		}
		return 0
	}
	return func(a, b row) int {
		if x, y := part(a), part(b); x != y || x == 1 {
			return cmp.Compare(x, y)
		}
		return compare(a.(*breakRow), b.(*breakRow))
	}
}

func (*breaksScreen) empty(sc *scene) []string {
	if len(sc.report.Frames) == 0 {
		return []string{
			"Nothing was compiled, so nothing broke.",
			"A graph break is a place where the compiler had to stop capturing and let the program run on its own.",
		}
	}
	if n := sc.report.Totals.Failures; n > 0 {
		return []string{
			"No graph breaks, but " + count(n, "failure") + ": the Overview names the line and the fix.",
			"Under fullgraph a break is an error.",
		}
	}
	if sc.report.Unlogged(0) {
		return []string{"No graph breaks logged.", "A text log holds what TORCH_LOGS asked for: graph_breaks logs them."}
	}
	return []string{
		"No graph breaks: every function was captured whole.",
		"A break would show here with its cause, its line, the graphs before and after it, and how to fix it.",
	}
}

func (*breaksScreen) count(r *explain.Report) int { return r.Totals.DistinctBreaks }

func (scr *breaksScreen) lead(sc *scene, _ int) []theme.Line {
	t := sc.report.Totals
	if t.DistinctBreaks == 0 {
		return nil
	}
	c := &sc.facts.counts
	l := theme.Line{
		{Text: fmt.Sprintf(" %s at %s", count(t.Breaks, "break"), count(t.DistinctBreaks, "place")), Style: theme.Bold | theme.Break},
	}
	said := count(c.causes, "cause")
	if c.framework > 0 {
		said += " in your code"
	}
	l = append(l, theme.Span{Text: " · " + said})
	switch {
	case c.fixable == 0:
	case c.fixable == c.causes && c.causes == 1:
		l = append(l, theme.Span{Text: ", it has a fix", Style: theme.Green})
	case c.fixable == c.causes:
		l = append(l, theme.Span{Text: ", all have a fix", Style: theme.Green})
	default:
		l = append(l, theme.Span{Text: fmt.Sprintf(", %d with a fix", c.fixable), Style: theme.Green})
	}
	return []theme.Line{l, nil}
}

// act folds the breaks inside the framework, or shows, writes and undoes a fix.
func (scr *breaksScreen) act(sc *scene, a keys.Action) (tea.Cmd, bool) {
	switch a {
	case keys.Fold, keys.FoldAll:
		toggle(scr.folds, noiseGroup)
		return scr.refilter(), true
	case keys.PreviewFix, keys.ApplyFix:
		scr.openFix(sc, a == keys.ApplyFix)
	case keys.UndoFix:
		return undoFix(sc), true
	default:
		return nil, false
	}
	return nil, true
}

// times is "once", "12 times".
func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func (scr *breaksScreen) rows(in *input) []row {
	var rows []row
	var noise []row
	shown := map[*explain.BreakGroup]bool{}
	var add func(g *explain.BreakGroup, depth int)
	add = func(g *explain.BreakGroup, depth int) {
		if shown[g] || g.Lead == nil {
			return
		}
		shown[g] = true
		if g.Lead.Noise {
			noise = append(noise, &breakRow{g, 1, noiseGroup, scr})
		} else {
			rows = append(rows, &breakRow{g, depth, "", scr})
		}
		for _, c := range g.Causes {
			add(c, depth+1)
		}
	}
	for _, g := range in.report.Breaks {
		if g.CausedBy == nil {
			add(g, 0)
		}
	}
	for _, g := range in.report.Breaks {
		add(g, 0)
	}
	if len(noise) > 0 {
		rows = append(rows, &noiseRow{len(noise), scr})
		rows = append(rows, noise...)
	}
	return rows
}

// breakRow is one root cause.
type breakRow struct {
	g     *explain.BreakGroup
	depth int
	fold  string
	scr   *breaksScreen
}

func (r *breakRow) key() string    { return "break " + r.g.Key }
func (r *breakRow) group() string  { return r.fold }
func (r *breakRow) sel() Selection { return groupSel(r.g) }
func (r *breakRow) matches(q string) bool {
	b := r.g.Lead
	for _, met := range r.g.Breaks {
		if met.Compile != nil && ofRank(met.Compile.ID, q) {
			return true
		}
	}
	return theme.IndexFold(b.Code, q) >= 0 || theme.IndexFold(b.Type, q) >= 0 || theme.IndexFold(b.Title(), q) >= 0 ||
		theme.IndexFold(b.Pos.File, q) >= 0 ||
		theme.IndexFold(b.Pos.Func, q) >= 0 || theme.IndexFold(b.Pos.Code, q) >= 0 || theme.IndexFold(b.Explanation, q) >= 0
}

func (r *breakRow) draw(sc *scene, w int) theme.Line {
	b := r.g.Lead
	glyph, style := theme.GlyphBreak, theme.Break
	if b.Noise {
		glyph, style = theme.GlyphSkipped, theme.Noise
	}
	indent := theme.Spaces(2 * r.depth)
	switch {
	case b.Noise:
	case r.scr != nil && r.scr.order.sorted(): // sorted: a break is no longer below its cause
		indent = ""
	case r.depth > 0:
		indent = theme.Spaces(2*r.depth-2) + "└ "
	}
	tail := ""
	if n := r.g.Times(); n > 1 && r.shows("times") {
		tail = fmt.Sprintf(" ×%d", n)
	}
	tail += r.cost(w)
	place := sc.placeIn(b.Pos, max(10, w/2-4))
	if place == "" {
		place = "(no place)"
	}
	why := breakTitle(b)
	l := theme.Line{
		{Text: indent, Style: theme.Faint},
		{Text: glyph + " ", Style: style},
		{Text: place + "  "},
		theme.T(style&theme.Noise, why),
	}
	l = l.Fit(max(0, w-theme.Width(tail)))
	return append(l, theme.Span{Text: tail, Style: theme.Faint})
}

// shows says that the user does not hide a column.
func (r *breakRow) shows(name string) bool { return r.scr == nil || r.scr.columns.On(name) }

// cost is what a steady call loses, with the compile time beside it; each says which it is, where there is room.
func (r *breakRow) cost(w int) string {
	var out []string
	if r.g.LeftNanos > 0 && r.shows("a call") {
		out = append(out, nanos(r.g.LeftNanos)+" a call")
	}
	switch compiling := secondsOr(r.g.Seconds); {
	case !r.shows("compiling"):
	case r.g.Seconds > 0 && w >= 60:
		out = append(out, compiling+" compiling")
	case r.g.Seconds > 0 && len(out) == 0:
		out = append(out, compiling)
	}
	if w < 40 || len(out) == 0 {
		return ""
	}
	return " " + strings.Join(out, ", ")
}

// breakTitle is the short reason.
func breakTitle(b *explain.Break) string {
	if t := b.Title(); t != "" {
		return t
	}
	first, _, _ := strings.Cut(strings.TrimSpace(b.Raw), "\n")
	if first == "" {
		return "graph break"
	}
	return first
}

// noiseRow heads the breaks inside the framework.
type noiseRow struct {
	n   int
	scr *breaksScreen
}

func (r *noiseRow) key() string         { return "break noise" }
func (r *noiseRow) matches(string) bool { return false }
func (r *noiseRow) sel() Selection      { return Selection{} }
func (r *noiseRow) draw(*scene, int) theme.Line {
	glyph := theme.GlyphOpen
	if r.scr.folds[noiseGroup] {
		glyph = theme.GlyphFolded
	}
	return theme.Line{
		{Text: fmt.Sprintf("%s framework breaks: %s inside torch or the standard library", glyph, count(r.n, "break")), Style: theme.Noise},
	}
}

// breakDetail answers, in this order: what and how bad, where, why, and how to
// remove it.
func (scr *breaksScreen) detail(sc *scene, r row, w int) *doc {
	d := newDoc(sc, w)
	row, ok := r.(*breakRow)
	if !ok {
		d.wrap(
			theme.Plain, 0,
			"Breaks inside torch or the standard library happen once in every program that uses these parts, and there is nothing "+
				"in your code to change. z unfolds them.",
		)
		return d
	}
	g, b := row.g, row.g.Lead
	d.add(theme.T(theme.Break|theme.Bold, theme.GlyphBreak+" "+strings.TrimSpace(b.Code+"  "+breakTitle(b))))
	d.wrap(theme.Faint, 2, breakFacts(g))
	d.blank()
	d.place(b.Pos)
	d.fix(g.Fix)
	docTried(d, "break", func() string { return g.Key })
	if b.Explanation != "" {
		d.heading("WHY")
		d.wrap(theme.Plain, 2, b.Explanation)
	}
	if b.Type != "" && b.Type != breakTitle(b) {
		d.wrap(theme.Faint, 2, "PyTorch's name: "+b.Type)
	}
	docValue(d, b)
	docAround(d, b)
	docChains(d, g)
	docHints(d, b, g)
	docRelated(d, g)
	docMet(d, g)
	if b.Context != "" {
		d.heading("DEVELOPER DEBUG CONTEXT")
		d.wrap(theme.Faint, 2, b.Context)
	}
	if b.Raw != "" && b.Raw != b.Context {
		d.heading("AS RECORDED")
		d.code(sc.hl, syntax.None, b.Raw)
	}
	return d
}

// breakFacts is one sentence on how bad a break is.
func breakFacts(g *explain.BreakGroup) string {
	b := g.Lead
	var parts []string
	if b.Fixability != "" {
		parts = append(parts, b.Fixability)
	}
	if g.Times() > 0 {
		parts = append(parts, "seen in "+count(g.Times(), "compile"))
	} else {
		parts = append(parts, "hit while another break was handled")
	}
	if b.Outcome != "" {
		parts = append(parts, b.Outcome)
	}
	if len(g.Lost) > 0 {
		parts = append(parts, "makes "+strings.Join(g.Lost, ", ")+" run eagerly")
	}
	if g.LeftNanos > 0 {
		parts = append(parts, nanos(g.LeftNanos)+" a call outside of graphs")
	}
	if g.Memory != nil {
		parts = append(parts, g.Memory.Text())
	}
	if g.Graphs > 0 {
		parts = append(parts, "adds "+count(g.Graphs, "graph"))
	}
	if g.Seconds > 0 {
		parts = append(parts, secondsOr(g.Seconds)+" compiling the resumed part")
	}
	if g.EagerOps >= 0 {
		parts = append(parts, count(int(g.EagerOps), "operator")+" run eagerly")
	} else {
		parts = append(parts, "eager operators: not in the trace")
	}
	return strings.Join(parts, " · ")
}

// docValue shows how the offending value came about.
func docValue(d *doc, b *explain.Break) {
	if len(b.Value) == 0 {
		return
	}
	d.heading("WHERE THE VALUE COMES FROM")
	col := d.sc.placeColumn(b.Value, d.width)
	for i, p := range b.Value {
		arrow := "  "
		if i > 0 {
			arrow = "→ "
		}
		d.link(
			posSel(p), theme.T(theme.Plain, "  "+arrow+theme.Fit(theme.Clean(explain.FunctionOf(p, nil)), 18)+" "),
			theme.T(theme.Accent, d.sc.placeCell(p, col)), theme.T(theme.Faint, strings.TrimSpace(p.Code)),
		)
	}
}

// docAround shows the graphs on both sides.
func docAround(d *doc, b *explain.Break) {
	if len(b.Before) == 0 && b.After == nil {
		return
	}
	d.heading("GRAPHS AROUND THE BREAK")
	if len(b.Before) > 0 {
		sel := Selection{}
		if b.Compile != nil {
			sel = compileSel(b.Compile)
			sel.Pos = logs.Pos{}
		}
		d.link(sel, theme.T(theme.Compiled, "  before  "), theme.T(theme.Plain, opList(b.Before, max(20, d.width-12))))
	}
	if b.After != nil {
		sel := Selection{HasID: true, ID: b.After.ID}
		d.link(sel, theme.T(theme.Compiled, "  after   "), theme.T(theme.Plain, opList(b.After.Ops, max(20, d.width-12))))
	}
}

// maxChains is how many call chains are shown whole.
const maxChains = 5

// docChains shows from where the place was reached.
func docChains(d *doc, g *explain.BreakGroup) {
	chains := g.Chains
	if len(chains) == 0 && len(g.Lead.Stack) > 1 {
		chains = [][]logs.Pos{g.Lead.Stack}
	}
	if len(chains) == 0 {
		return
	}
	d.heading("CALLED FROM")
	for i, chain := range chains {
		if i == maxChains {
			d.add(theme.T(theme.Faint, fmt.Sprintf("  and %d more", len(chains)-i)))
			break
		}
		if i > 0 {
			d.add(theme.T(theme.Faint, "  or"))
		}
		d.stack(chain)
	}
}

func docHints(d *doc, b *explain.Break, g *explain.BreakGroup) {
	if len(b.Hints) == 0 {
		return
	}
	d.heading("HINTS")
	for _, h := range b.Hints {
		d.wrap(theme.Plain, 2, "- "+h)
	}
}

// docRelated links to the cause and the consequences.
func docRelated(d *doc, g *explain.BreakGroup) {
	if g.CausedBy != nil && g.CausedBy.Lead != nil {
		d.heading("CAUSED BY")
		d.link(
			groupSel(g.CausedBy),
			theme.T(theme.Plain, "  "+theme.GlyphBreak+" "+d.sc.place(g.CausedBy.Lead.Pos)+"  "+breakTitle(g.CausedBy.Lead)),
		)
	}
	if len(g.Causes) == 0 {
		return
	}
	d.heading("CAUSES")
	for _, c := range g.Causes {
		if c.Lead != nil {
			d.link(groupSel(c), theme.T(theme.Plain, "  "+theme.GlyphBreak+" "+d.sc.place(c.Lead.Pos)+"  "+breakTitle(c.Lead)))
		}
	}
}

// docMet lists the compiles that met the break.
func docMet(d *doc, g *explain.BreakGroup) {
	d.heading("SEEN IN")
	for i, b := range g.Breaks {
		if i == 20 {
			d.add(theme.T(theme.Faint, fmt.Sprintf("  and %d more", len(g.Breaks)-i)))
			break
		}
		if b.Compile == nil || b.Compile.Frame == nil {
			continue
		}
		c := b.Compile
		d.link(
			Selection{HasID: true, ID: c.ID}, theme.T(theme.Plain, "  "+d.sc.idCell(c.ID)+c.Frame.Title()),
			theme.T(theme.Faint, "  "+b.Outcome),
		)
	}
}
