package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"tcdbg/explain"
	"tcdbg/explain/remedy"
	"tcdbg/logs"
	"tcdbg/tui/columns"
	"tcdbg/tui/keys"
	"tcdbg/tui/syntax"
	"tcdbg/tui/theme"
)

// This file is screen 4, Recompiles: what changed, who demanded that it must
// not, and what would have been reused?

// recompilesScreen is the Recompiles screen.
type recompilesScreen struct {
	pane
}

func newRecompiles() screen {
	return &recompilesScreen{pane{
		title:     keys.Title{Name: "Recompiles", Short: "Rec", Key: "4", Asks: "What changed, and which guard failed?"},
		leadLines: 2, detailed: true, orders: recompileOrders(),
		columns: columns.Of(
			"compile", "which one it was", "more", "how many more guards failed", "time", "what the compile took",
		),
	}}
}

func (*recompilesScreen) empty(sc *scene) []string {
	if sc.report.Unlogged(0) {
		return []string{"No recompiles logged.", "A text log holds what TORCH_LOGS asked for: recompiles logs them."}
	}
	if guards := sc.facts.counts.guards; guards > 0 {
		return []string{
			fmt.Sprintf("No recompiles: %s, none known to have failed.", count(guards, "guard")),
			"When a guard fails, this screen shows the call, the value that changed and the line that the guard comes from.",
		}
	}
	return []string{
		"No recompiles.",
		"When no cache entry fits a call, this screen shows the guard that failed and the line that it comes from.",
	}
}

func (*recompilesScreen) count(r *explain.Report) int { return r.Totals.Recompiles }

func (scr *recompilesScreen) lead(sc *scene, _ int) []theme.Line {
	r := sc.report
	if len(r.Recompiles) == 0 {
		return nil
	}
	c := &sc.facts.counts
	l := theme.Line{
		{Text: " " + count(r.Totals.Recompiles, "recompile"), Style: theme.Bold | theme.Recompile},
		{Text: " of " + count(c.again, "function")},
	}
	if c.againSeconds > 0 {
		l = append(l, theme.Span{Text: " · " + secondsOr(c.againSeconds)})
	}
	if refused := len(r.Recompiles) - r.Totals.Recompiles; refused > 0 {
		l = append(l, theme.Span{Text: fmt.Sprintf(" · %d more refused by the recompile limit", refused), Style: theme.Yellow})
	}
	if c.limit > 0 {
		they := "they run"
		if c.limit == 1 {
			they = "it runs"
		}
		l = append(l, theme.Span{Text: fmt.Sprintf(" · %s at the recompile limit: %s eagerly from then on",
			count(c.limit, "function"), they), Style: theme.Yellow})
	}
	return []theme.Line{l, nil}
}

// rows groups recompiles by function, in their order.
func (scr *recompilesScreen) rows(in *input) []row {
	by := map[*explain.Frame][]*explain.Recompile{}
	var order []*explain.Frame
	times := map[string]int{}
	for _, rc := range in.report.Recompiles {
		times[rc.Key]++
		var f *explain.Frame
		if rc.Compile != nil {
			f = rc.Compile.Frame
		}
		if by[f] == nil {
			order = append(order, f)
		}
		by[f] = append(by[f], rc)
	}
	var rows []row
	for i, f := range order {
		if f != nil {
			if i > 0 {
				rows = append(rows, &headRow{})
			}
			rows = append(rows, &chainRow{f: f})
		}
		for _, rc := range by[f] {
			rows = append(rows, &recompileRow{rc, times[rc.Key], scr.columns})
		}
	}
	return rows
}

// chainRow heads the recompiles of a function.
type chainRow struct {
	headRow
	f *explain.Frame
}

func (r *chainRow) draw(sc *scene, w int) theme.Line {
	tail := entries(len(r.f.Compiles))
	if r.f.Calls >= 0 {
		tail += fmt.Sprintf(" · %s, %s", count(int(r.f.Calls), "call"), count(int(r.f.Hits), "cache hit"))
	}
	if r.f.Status == explain.Limit {
		tail += " · limit reached"
	}
	return theme.Line{theme.T(theme.Bold, r.f.Title()+"  "), theme.T(theme.Faint, sc.place(r.f.Pos)+"  "+tail)}
}

// recompileRow is one compile after the first.
type recompileRow struct {
	rc    *explain.Recompile
	times int // that its cause made the function compile again
	shown *columns.Set
}

func recompileSel(rc *explain.Recompile) Selection {
	s := Selection{}
	if rc.Compile != nil {
		s = compileSel(rc.Compile)
	}
	s.Record = rc.Seq
	for _, g := range rc.Failures {
		if g.Pos.Line > 0 {
			s.Pos = placeOnly(g.Pos)
			break
		}
	}
	return s
}

func (r *recompileRow) key() string {
	if r.rc.Compile == nil {
		return "recompile " + r.rc.Key
	}
	return "recompile " + r.rc.Key + idText(r.rc.Compile.ID)
}
func (r *recompileRow) sel() Selection { return recompileSel(r.rc) }
func (r *recompileRow) matches(q string) bool {
	for _, g := range r.rc.Failures {
		if theme.IndexFold(g.Text, q) >= 0 || theme.IndexFold(g.Source, q) >= 0 || theme.IndexFold(g.Kind, q) >= 0 {
			return true
		}
	}
	c := r.rc.Compile
	return c != nil && (ofRank(c.ID, q) || c.Frame != nil &&
		(theme.IndexFold(c.Frame.Name, q) >= 0 || theme.IndexFold(c.Frame.Pos.File, q) >= 0))
}

func (r *recompileRow) draw(sc *scene, w int) theme.Line {
	id := explain.ID{CompileID: logs.NoCompile}
	if r.rc.Compile != nil {
		id = r.rc.Compile.ID
	}
	l := theme.Line{{Text: theme.GlyphRecompile + " ", Style: theme.Recompile}}
	if r.shown.On("compile") {
		l = append(l, theme.Span{Text: sc.idCell(id), Style: theme.Faint})
	}
	took := ""
	if s := r.seconds(); s > 0 && w >= timedRecompiles && r.shown.On("time") {
		took = "  " + theme.FitRight(secondsOr(s), 8)
	}
	l = append(l, r.why()...)
	if took == "" {
		return l
	}
	return append(l.Fit(max(0, w-theme.Width(took))), theme.Span{Text: took, Style: theme.Faint})
}

// timedRecompiles is the width from which a list says what each compile took.
const timedRecompiles = 44

// why says what changed.
func (r *recompileRow) why() theme.Line {
	if len(r.rc.Failures) == 0 {
		text := "reason not recorded"
		if len(r.rc.Raw) > 0 {
			text = r.rc.Raw[0]
		}
		return theme.Line{theme.T(theme.Plain, text)}
	}
	l := theme.Line{theme.T(theme.Plain, changed(r.rc.Failures[0]))}
	if n := len(r.rc.Failures); n > 1 && r.shown.On("more") {
		l = append(l, theme.Span{Text: fmt.Sprintf("  and %d more", n-1), Style: theme.Faint})
	}
	return l
}

// changed says what changed: x.size[0]  8 → 9.
func changed(g explain.GuardFailure) string {
	if g.Expected == "" && g.Actual == "" {
		if kind := g.Words(); kind != "" && g.Source != "" {
			return kind + ": " + userName(g.Source)
		}
		return g.Text
	}
	what, before, after := userName(g.Source), g.Expected, g.Actual
	if g.IsSize() {
		what += fmt.Sprintf(".size[%d]", g.Dim)
		before, after = dimension(before, g.Dim), dimension(after, g.Dim)
	} else if g.Kind != "" && g.Kind != "value" && !g.IsRelation() { // a relation shows itself
		what += " " + g.Kind
	}
	if after == "" { // not recorded
		return strings.TrimSpace(what + "  no longer " + before)
	}
	return strings.TrimSpace(fmt.Sprintf("%s  %s → %s", what, before, after))
}

// userName is a guard's source as the user wrote it: L['net'].Weight is
// net.Weight.
func userName(source string) string {
	rest, ok := strings.CutPrefix(source, "L['")
	if !ok {
		if rest, ok = strings.CutPrefix(source, "G['"); !ok {
			return source
		}
	}
	name, tail, ok := strings.Cut(rest, "']")
	if !ok {
		return source
	}
	return name + tail
}

// dimension is one size of a shape such as float32[8, 16]; what is no shape
// stays.
func dimension(shape string, dim int) string {
	_, sizes, ok := strings.Cut(strings.TrimSuffix(shape, "]"), "[")
	if !ok {
		return shape
	}
	if parts := strings.Split(sizes, ","); dim < len(parts) {
		return strings.TrimSpace(parts[dim])
	}
	return shape
}

// recompileDetail is the cause chain of one recompile.
func (scr *recompilesScreen) detail(sc *scene, r row, w int) *doc {
	d := newDoc(sc, w)
	rr, ok := r.(*recompileRow)
	if !ok {
		return d
	}
	rc := rr.rc
	name := "recompiled"
	if c := rc.Compile; c != nil && c.Frame != nil {
		name = c.Frame.Title() + " recompiled"
	}
	d.add(theme.T(theme.Recompile|theme.Bold, theme.GlyphRecompile+" "+name))
	if c := rc.Compile; c != nil {
		parts := []string{"compile " + idText(c.ID), string(c.Status)}
		if c.Seconds > 0 {
			parts = append(parts, secondsOr(c.Seconds))
		}
		if c.Cache != "" {
			parts = append(parts, "cache "+c.Cache)
		}
		d.wrap(theme.Faint, 2, strings.Join(parts, " · "))
	}
	d.fix(rc.Fix)
	docTried(d, "recompile", func() string { return remedy.KeyOf(sc.report, rc) })
	docFailures(d, rc)
	if c := rc.Compile; c != nil {
		docEntries(d, c.Frame, c)
		if len(c.Stack) > 0 {
			d.heading("THE CALL")
			d.stack(c.Stack)
		}
		docServed(d, c)
	}
	if len(rc.Raw) > 0 {
		d.heading("AS RECORDED")
		d.code(sc.hl, syntax.None, strings.Join(rc.Raw, "\n"))
	}
	return d
}

// docFailures lists every guard that failed, the first one in full.
func docFailures(d *doc, rc *explain.Recompile) {
	for i, g := range rc.Failures {
		if i == 0 {
			d.heading("WHAT CHANGED")
		} else if i == 1 {
			d.heading("ALSO FAILED")
		}
		head := "  "
		if g.Entry != "" {
			head += "entry " + g.Entry + "  "
		}
		d.add(theme.T(theme.Faint, head), theme.T(theme.Bold, changed(g)))
		if g.Expected != "" || g.Actual != "" {
			d.wrap(theme.Faint, 4, "failed guard: "+g.Text)
		}
		if g.Pos.File != "" {
			d.place(g.Pos)
		}
	}
	switch {
	case len(rc.Failures) != 1:
	case rc.Complete:
		d.wrap(theme.Faint, 2, "No other guard of that entry failed: without this one the entry would have been reused.")
	default:
		d.wrap(theme.Faint, 2, "The trace records only the first guard that failed in each entry: others may have failed too.")
	}
}

// docEntries lists the compiles of a function, this one marked.
func docEntries(d *doc, f *explain.Frame, at *explain.Compile) {
	if f == nil {
		return
	}
	d.heading("CACHE ENTRIES OF " + f.Title())
	for i, c := range f.Compiles {
		if i == maxLinks {
			d.add(theme.T(theme.Faint, fmt.Sprintf("  and %d more", len(f.Compiles)-i)))
			break
		}
		mark, why := "  ", "first call"
		if c == at {
			mark = theme.GlyphCursor + " "
		}
		if c.Recompile != nil {
			why = "again"
			if len(c.Recompile.Failures) > 0 {
				why = changed(c.Recompile.Failures[0])
			}
		}
		d.link(
			compileSel(c), theme.T(theme.Recompile, mark), theme.T(theme.Plain, d.sc.idCell(c.ID)),
			theme.T(theme.Faint, theme.Fit(string(c.Status), 14)), theme.T(theme.Plain, why),
		)
	}
}

// Below is how recompiles are sorted: the functions by what their recompiles come to, and below each heading
// its recompiles by the same.

// chain is the recompiles of a function that are shown.
type chain struct {
	head int32 // the heading; -1: the function is not known
	rows []chained
}

// chained is a recompile, and which of all rows it is.
type chained struct {
	i int32
	*recompileRow
}

// recompileOrder sorts recompiles. of compares those of one function, and where a filter leaves no
// headings all of them; chains compares functions by theirs.
func recompileOrder(of func(a, b chained) int, chains func(a, b []chained) int) func(rows rowsOf, shown []int32) {
	return func(rows rowsOf, shown []int32) {
		list, blanks := chainsOf(rows, shown)
		for i := range list {
			slices.SortStableFunc(list[i].rows, of)
		}
		slices.SortStableFunc(list, func(a, b chain) int {
			if a.head < 0 || b.head < 0 { // what has no heading comes before all that have one
				return cmp.Compare(a.head, b.head)
			}
			return chains(a.rows, b.rows)
		})
		at := 0
		put := func(i int32) {
			shown[at] = i
			at++
		}
		for i, c := range list {
			if i > 0 && len(blanks) > 0 {
				put(blanks[0])
				blanks = blanks[1:]
			}
			if c.head >= 0 {
				put(c.head)
			}
			for _, r := range c.rows {
				put(r.i)
			}
		}
		for _, i := range blanks {
			put(i)
		}
	}
}

// chainsOf groups what is shown by function; where no heading is, all of it is one group. blanks are
// the empty lines between groups.
func chainsOf(rows rowsOf, shown []int32) (list []chain, blanks []int32) {
	at := map[*explain.Frame]int{}
	of := func(f *explain.Frame) *chain {
		k, ok := at[f]
		if !ok {
			k = len(list)
			at[f], list = k, append(list, chain{head: -1})
		}
		return &list[k]
	}
	for _, i := range shown {
		if r, ok := rows.At(int(i)).(*chainRow); ok {
			of(r.f).head = i
		}
	}
	headed := len(list) > 0
	for _, i := range shown {
		switch r := rows.At(int(i)).(type) {
		case *recompileRow:
			var f *explain.Frame
			if headed && r.rc.Compile != nil {
				f = r.rc.Compile.Frame
			}
			c := of(f)
			c.rows = append(c.rows, chained{i, r})
		case *chainRow:
		default:
			blanks = append(blanks, i)
		}
	}
	return list, blanks
}

// recompileOrders are the ways to sort recompiles.
func recompileOrders() []order {
	sum := func(rows []chained) (s float64) {
		for _, r := range rows {
			s += r.seconds()
		}
		return s
	}
	first := func(of func(a, b chained) int) func(a, b []chained) int {
		return func(a, b []chained) int { return of(a[0], b[0]) }
	}
	newest := func(a, b chained) int { return cmp.Or(b.start().Compare(a.start()), cmp.Compare(b.i, a.i)) }
	byLine := func(a, b chained) int { return comparePos(recompileSel(a.rc).Pos, recompileSel(b.rc).Pos) }
	return []order{
		{name: "by function, as they came"},
		{
			name: "most compile time first", lacks: "no compile was timed",
			arrange: recompileOrder(
				func(a, b chained) int { return cmp.Compare(b.seconds(), a.seconds()) },
				func(a, b []chained) int { return cmp.Compare(sum(b), sum(a)) },
			),
			has: func(r row) bool {
				rc, ok := r.(*recompileRow)
				return ok && rc.seconds() > 0
			},
		},
		{name: "most often first", arrange: recompileOrder(
			func(a, b chained) int { return cmp.Compare(b.times, a.times) },
			func(a, b []chained) int { return cmp.Compare(len(b), len(a)) },
		)},
		{name: "by line", arrange: recompileOrder(byLine, first(byLine))},
		{name: "newest first", arrange: recompileOrder(newest, first(newest)), newest: true},
	}
}

// seconds is what the compile took.
func (r *recompileRow) seconds() float64 {
	if r.rc.Compile == nil {
		return 0
	}
	return r.rc.Compile.Seconds
}

// start is when the compile began; the zero time where that is not known.
func (r *recompileRow) start() (t time.Time) {
	if r.rc.Compile != nil {
		t = r.rc.Compile.Start
	}
	return t
}
