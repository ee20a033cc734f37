package tui

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"tcdbg/explain"
	"tcdbg/explain/fusion"
	"tcdbg/logs"
	"tcdbg/tui/columns"
	"tcdbg/tui/keys"
	"tcdbg/tui/pairs"
	"tcdbg/tui/schedule"
	"tcdbg/tui/syntax"
	"tcdbg/tui/theme"
)

// This file is screen 7, Fusion: what did the compiler do, one step at a time,
// and why not more? Below is the schedule at a step: which kernels there are and what they look like, before and
// after. Nothing of it is kept in the trace; the feed makes the state of any step again when it is looked at.

// fusionScreen is the Fusion screen.
type fusionScreen struct {
	pane
	states kept[schedule.State] // schedules at steps
	lines  kept[fusion.Lines]   // of the nodes of a graph
	maker  schedule.Maker
	made   string // row that schedules were last made for
}

func newFusion() screen {
	return &fusionScreen{
		pane: pane{
			title:     keys.Title{Name: "Fusion", Short: "Fus", Key: "7", Asks: "What did each pass do, and why was nothing more fused?"},
			leadLines: 2, detailed: true, share: 0.34,
			view: view{folds: map[string]bool{lostGroup: true, equalGroup: true}},
		},
		states: newKept[schedule.State](maxStates), lines: newKept[fusion.Lines](maxStates),
	}
}

func (*fusionScreen) empty(sc *scene) []string {
	if sc.report.Totals.Kernels > 0 && sc.report.OfGo() {
		return []string{"No fusion decisions were recorded.", "A graph whose operators make one kernel has none to make."}
	}
	if sc.report.Totals.Kernels > 0 {
		return []string{
			"This trace records no fusion decisions.",
			"PyTorch writes them to its text logs only: run under tcdbg exec, or set TORCH_LOGS=fusion,schedule,ir_pre_fusion and " +
				"open the log together with the trace.",
			"I lowers a graph of the trace with our own Inductor, whose decisions are shown with their reasons.",
		}
	}
	return []string{
		"No pass over a graph is recorded so far.",
		"Every pass over a graph and every decision to fuse two nodes (or not, and why) appears here as a step: " +
			"← and → go through them.",
	}
}

func (scr *fusionScreen) lead(sc *scene, w int) []theme.Line {
	fused, refused, saved := sc.facts.counts.fused, sc.facts.counts.refused, sc.facts.counts.saved
	if fused+refused+len(sc.report.Passes) == 0 {
		return nil
	}
	l := theme.Line{
		{Text: fmt.Sprintf(" %s %d fused", theme.GlyphDone, fused), Style: theme.Bold | theme.Green},
		{Text: fmt.Sprintf("  %s %d not fused", theme.GlyphFailed, refused), Style: theme.Red},
	}
	if saved > 0 {
		l = append(l, theme.Span{Text: " · " + bytesText(saved) + " of memory traffic saved"})
		if n := sc.facts.counts.uncounted; n > 0 {
			l = append(l, theme.Span{Text: fmt.Sprintf(" by %d of them", fused-n), Style: theme.Faint})
		}
	}
	if n := len(sc.report.Passes); n > 0 {
		l = append(l, theme.Span{Text: fmt.Sprintf(" · %d pass steps", n)})
	}
	if scr.hide {
		l = append(l, theme.Span{Text: " · steps that change nothing are hidden", Style: theme.Faint})
	}
	return []theme.Line{l, scr.lost(sc, w)}
}

// lost is the pair that costs most by not being fused, and how many there are.
func (scr *fusionScreen) lost(sc *scene, w int) theme.Line {
	n := sc.facts.counts.apart
	if n == 0 {
		return nil
	}
	if scr.folds[stepsGroup] {
		return theme.L(theme.Faint, " by the bytes that both kernels of a pair move: one kernel would move them once, at most so many less")
	}
	var most *fusion.View
	for _, f := range sc.report.Fusions {
		if v := sc.facts.fusions[f]; v != nil && len(v.Losses) > 0 && (most == nil || v.Losses[0].Bytes > most.Losses[0].Bytes) {
			most = v
		}
	}
	if most == nil {
		return nil
	}
	x := &most.Losses[0]
	l := theme.L(theme.Plain, " not fused and most moved: up to "+bytesText(x.Bytes)+" by "+(&lossRow{most, 0}).pair()+": "+x.Reason)
	more := theme.Span{Text: " · v: all " + strconv.Itoa(n), Style: theme.Faint}
	return append(l.Fit(min(l.Width(), max(0, w-theme.Width(more.Text)))), more)
}

// rows lists the passes and decisions of each compile in their order.
func (*fusionScreen) rows(in *input) []row {
	names := map[compileKey]string{}
	for _, f := range in.report.Frames {
		for _, c := range f.Compiles {
			names[keyOf(c.ID)] = f.Title()
		}
	}
	var order []compileKey
	runs := map[compileKey][]passOrFusion{}
	ids := map[compileKey]explain.ID{}
	add := func(id explain.ID, x passOrFusion) {
		k := keyOf(id)
		if _, ok := ids[k]; !ok {
			ids[k] = id
			order = append(order, k)
		}
		runs[k] = append(runs[k], x)
	}
	for _, p := range in.report.Passes {
		add(p.ID, passOrFusion{seq: p.Seq, pass: p})
	}
	for _, f := range in.report.Fusions {
		seq := f.Seq
		if f.Start == nil {
			seq = math.MaxInt64 // told by text logs: after what the trace has
		}
		add(f.ID, passOrFusion{seq: seq, fusion: f})
	}
	rows := loweredRows(in.report.Lowered)
	head := func(text string) { rows = append(rows, &groupHead{headRow{text: text}, stepsGroup}) }
	for i, k := range order {
		if i > 0 || len(rows) > 0 {
			head("")
		}
		head(strings.TrimSpace(idText(ids[k]) + " " + names[k]))
		slices.SortStableFunc(runs[k], func(a, b passOrFusion) int { return cmp.Compare(a.seq, b.seq) })
		rows = append(rows, passesAndFusions(in, runs[k])...)
	}
	return append(rows, lossRows(in)...)
}

// passesAndFusions are the rows of one compile. PyTorch's logs have a schedule for the forward graph, one for the
// backward graph and one for each part of a graph, and do not say which is which.
func passesAndFusions(in *input, list []passOrFusion) (rows []row) {
	schedules, n := 0, 0
	for _, x := range list {
		if x.fusion != nil && x.fusion.Start == nil {
			schedules++
		}
	}
	for _, x := range list {
		if x.pass != nil {
			rows = append(rows, &passRow{x.pass})
			continue
		}
		which := ""
		if x.fusion.Start == nil {
			if n++; schedules > 1 {
				which = fmt.Sprintf(" · schedule %d of %d", n, schedules)
			}
		}
		rows = append(rows, fusionSteps(in.facts.fusions[x.fusion], which)...)
	}
	return rows
}

// passOrFusion is one thing that was done to a graph.
type passOrFusion struct {
	seq    int64
	pass   *explain.PassRun
	fusion *explain.Fusion
}

// The groups of rows: the steps, and of these the refusals that are equal to others of their
// round; and what was not fused by the bytes it costs. One of the first and last is folded.
const (
	stepsGroup = "steps"
	equalGroup = "equal"
	lostGroup  = "lost"
)

// groupHead is a heading that is folded with its group.
type groupHead struct {
	headRow
	of string
}

func (r *groupHead) group() string { return r.of }

// scheduled is what decisions are about: PyTorch counts calls of libraries and nodes without code, too, and writes
// several nodes into one kernel.
func scheduled(f *explain.Fusion) string {
	if f.Start == nil {
		return "node"
	}
	return "kernel"
}

// manyEqual is how many refusals of one reason in a round are one row.
const manyEqual = 8

// fusionSteps are the decisions on one graph; which says which one it is, where that is not plain.
func fusionSteps(v *fusion.View, which string) []row {
	f := v.Fusion
	head := func(text string) row { return &groupHead{headRow{text: text}, stepsGroup} }
	if len(f.Steps) == 0 {
		text := "no fusion candidates"
		if f.After > 0 {
			text = count(f.After, scheduled(f)) + ": " + text + which
		}
		return []row{head(text)}
	}
	equal := v.Equal()
	var rows []row
	round := -1
	for i := range f.Steps {
		s := &f.Steps[i]
		if s.Round != round {
			round = s.Round
			text := fmt.Sprintf("fusion round %d", round)
			if body := explain.FlowBody(f.Graph); body != "" {
				text += " of " + theme.Clean(body)
			}
			if f.Before > 0 && i == 0 {
				text += which + fmt.Sprintf("   %d → %s", f.Before, count(f.After, scheduled(f)))
			}
			rows = append(rows, head(text))
		}
		of := stepsGroup
		if e := equal[i]; e != nil && e.Times >= manyEqual {
			if of = equalGroup; e.First == i {
				rows = append(rows, &equalRow{v, e})
			}
		}
		rows = append(rows, &stepRow{v, i, of})
	}
	return rows
}

// equalRow stands for the refusals of one reason in one round.
type equalRow struct {
	v *fusion.View
	*fusion.Equal
}

func (r *equalRow) group() string       { return stepsGroup }
func (r *equalRow) quiet() bool         { return true }
func (r *equalRow) matches(string) bool { return false } // a filter looks for the pairs
func (r *equalRow) sel() Selection      { return Selection{HasID: true, ID: r.v.Fusion.ID} }
func (r *equalRow) key() string {
	return fmt.Sprintf("equal %s %s %d %d", idText(r.v.Fusion.ID), r.v.Fusion.Graph, r.v.Fusion.Seq, r.First)
}

func (r *equalRow) draw(_ *scene, w int) theme.Line {
	l := theme.Line{{Text: theme.GlyphFailed + " ", Style: theme.Red}, {Text: fmt.Sprintf("%d × ", r.Times)}}
	l = append(l, theme.T(theme.Plain, strings.TrimSuffix(theme.Clean(r.Reason), ".")))
	if r.Bytes > 0 {
		l = append(l, theme.Span{Text: ", up to " + bytesText(r.Bytes) + " a pair", Style: theme.Faint})
	}
	return l.Fit(w)
}

func (r *equalRow) detail(d *doc) {
	d.add(theme.T(theme.Red|theme.Bold, theme.GlyphFailed+" "+count(r.Times, "pair")+" not fused: "), theme.T(theme.Bold, r.Reason))
	if means := fusion.Means(r.v.Fusion.Steps[r.First].Reason); means != "" {
		d.wrap(theme.Plain, 2, means)
	}
	d.wrap(theme.Faint, 2, "z shows the pairs one by one; v lists what was not fused by the bytes that it costs.")
}

// lossRows list what was not fused, the costliest first, and below it the reasons.
func lossRows(in *input) []row {
	var rows []row
	var views []*fusion.View
	for _, f := range in.report.Fusions {
		views = append(views, in.facts.fusions[f])
	}
	pairs := fusion.Apart(views)
	if len(pairs) == 0 {
		return nil
	}
	head := func(text string) { rows = append(rows, &groupHead{headRow{text: text}, lostGroup}) }
	if pairs[0].Loss().Bytes >= 0 {
		head("NOT FUSED, BY BYTES LOST")
	} else {
		head("NOT FUSED; the trace does not tell what the nodes read and write")
	}
	for _, p := range pairs {
		rows = append(rows, &lossRow{p.View, p.At})
	}
	for _, f := range in.report.Fusions {
		if v := in.facts.fusions[f]; len(v.Reasons) > 0 {
			head("")
			head("REASONS  " + idText(f.ID))
			for i := range v.Reasons {
				rows = append(rows, &reasonRow{v, i})
			}
		}
	}
	return rows
}

// lossRow is two kernels that were not fused.
type lossRow struct {
	v *fusion.View
	i int
}

func (r *lossRow) loss() *fusion.Loss { return &r.v.Losses[r.i] }
func (r *lossRow) step() *stepRow     { return &stepRow{r.v, r.loss().Step(), lostGroup} }
func (r *lossRow) pair() string       { return theme.Clean(r.step().pair()) }
func (r *lossRow) group() string      { return lostGroup }
func (r *lossRow) key() string        { return "loss " + r.step().key() }
func (r *lossRow) sel() Selection     { return r.step().sel() }
func (r *lossRow) matches(q string) bool {
	return r.step().matches(q)
}

func (r *lossRow) draw(_ *scene, w int) theme.Line {
	x := r.loss()
	l := theme.Line{
		{Text: theme.GlyphFailed + " ", Style: theme.Red}, {Text: columns.Padded(-10, lostText(x.Bytes)) + "  ", Style: theme.Bold},
	}
	pair := r.pair()
	l = append(l, theme.Span{Text: theme.Cut(pair, min(theme.Width(pair), max(12, (w-14)/2))) + "  "})
	return append(l, theme.Span{Text: theme.Cut(theme.Clean(x.Reason), max(0, w-l.Width())), Style: theme.Faint})
}

func lostText(n int64) string {
	if n < 0 {
		return "?"
	}
	return bytesText(n)
}

// reasonRow is all refusals of one reason in a graph.
type reasonRow struct {
	v *fusion.View
	i int
}

func (r *reasonRow) reason() *fusion.Reason { return &r.v.Reasons[r.i] }
func (r *reasonRow) group() string          { return lostGroup }
func (r *reasonRow) key() string {
	return fmt.Sprintf("reason %s %d %s", idText(r.v.Fusion.ID), r.v.Fusion.Seq, r.reason().Words)
}
func (r *reasonRow) sel() Selection        { return Selection{HasID: true, ID: r.v.Fusion.ID} }
func (r *reasonRow) matches(q string) bool { return theme.IndexFold(r.reason().Words, q) >= 0 }

func (r *reasonRow) draw(_ *scene, w int) theme.Line {
	x := r.reason()
	l := theme.Line{{Text: fmt.Sprintf("%6d × ", x.Times)}, theme.T(theme.Plain, theme.Clean(x.Words))}
	if x.Bytes > 0 {
		l = append(l, theme.Span{Text: ", up to " + bytesText(x.Bytes) + " a pair", Style: theme.Faint})
	}
	return l.Fit(w)
}

func (r *reasonRow) detail(d *doc) {
	x := r.reason()
	d.add(theme.T(theme.Bold, x.Words))
	if x.Means != "" {
		d.wrap(theme.Plain, 2, x.Means)
	}
	d.wrap(theme.Faint, 2, fmt.Sprintf("%s · %s of kernels that stayed apart", count(x.Times, "refusal"), count(x.Pairs, "pair")))
}

// passRow is one pass, or one rewrite within it.
type passRow struct{ p *explain.PassRun }

func (r *passRow) key() string {
	return fmt.Sprintf("pass %s %s %d %d", idText(r.p.ID), r.p.Step.Pass, r.p.Step.Index, r.p.Seq)
}
func (r *passRow) sel() Selection { return Selection{HasID: true, ID: r.p.ID} }
func (r *passRow) quiet() bool    { return r.p.Step.Before == r.p.Step.After }
func (r *passRow) group() string  { return stepsGroup }
func (r *passRow) matches(q string) bool {
	return about(r.p.ID, logs.Pos{}, q) || theme.IndexFold(r.p.Step.Pass, q) >= 0 || theme.IndexFold(r.p.Step.Stage, q) >= 0
}

func (r *passRow) draw(_ *scene, w int) theme.Line {
	s := r.p.Step
	glyph := theme.Span{Text: "≡ ", Style: theme.Accent}
	if r.quiet() {
		glyph = theme.Span{Text: "· ", Style: theme.Faint}
	}
	tail := ""
	if s.Micros > 0 {
		tail = " " + nanos(s.Micros*1000)
	}
	l := theme.Line{glyph, theme.T(theme.Plain, s.Pass), theme.T(theme.Faint, "  "+s.Stage)}
	return append(l.Fit(max(0, w-len(tail))), theme.Span{Text: tail, Style: theme.Faint})
}

// stepRow is one decision of the scheduler.
type stepRow struct {
	v  *fusion.View
	i  int
	of string // its group
}

func (r *stepRow) group() string          { return r.of }
func (r *stepRow) step() *logs.FusionStep { return &r.v.Fusion.Steps[r.i] }
func (r *stepRow) key() string {
	return fmt.Sprintf("fusion %s %s %d %d", idText(r.v.Fusion.ID), r.v.Fusion.Graph, r.v.Fusion.Seq, r.i)
}
func (r *stepRow) sel() Selection { return Selection{HasID: true, ID: r.v.Fusion.ID} }
func (r *stepRow) quiet() bool    { return !r.step().Fused }
func (r *stepRow) matches(q string) bool {
	s := r.step()
	return about(r.v.Fusion.ID, logs.Pos{}, q) || theme.IndexFold(s.A, q) >= 0 || theme.IndexFold(s.B, q) >= 0 ||
		theme.IndexFold(s.Reason, q) >= 0 || theme.IndexFold(s.Result, q) >= 0 || theme.IndexFold(r.pair(), q) >= 0
}

// pair names the two nodes by their operators where they are known.
func (r *stepRow) pair() string {
	s := r.step()
	a, b := r.v.Fusion.Label(s.A), r.v.Fusion.Label(s.B)
	if a == b && a != s.A {
		return a + " (" + s.A + " + " + s.B + ")"
	}
	return a + " + " + b
}

func (r *stepRow) draw(_ *scene, w int) theme.Line {
	s := r.step()
	glyph := theme.Span{Text: theme.GlyphFailed + " ", Style: theme.Red}
	tail := theme.Clean(s.Reason)
	if s.Fused {
		glyph = theme.Span{Text: theme.GlyphDone + " ", Style: theme.Green}
		if tail = ""; r.v.Bytes[r.i] > 0 {
			tail = "saves " + bytesText(r.v.Bytes[r.i])
		}
	}
	pair := theme.Clean(r.pair())
	pw := min(theme.Width(pair), max(12, w/2))
	l := theme.Line{glyph, {Text: theme.Cut(pair, pw) + "  "}}
	return append(l, theme.Span{Text: theme.Cut(tail, max(0, w-l.Width())), Style: theme.Faint})
}

// act steps through decisions.
func (scr *fusionScreen) act(sc *scene, a keys.Action) (tea.Cmd, bool) {
	switch a {
	case keys.StepBack:
		scr.step(sc, -1)
	case keys.StepOn:
		scr.step(sc, 1)
	case keys.NextRefusal, keys.PrevRefusal:
		scr.nextRefusal(sc, a == keys.NextRefusal)
		scr.step(sc, 0)
	case keys.ByBytes:
		return scr.byBytes(sc), true
	case keys.Fold, keys.FoldAll:
		if !scr.folds[stepsGroup] {
			toggle(scr.folds, equalGroup)
		}
		return scr.refilter(), true
	case keys.HideSame:
		scr.note()
		scr.hide = !scr.hide
		scr.version++
		scr.apply()
		scr.keep()
	default:
		return nil, false
	}
	return nil, true
}

// byBytes goes from the steps to what was not fused by bytes, and back.
func (scr *fusionScreen) byBytes(sc *scene) tea.Cmd {
	if scr.folds[stepsGroup] {
		scr.folds = map[string]bool{lostGroup: true, equalGroup: true}
		sc.say("steps in their order")
	} else {
		scr.folds = map[string]bool{stepsGroup: true, equalGroup: true}
		sc.say("what was not fused, by the bytes it costs")
	}
	cmd := scr.refilter()
	scr.list.Home(paneRows{&scr.pane})
	scr.moved(sc)
	return cmd
}

// nextRefusal goes to the next or previous pair that was not fused.
func (scr *fusionScreen) nextRefusal(sc *scene, on bool) {
	step := 1
	if !on {
		step = -1
	}
	if scr.hide {
		sc.say("pairs that were not fused are hidden; u shows them")
		return
	}
	for i := scr.list.Cursor() + step; i >= 0 && i < scr.Len(); i += step {
		s, ok := scr.at(i).(*stepRow)
		_, many := scr.at(i).(*equalRow)
		if ok && !s.step().Fused || many {
			scr.list.Set(paneRows{&scr.pane}, i)
			return
		}
	}
	sc.say("no more pairs that were not fused")
}

func (scr *fusionScreen) detail(sc *scene, r row, w int) *doc {
	d := newDoc(sc, w)
	switch r := r.(type) {
	case *passRow:
		s := r.p.Step
		d.add(theme.T(theme.Bold, s.Pass), theme.T(theme.Faint, "  "+s.Stage))
		if s.Before == s.After {
			d.wrap(theme.Faint, 0, "This pass changed nothing.")
			d.blank()
			d.code(sc.hl, syntax.FX, s.After)
			return d
		}
		d.blank()
		d.beforeAfter(syntax.FX, s.Before, s.After)
	case *stepRow:
		scr.fusionStep(d, r)
	case *lossRow:
		scr.fusionStep(d, r.step())
	case *equalRow:
		r.detail(d)
	case *reasonRow:
		r.detail(d)
	case *loweredRow:
		r.detail(d)
	}
	return d
}

// fusionStep is one decision: the words first, then both nodes with what they share, then kernels
// before and after.
func (scr *fusionScreen) fusionStep(d *doc, r *stepRow) {
	s := r.step()
	names := ""
	if pair := s.A + " + " + s.B; pair != r.pair() {
		names = "  " + pair
	}
	if s.Fused {
		d.add(theme.T(theme.Green|theme.Bold, theme.GlyphDone+" fused "), theme.T(theme.Bold, r.pair()), theme.T(theme.Faint, names))
	} else {
		d.add(theme.T(theme.Red|theme.Bold, theme.GlyphFailed+" not fused "), theme.T(theme.Bold, r.pair()), theme.T(theme.Faint, names))
	}
	if s.Reason != "" && !s.Fused {
		d.wrap(theme.Plain, 2, s.Reason)
	}
	if s.Why != "" && s.Why != s.Reason {
		d.wrap(theme.Plain, 2, s.Why)
	} else if means := fusion.Means(s.Reason); means != "" && !s.Fused {
		d.wrap(theme.Plain, 2, means)
	}
	facts := []string{fmt.Sprintf("step %d of %d", r.i+1, len(r.v.Fusion.Steps)), fmt.Sprintf("round %d", s.Round)}
	if s.Kind != "" {
		facts = append(facts, s.Kind)
	}
	if cost := r.v.Cost(r.i); cost != "" {
		facts = append(facts, cost)
	}
	if s.Kernels > 0 {
		facts = append(facts, count(s.Kernels, "kernel")+" after it")
	}
	d.wrap(theme.Faint, 2, strings.Join(facts, " · "))
	scr.sharedBuffers(d, r)
	scr.bothNodes(d, r)
	scr.fusionState(d, r)
}

// maxShared bounds the buffers of a pair that are shown.
const maxShared = 8

// sharedBuffers shows how each of both nodes addresses what both use.
func (scr *fusionScreen) sharedBuffers(d *doc, r *stepRow) {
	s := r.step()
	shared, known := r.v.Shared(r.i)
	switch {
	case !known && r.v.Fusion.Start == nil:
		d.blank()
		d.wrap(theme.Faint, 2, "What the two read and write is not in the logs: TORCH_LOGS=ir_pre_fusion writes it, and tcdbg exec does.")
		return
	case len(shared) == 0:
		return
	}
	d.heading("WHAT BOTH USE")
	for i := range shared {
		if i == maxShared {
			d.add(theme.T(theme.Faint, "  and "+count(len(shared)-i, "more buffer")))
			break
		}
		b := &shared[i]
		said := ""
		if b.Bytes >= 0 {
			said = "  " + bytesText(b.Bytes)
		}
		switch {
		case b.Gone && s.Fused:
			said += ", and nothing else uses it: it is not written any more"
		case b.Gone:
			said += ", and nothing else uses it"
		case b.Same && !s.Fused:
			said += ", at equal indexes"
		}
		d.add(theme.T(theme.Accent, "  "+b.Buffer), theme.T(theme.Faint, said))
		for _, l := range pairs.Sides(s.A, s.B, b.A, b.B, d.width) {
			d.addLine(l, nil)
		}
	}
}

// bothNodes shows the lines of the program that each of the nodes computes, its loops, and what it reads and writes.
func (scr *fusionScreen) bothNodes(d *doc, r *stepRow) {
	f, report := r.v.Fusion, d.sc.report
	if len(f.Origins) == 0 && f.Loops == nil {
		return
	}
	lines, ok := scr.lines.get(&d.sc.texts, fmt.Sprintf("lines %s %s %d %d", idText(f.ID), f.Graph, f.Seq, len(f.Origins)),
		func() fusion.Lines { return fusion.LinesOf(report, f) })
	for _, name := range [2]string{r.step().A, r.step().B} {
		at, uses, loops := lines.Of(name), r.v.Accesses(name), r.v.Ranges(name)
		if ok && len(at) == 0 && len(uses) == 0 {
			continue
		}
		d.heading(name + "  " + f.Label(name))
		for _, p := range at {
			d.place(p)
		}
		if len(loops) > 0 {
			d.wrap(theme.Faint, 2, "loops over "+strings.Join(loops, ", "))
		}
		for _, use := range uses {
			d.wrap(theme.Plain, 2, use)
		}
	}
}

// Kernel is one kernel of a schedule in the making.
type Kernel = schedule.Kernel

// maxStates is how many schedules are kept.
const maxStates = 8

// scheduleAt is the schedule after so many decisions, made beside the UI. A row that
// still waits for one that was not made asks again.
func (scr *fusionScreen) scheduleAt(sc *scene, f *explain.Fusion, decisions int) (schedule.State, bool) {
	key := fmt.Sprintf("state %s %d %d", idText(f.ID), f.Seq, decisions)
	if s, ok := scr.states.have[key]; ok {
		return s, true
	}
	job := scr.maker.Job(func() ([]Kernel, error) { return sc.feed.Schedule(f, decisions) })
	sc.texts.later(key, func() func() {
		s, made := job()
		return func() {
			if made {
				scr.states.put(key, s)
			}
		}
	})
	return schedule.State{}, false
}

// decisionsAt is how many decisions lead to the schedule in which step i was
// taken, and to the one after it; refusals change nothing, so that both are
// those of the last fusion.
func (r *stepRow) decisionsAt() (before, after int) {
	last := func(from int) int {
		for i := from; i >= 0; i-- {
			if r.v.Fusion.Steps[i].Fused {
				return i + 1
			}
		}
		return -1
	}
	return last(r.i - 1), last(r.i)
}

// fusionState shows the kernels of a step: the two that became one, or the two
// that stay apart, and the list of all.
func (scr *fusionScreen) fusionState(d *doc, r *stepRow) {
	if r.v.Fusion.Start == nil {
		return
	}
	if scr.made != r.key() {
		scr.made = r.key()
		scr.maker.Left()
	}
	from, to := r.decisionsAt()
	before, ok := scr.scheduleAt(d.sc, r.v.Fusion, from)
	after, ok2 := before, ok
	if to != from {
		after, ok2 = scr.scheduleAt(d.sc, r.v.Fusion, to)
	}
	switch {
	case !ok || !ok2:
		d.blank()
		d.add(theme.T(theme.Faint, "generating the kernels of this step …"))
		return
	case before.Err != nil || after.Err != nil:
		err := before.Err
		if err == nil {
			err = after.Err
		}
		d.blank()
		d.wrap(theme.Faint, 2, "The kernels at this step cannot be shown: "+err.Error())
		return
	}
	s := r.step()
	if !s.Fused {
		d.heading("KERNELS, NOT FUSED")
		d.code(d.sc.hl, syntax.C, schedule.Sources(before.Kernels, s.A, s.B))
		return
	}
	d.heading("KERNELS")
	d.beforeAfter(syntax.C, schedule.Sources(before.Kernels, s.A, s.B), schedule.Sources(after.Kernels, s.Result))
	d.heading("ALL KERNELS")
	d.beforeAfter(syntax.None, schedule.List(before.Kernels), schedule.List(after.Kernels))
}
