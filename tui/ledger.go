package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"tcdbg/explain"
	"tcdbg/explain/remedy"
	"tcdbg/tui/columns"
	"tcdbg/tui/keys"
	"tcdbg/tui/prompt"
	"tcdbg/tui/syntax"
	"tcdbg/tui/theme"
)

// This file is screen $, Ledger: which remedies hold what they promise? Its rows are trials,
// the proven ones first, then what can still be tried. The trials themselves are the feed's.

// Trials is a feed whose program can run again under remedies. A feed without it has no
// Ledger.
type Trials interface {
	// Ledger returns what was tried; nil where nothing was.
	Ledger() *remedy.Ledger
	// Remedies lists what can be tried for the report (reads), and what cannot and why; it
	// fails where the program cannot run again.
	Remedies() ([]*remedy.Remedy, []remedy.Untried, error)
	// Try begins to try remedies one after the other (reads); all: and then together. It
	// fails where the program cannot run again, or trials are running.
	Try(list []*remedy.Remedy, all bool) error
	// EndAfter has each trial end after so many outermost calls of compiled functions, 0: at
	// its own end. What was tried before then counts no more.
	EndAfter(calls int) error
	// CancelTrials ends what Try began, and reports whether there was anything.
	CancelTrials() bool
	// ApplyRemedies writes the patches of remedies into the user's files (writes), all or
	// none, and says how many; UndoRemedies takes the last ones back.
	ApplyRemedies(list []*remedy.Remedy) (int, error)
	UndoRemedies() error
}

// ledgerScreen is the Ledger screen.
type ledgerScreen struct {
	pane
}

// What the keys of the screen do.
const (
	tryRow keys.Action = keys.Own + iota
	applyRow
	undoRow
	cancelTrials
	endAfter
)

func newLedger() screen {
	const group = "Trials of remedies"
	return &ledgerScreen{pane{
		title: keys.Title{
			Name: "Ledger", Short: "Ldg", Key: "$", Asks: "Which remedies hold what they promise?",
		},
		leadLines: 2, detailed: true, share: 0.62, columns: trialColumnsOf(), orders: trialOrders(),
		keys: []keys.Binding{
			keys.Bind(tryRow, "try it", group, 1, "t"),
			keys.Bind(applyRow, "apply what is proven (asks)", group, 1, "a"),
			keys.Bind(undoRow, "take it back", group, 1, "u"),
			keys.Bind(cancelTrials, "cancel", group, 1, "c"),
			keys.Bind(endAfter, "end each trial after so many calls", group, 2, "S"),
		},
	}}
}

func trialsOf(feed Feed) Trials {
	t, _ := feed.(Trials)
	return t
}

func ledgerOf(feed Feed) *remedy.Ledger {
	if t := trialsOf(feed); t != nil {
		return t.Ledger()
	}
	return nil
}

func (*ledgerScreen) empty(sc *scene) []string {
	if trialsOf(sc.feed) == nil || !sc.run.Again && ledgerOf(sc.feed) == nil {
		return []string{
			"Nothing was tried: this run cannot run again from here.",
			"tcdbg try runs a program under each remedy of what was found.",
		}
	}
	return []string{
		"Nothing was tried yet.",
		"t on Overview, Breaks and Recompiles runs the program again with the remedy of the row, T with every one, W with a switch " +
			"that it asks for; your files stay as they are. " +
			"Here is then what each changed: breaks, recompiles, times, memory, and whether the results are the same.",
	}
}

// absent says that a run of which nothing was tried has no tab for it.
func (scr *ledgerScreen) absent(*explain.Report) bool { return scr.all == nil || scr.all.Len() == 0 }

func (scr *ledgerScreen) count(*explain.Report) int {
	n := 0
	for i := range scr.Len() {
		if r, ok := scr.at(i).(*trialRow); ok && r.t.Verdict.Proven {
			n++
		}
	}
	return n
}

func (scr *ledgerScreen) lead(sc *scene, w int) []theme.Line {
	l := ledgerOf(sc.feed)
	if l == nil {
		return nil
	}
	if p := l.Running; p != nil {
		text := theme.GlyphRunning + " trying " + p.What
		if p.Of > 0 && p.N > 0 {
			text += fmt.Sprintf(" (%d of %d)", p.N, p.Of)
		}
		took := sc.now().Sub(p.Start).Round(1e9)
		return []theme.Line{
			theme.Line{theme.T(theme.Bold|theme.Yellow, " "+text), {Text: fmt.Sprintf(" · %s", took)}}.Fit(w),
			theme.L(theme.Faint, "   c or esc cancels; the program's own files stay as they are"),
		}
	}
	proven := 0
	ranked := l.Ranked()
	for _, t := range ranked {
		if t.Verdict.Proven {
			proven++
		}
	}
	style := theme.Bold | theme.Green
	if proven == 0 {
		style = theme.Bold | theme.Yellow
	}
	text := fmt.Sprintf(" %d of %s proven", proven, count(len(ranked), "trial"))
	if len(ranked) == 0 {
		style, text = theme.Faint, " nothing was tried yet"
	}
	first := theme.Line{theme.T(style, text)}
	if l.Stopped != "" {
		first = append(first, theme.T(theme.Yellow, " · "+l.Stopped))
	}
	second := ""
	switch {
	case l.Unstable != "":
		second = "results differ from run to run: " + l.Unstable
	case l.Together != nil && len(l.Together.Remedies) > 1:
		second = "best together: " + l.Together.ID()
	case l.Steps > 0:
		second = fmt.Sprintf("each trial is ended after %d calls", l.Steps)
	}
	return []theme.Line{first.Fit(w), theme.L(theme.Faint, "   "+second).Fit(w)}
}

func (scr *ledgerScreen) rows(in *input) []row {
	l := ledgerOf(in.feed)
	if l == nil {
		return nil
	}
	var rows []row
	if l.Baseline != nil {
		rows = append(rows, &headRow{draws: func(_ *scene, w int) theme.Line {
			return trialLine(scr.columns, theme.Faint, " ", "TRIAL", remedy.Columns, w)
		}}, &trialRow{l, l.Baseline, scr.columns})
	}
	for _, t := range l.Ranked() {
		rows = append(rows, &trialRow{l, t, scr.columns})
	}
	var open []row
	for _, r := range l.Remedies {
		if l.Trial(r.ID) == nil {
			open = append(open, &remedyRow{r})
		}
	}
	if len(open) > 0 {
		rows = append(append(rows, apart(rows)...), &headRow{text: "CAN BE TRIED"})
		rows = append(rows, open...)
	}
	if len(l.Untried) > 0 {
		rows = append(append(rows, apart(rows)...), &headRow{text: "WITHOUT A TRIAL"})
	}
	for i := range l.Untried {
		rows = append(rows, &untriedRow{&l.Untried[i]})
	}
	return rows
}

// apart is the empty line between what is above, if there is anything, and a heading.
func apart(above []row) []row {
	if len(above) == 0 {
		return nil
	}
	return []row{&headRow{}}
}

// trialColumns are the widths of the figures of a trial, and in which order they go where there is
// no room; 0: never.
var trialColumns = []struct{ width, goes int }{{6, 0}, {10, 0}, {6, 5}, {7, 2}, {9, 4}, {8, 1}, {8, 0}, {4, 3}}

// trialName is what the name of a trial has at least.
const trialName = 22

// trialLine is a line of the table.
func trialLine(shown *columns.Set, style theme.Style, mark, name string, figures []string, w int) theme.Line {
	all := make([]columns.Cell, len(figures))
	for i, f := range figures {
		all[i] = columns.Cell{Name: remedy.Columns[i], Width: trialColumns[i].width, Text: f, Goes: trialColumns[i].goes}
	}
	cells := shown.Fit(w-2-trialName, all...)
	plain := theme.Plain | style&theme.Faint
	l := theme.Line{theme.T(style, mark+" "), theme.T(plain, theme.Fit(theme.Clean(name), max(8, w-2-columns.Room(cells))))}
	for _, c := range cells {
		s, text := plain, c.Text.(string)
		if text == "DIFFER" {
			s = theme.Break | theme.Bold
		}
		l = append(l, theme.T(s, " "+theme.FitRight(text, c.Width)))
	}
	return l.Fit(w)
}

// trialColumnsOf are the columns that can be hidden.
func trialColumnsOf() *columns.Set {
	var text []string
	for i, name := range remedy.Columns {
		text = append(text, name, trialAbout[i])
	}
	return columns.Of(text...)
}

// trialAbout says what the columns are.
var trialAbout = []string{
	"graph breaks", "compiles after the first", "graphs captured", "the time of the compiles", "the time of a steady call",
	"the most memory of the process", "whether they are those of the baseline", "how the program ended",
}

// trialRow is one trial.
type trialRow struct {
	l     *remedy.Ledger
	t     *remedy.Trial
	shown *columns.Set
}

func (r *trialRow) key() string    { return tryKey(r.t.ID()) }
func (r *trialRow) sel() Selection { return Selection{} }
func (r *trialRow) matches(q string) bool {
	return theme.IndexFold(r.t.ID()+r.t.Text+r.t.Verdict.Why, q) >= 0
}

func (r *trialRow) draw(_ *scene, w int) theme.Line {
	style := theme.Break
	switch {
	case len(r.t.Remedies) == 0:
		style = theme.Plain
	case r.t.Verdict.Proven:
		style = theme.Green | theme.Bold
	}
	return trialLine(r.shown, style, r.t.Mark(), r.t.ID(), r.t.Cells(), w)
}

// trialOrders sort trials by what was measured; the baseline stays above them.
func trialOrders() []order {
	by := func(name string, worth func(m *remedy.Measured) (float64, bool)) order {
		of := func(r *trialRow) (float64, bool) {
			if r.t.Measured == nil {
				return 0, false
			}
			return worth(r.t.Measured)
		}
		return order{
			name: name, lacks: "nothing was measured",
			arrange: betweenHeads(func(a, b *trialRow) int {
				x, one := of(a)
				y, other := of(b)
				baseline := cmp.Compare(bit(len(a.t.Remedies) > 0), bit(len(b.t.Remedies) > 0))
				return cmp.Or(baseline, cmp.Compare(bit(!one), bit(!other)), cmp.Compare(x, y))
			}),
			has: ofRows(func(r *trialRow) bool {
				_, ok := of(r)
				return ok && len(r.t.Remedies) > 0
			}),
		}
	}
	return []order{
		{name: "proven first"},
		by("fewest breaks first", func(m *remedy.Measured) (float64, bool) { return figure(m.Breaks) }),
		by("shortest call first", func(m *remedy.Measured) (float64, bool) { return figure(m.CallMS) }),
		by("shortest compile first", func(m *remedy.Measured) (float64, bool) { return figure(m.CompileSeconds) }),
		by("least memory first", func(m *remedy.Measured) (float64, bool) { return figure(m.PeakRSS) }),
	}
}

// figure is a number that may not have been measured.
func figure[T int | int64 | float64](n *T) (float64, bool) {
	if n == nil {
		return 0, false
	}
	return float64(*n), true
}

// tryKey is the key of a remedy's row, tried or not: the cursor stays on it when it becomes a trial.
func tryKey(id string) string { return "try " + id }

// remedyRow is a remedy that was not tried.
type remedyRow struct{ r *remedy.Remedy }

func (r *remedyRow) key() string           { return tryKey(r.r.ID) }
func (r *remedyRow) sel() Selection        { return Selection{} }
func (r *remedyRow) matches(q string) bool { return theme.IndexFold(r.r.ID+r.r.Text, q) >= 0 }
func (r *remedyRow) draw(_ *scene, w int) theme.Line {
	glyph := theme.T(theme.Faint, theme.GlyphSkipped+" ")
	return theme.Line{glyph, theme.T(theme.Plain, r.r.ID), theme.T(theme.Faint, "  "+r.r.Text)}.Fit(w)
}

// untriedRow is a finding for which there is nothing to try.
type untriedRow struct{ u *remedy.Untried }

func (r *untriedRow) key() string           { return "untried " + r.u.Kind + r.u.Key }
func (r *untriedRow) sel() Selection        { return Selection{} }
func (r *untriedRow) matches(q string) bool { return theme.IndexFold(r.u.What+r.u.Why, q) >= 0 }
func (r *untriedRow) draw(_ *scene, w int) theme.Line {
	return theme.Line{{Text: theme.GlyphSkipped + " ", Style: theme.Faint}, theme.T(theme.Faint, r.u.What+"  "+r.u.Place)}.Fit(w)
}

func (scr *ledgerScreen) detail(sc *scene, r row, w int) *doc {
	d := newDoc(sc, w)
	switch r := r.(type) {
	case *trialRow:
		docTrial(d, r.l, r.t)
	case *remedyRow:
		docRemedy(d, r.r)
		d.blank()
		d.wrap(theme.Faint, 0, "t tries it.")
	case *untriedRow:
		d.wrap(theme.Bold, 0, strings.TrimSpace(r.u.What+"  "+r.u.Place))
		d.blank()
		d.wrap(theme.Plain, 0, r.u.Why)
	}
	return d
}

// docTrial says what a trial proved or why it did not, and all its figures.
func docTrial(d *doc, l *remedy.Ledger, t *remedy.Trial) {
	switch {
	case len(t.Remedies) == 0:
		d.wrap(theme.Bold, 0, "the program as it is")
	case t.Verdict.Proven:
		d.wrap(theme.Bold|theme.Green, 0, theme.GlyphDone+" proven: "+t.Verdict.Why)
	default:
		d.wrap(theme.Bold|theme.Break, 0, theme.GlyphFailed+" not proven: "+t.Verdict.Why)
	}
	if t.Reason != "" && t.Reason != t.Verdict.Why {
		d.wrap(theme.Plain, 0, t.Reason)
	}
	for _, id := range t.Remedies {
		if r := l.Remedy(id); r != nil {
			d.blank()
			docRemedy(d, r)
		}
	}
	d.heading("MEASURED")
	for i, c := range t.Cells() {
		name := remedy.Columns[i]
		if l.Baseline != nil && t != l.Baseline && name != "results" {
			c += theme.Spaces(max(1, 10-theme.Width(c))) + "baseline " + l.Baseline.Cells()[i]
		}
		d.labelled(name, c)
	}
	if m := t.Measured; m != nil {
		if m.Steady > 0 {
			d.labelled("steady", fmt.Sprintf("%d of %d, after the last compile", m.Steady, *m.Calls))
		}
		for _, name := range []string{"breaks", "compile_seconds", "call_ms", "peak_rss_bytes", "exit"} {
			if why := m.Missing[name]; why != "" {
				d.wrap(theme.Faint, 2, strings.ReplaceAll(name, "_", " ")+": not measured, "+why)
			}
		}
	}
	switch c := t.Compared; {
	case c == nil:
	case !c.Equal:
		d.heading("FIRST DIFFERENCE")
		d.wrap(theme.Plain, 2, c.First)
	default:
		d.heading("RESULTS")
		d.wrap(theme.Plain, 2, "compared: "+c.What())
		for _, limit := range c.Limits {
			d.wrap(theme.Faint, 2, "not compared: "+limit)
		}
	}
}

// docRemedy says what a remedy does.
func docRemedy(d *doc, r *remedy.Remedy) {
	d.wrap(theme.Bold, 0, r.ID)
	d.wrap(theme.Plain, 2, r.Text)
	for _, f := range r.Findings {
		if f.What != "" {
			d.wrap(theme.Faint, 2, "for "+f.What+"  "+f.Place)
		}
	}
	if r.Note != "" {
		d.wrap(theme.Yellow, 2, r.Note)
	}
	for _, h := range r.Hunks {
		for _, line := range h.Lines {
			d.add(append(theme.Line{{Text: "  "}}, d.sc.hl.Line(syntax.Diff, line)...)...)
		}
	}
}

func (scr *ledgerScreen) act(sc *scene, a keys.Action) (tea.Cmd, bool) {
	t := trialsOf(sc.feed)
	if t == nil || a < keys.Own && a != keys.Back {
		return nil, false
	}
	switch a {
	case keys.Back:
		if l := t.Ledger(); l == nil || l.Running == nil || scr.inside || !t.CancelTrials() {
			return nil, false
		}
		sc.say("the trials are being cancelled")
	case tryRow:
		scr.touched = true // the cursor stays on what is tried
		return tryList(sc, scr.remedies(), false), true
	case applyRow:
		scr.openApply(sc)
	case undoRow:
		return func() tea.Msg {
			if err := t.UndoRemedies(); err != nil {
				return statusMsg{"nothing was taken back: " + err.Error(), true}
			}
			return statusMsg{text: "taken back: your files are as they were before"}
		}, true
	case endAfter:
		return sc.prompt.Start("end each trial after how many calls (0: at its end) ", "", prompt.Typed{Accept: askedEnd(t)}), true
	case cancelTrials:
		if !t.CancelTrials() {
			sc.fail("no trial is running")
		} else {
			sc.say("the trials are being cancelled")
		}
	default:
		return nil, false
	}
	return nil, true
}

// askedEnd takes the number of calls that was typed.
func askedEnd(t Trials) func(text string) tea.Cmd {
	return func(text string) tea.Cmd {
		return func() tea.Msg {
			n, err := strconv.Atoi(strings.TrimSpace(text))
			if err != nil || n < 0 {
				return statusMsg{"nothing changed: that is no number of calls", true}
			}
			if err := t.EndAfter(n); err != nil {
				return statusMsg{"nothing changed: " + err.Error(), true}
			}
			if n == 0 {
				return statusMsg{text: "trials run to their end"}
			}
			return statusMsg{text: fmt.Sprintf("trials end after %s", count(n, "call"))}
		}
	}
}

// remedies are those of the selected row.
func (scr *ledgerScreen) remedies() []*remedy.Remedy {
	switch r := scr.selected().(type) {
	case *remedyRow:
		return []*remedy.Remedy{r.r}
	case *trialRow:
		var out []*remedy.Remedy
		for _, id := range r.t.Remedies {
			if m := r.l.Remedy(id); m != nil {
				out = append(out, m)
			}
		}
		return out
	}
	return nil
}

// applySheet asks whether to write what a trial has proven.
type applySheet struct {
	sheet
	sc   *scene
	list []*remedy.Remedy
}

// openApply asks whether to write what the selected row proves.
func (scr *ledgerScreen) openApply(sc *scene) {
	r, ok := scr.selected().(*trialRow)
	switch {
	case !ok || len(r.t.Remedies) == 0:
		sc.fail("select a trial first: this row is not one")
		return
	case !r.t.Verdict.Proven:
		sc.fail("it is not proven: " + r.t.Verdict.Why)
		return
	}
	o := &applySheet{sheet{title: "What is proven"}, sc, scr.remedies()}
	patches := 0
	for _, m := range o.list {
		for _, h := range m.Hunks {
			for _, l := range h.Lines {
				o.add(sc.hl.Line(syntax.Diff, l))
			}
		}
		if m.Patch() {
			patches++
		}
		for _, s := range m.Switches {
			o.add(theme.L(theme.Yellow, "set it yourself: "+s.SetBy(r.l.Go)))
		}
	}
	o.add(nil)
	if patches == 0 {
		o.list = nil
		o.add(theme.L(theme.Faint, "a setting has no patch: any key closes this"))
	} else {
		o.add(theme.Line{theme.T(theme.Bold, "Write "+count(patches, "patch")+"?"), {Text: "  y: yes, any other key: no"}})
	}
	sc.over = o
}

// key writes the patches after y.
func (o *applySheet) key(k string) (tea.Cmd, bool) {
	o.sc.over = nil
	if k != "y" || o.list == nil {
		o.sc.say("nothing was written")
		return nil, true
	}
	t, next, list := trialsOf(o.sc.feed), o.sc.afterChange(), o.list
	return func() tea.Msg {
		n, err := t.ApplyRemedies(list)
		if err != nil {
			return statusMsg{"nothing was written: " + err.Error(), true}
		}
		return statusMsg{text: fmt.Sprintf("%s written; %s, u takes it back", count(n, "patch"), next)}
	}, true
}

// try tries the remedy of the selected row of Overview, Breaks or Recompiles, or every one.
func (m *Model) try(a keys.Action) tea.Cmd {
	sc := &m.sc
	t := trialsOf(sc.feed)
	if t == nil {
		sc.fail("nothing can be tried of this trace: tcdbg try runs a program under remedies")
		return nil
	}
	kind, key := "", ""
	if a == keys.Try {
		if kind, key = findingOf(m.current().selected(), sc.report); kind == "" {
			sc.fail("select a break, a recompile or an advice first: this row is none")
			return nil
		}
	}
	return func() tea.Msg {
		list, untried, err := t.Remedies()
		if err != nil {
			return statusMsg{"nothing can be tried: " + err.Error(), true}
		}
		if kind != "" {
			list = remedy.ForFinding(list, kind, key)
		}
		if len(list) == 0 {
			return statusMsg{"nothing can be tried: " + whyUntried(untried, kind, key), true}
		}
		return onUI(func(*scene) tea.Cmd {
			return m.tryThere(list, kind == "")
		})
	}
}

// trySwitch asks for a switch and tries it, whether a finding asks for it or not.
func (m *Model) trySwitch() tea.Cmd {
	sc := &m.sc
	t := trialsOf(sc.feed)
	if t == nil {
		sc.fail("nothing can be tried of this trace: tcdbg try runs a program under switches")
		return nil
	}
	inGo := sc.report.OfGo()
	offered := remedy.RunWide(inGo)
	at := -1
	return sc.prompt.Start("try the whole program with (up and down: what there is) ", "", prompt.Typed{
		Move: func(n int) {
			at = max(0, min(at+n, len(offered)-1))
			sc.prompt.Set(offered[at])
		},
		Accept: func(text string) tea.Cmd {
			return func() tea.Msg {
				list, _, err := t.Remedies()
				var one *remedy.Remedy
				if err == nil {
					one, err = remedy.Asked(list, strings.TrimSpace(text), inGo)
				}
				if err != nil {
					return statusMsg{"nothing is tried: " + err.Error(), true}
				}
				return onUI(func(*scene) tea.Cmd {
					return m.tryThere([]*remedy.Remedy{one}, false)
				})
			}
		},
	})
}

// tryThere opens the Ledger and begins to try remedies, with the cursor on the first where not all are tried.
func (m *Model) tryThere(list []*remedy.Remedy, all bool) tea.Cmd {
	m.open(keys.Ledger)
	if !all {
		m.pane(keys.Ledger).goTo(tryKey(list[0].ID))
	}
	return tryList(&m.sc, list, all)
}

// tryList begins to try remedies.
func tryList(sc *scene, list []*remedy.Remedy, all bool) tea.Cmd {
	t := trialsOf(sc.feed)
	if len(list) == 0 {
		sc.fail("there is nothing to try on this row")
		return nil
	}
	return func() tea.Msg {
		if err := t.Try(list, all); err != nil {
			return statusMsg{"nothing is tried: " + err.Error(), true}
		}
		return nil
	}
}

// findingOf is the finding that a row is about, as remedies name it; "" for none.
func findingOf(r row, report *explain.Report) (kind, key string) {
	switch r := r.(type) {
	case *breakRow:
		return "break", r.g.Key
	case *recompileRow:
		return "recompile", remedy.KeyOf(report, r.rc)
	case *failureRow:
		return "failure", remedy.KeyOfFailure(r.f)
	case *adviceRow:
		switch {
		case r.a.Break != nil:
			return "break", r.a.Break.Key
		case r.a.Cause != nil && len(r.a.Cause.Recompiles) > 0:
			return "recompile", remedy.KeyOf(report, r.a.Cause.Recompiles[0])
		}
	}
	return "", ""
}

// whyUntried says why there is no remedy for a finding.
func whyUntried(untried []remedy.Untried, kind, key string) string {
	for _, u := range untried {
		if u.Kind == kind && u.Key == key {
			return u.Why
		}
	}
	if kind == "" {
		return "there is no remedy for what was found"
	}
	return "there is no remedy for this finding"
}

// docTried says what became of the remedies for a finding on this program: those that worked
// first, what failed below.
func docTried(d *doc, kind string, key func() string) {
	l := ledgerOf(d.sc.feed)
	if l == nil || len(l.Trials) == 0 {
		return
	}
	var mine []*remedy.Trial
	of := remedy.ForFinding(l.Remedies, kind, key())
	for _, t := range l.Ranked() {
		if len(t.Remedies) == 1 && slices.ContainsFunc(of, func(m *remedy.Remedy) bool { return m.ID == t.Remedies[0] }) {
			mine = append(mine, t)
		}
	}
	if len(mine) == 0 {
		return
	}
	d.heading("TRIED ON THIS PROGRAM")
	for _, t := range mine {
		style, word := theme.Break, theme.GlyphFailed+" not proven: "
		if t.Verdict.Proven {
			style, word = theme.Green, theme.GlyphDone+" proven: "
		}
		d.wrap(theme.Plain, 2, t.ID())
		d.wrap(style, 4, word+t.Verdict.Why)
	}
}
