package tui

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	tea "github.com/charmbracelet/bubbletea"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/tui/keys"
	"tcdbg/tui/syntax"
	"tcdbg/tui/theme"
)

// This file is screen 7, Fusion: what did the compiler do, one step at a time,
// and why not more? Below is the schedule at a step: which kernels there are and what they look like, before and
// after. Nothing of it is kept in the trace; the feed makes the state of any step again when it is looked at.

// fusionScreen is the Fusion screen.
type fusionScreen struct {
	pane
	states kept[state] // schedules at steps
	maker  stateMaker
	made   string // row that schedules were last made for
}

func newFusion() screen {
	return &fusionScreen{
		pane: pane{
			title:     keys.Title{Name: "Fusion", Short: "Fus", Key: "7", Asks: "What did each pass do, and why was nothing more fused?"},
			leadLines: 2, detailed: true, share: 0.34,
		},
		states: newKept[state](maxStates),
	}
}

func (*fusionScreen) empty(sc *scene) []string {
	if sc.report.Totals.Kernels > 0 && sc.report.OfGo() {
		return []string{"No fusion decisions were recorded.", "A graph whose operators make one kernel has none to make."}
	}
	if sc.report.Totals.Kernels > 0 {
		return []string{
			"This trace records no fusion decisions.",
			"PyTorch writes them to its text logs only: run under tcdbg exec, or set TORCH_LOGS=fusion,schedule and open the log " +
				"together with the trace.",
			"I lowers a graph of the trace with our own Inductor, whose decisions are shown with their reasons.",
		}
	}
	return []string{
		"No pass has run yet.",
		"Every pass over a graph and every decision to fuse two nodes (or not, and why) appears here as a step: " +
			"← and → go through them.",
	}
}

func (scr *fusionScreen) lead(sc *scene, _ int) []theme.Line {
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
	}
	if n := len(sc.report.Passes); n > 0 {
		l = append(l, theme.Span{Text: fmt.Sprintf(" · %d pass steps", n)})
	}
	if scr.hide {
		l = append(l, theme.Span{Text: " · steps that change nothing are hidden", Style: theme.Faint})
	}
	return []theme.Line{l, nil}
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
	for i, k := range order {
		if i > 0 || len(rows) > 0 {
			rows = append(rows, &headRow{})
		}
		rows = append(rows, &headRow{text: strings.TrimSpace(idText(ids[k]) + " " + names[k])})
		slices.SortStableFunc(runs[k], func(a, b passOrFusion) int { return cmp.Compare(a.seq, b.seq) })
		for _, x := range runs[k] {
			if x.pass != nil {
				rows = append(rows, &passRow{x.pass})
			} else {
				rows = append(rows, fusionSteps(x.fusion)...)
			}
		}
	}
	return rows
}

// passOrFusion is one thing that was done to a graph.
type passOrFusion struct {
	seq    int64
	pass   *explain.PassRun
	fusion *explain.Fusion
}

func fusionSteps(f *explain.Fusion) []row {
	if len(f.Steps) == 0 {
		text := "no fusion candidates"
		if f.After > 0 {
			text = count(f.After, "kernel") + ": " + text
		}
		return []row{&headRow{text: text}}
	}
	var rows []row
	round := -1
	for i := range f.Steps {
		s := &f.Steps[i]
		if s.Round != round {
			round = s.Round
			head := fmt.Sprintf("fusion round %d", round)
			if body := explain.FlowBody(f.Graph); body != "" {
				head += " of " + theme.Clean(body)
			}
			if f.Before > 0 && i == 0 {
				head += fmt.Sprintf("   %d → %d kernels", f.Before, f.After)
			}
			rows = append(rows, &headRow{text: head})
		}
		rows = append(rows, &stepRow{f, i})
	}
	return rows
}

// passRow is one pass, or one rewrite within it.
type passRow struct{ p *explain.PassRun }

func (r *passRow) key() string {
	return fmt.Sprintf("pass %s %s %d %d", idText(r.p.ID), r.p.Step.Pass, r.p.Step.Index, r.p.Seq)
}
func (r *passRow) sel() Selection { return Selection{HasID: true, ID: r.p.ID} }
func (r *passRow) quiet() bool    { return r.p.Step.Before == r.p.Step.After }
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
	f *explain.Fusion
	i int
}

func (r *stepRow) step() *logs.FusionStep { return &r.f.Steps[r.i] }
func (r *stepRow) key() string {
	return fmt.Sprintf("fusion %s %s %d %d", idText(r.f.ID), r.f.Graph, r.f.Seq, r.i)
}
func (r *stepRow) sel() Selection { return Selection{HasID: true, ID: r.f.ID} }
func (r *stepRow) quiet() bool    { return !r.step().Fused }
func (r *stepRow) matches(q string) bool {
	s := r.step()
	return about(r.f.ID, logs.Pos{}, q) || theme.IndexFold(s.A, q) >= 0 || theme.IndexFold(s.B, q) >= 0 ||
		theme.IndexFold(s.Reason, q) >= 0 || theme.IndexFold(s.Result, q) >= 0 || theme.IndexFold(r.pair(), q) >= 0
}

// pair names the two nodes by their operators where they are known.
func (r *stepRow) pair() string {
	s := r.step()
	a, b := r.f.Label(s.A), r.f.Label(s.B)
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
		if tail = ""; s.Score > 0 {
			tail = "saves " + bytesText(s.Score)
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
		if s, ok := scr.at(i).(*stepRow); ok && !s.step().Fused {
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
	case *loweredRow:
		r.detail(d)
	}
	return d
}

// memoryDeps is a reason that says little by itself.
const memoryDeps = "memory deps did not match"

// fusionStep is one decision: the words first, then nodes and kernels before
// and after.
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
	switch {
	case s.Why != "" && s.Why != s.Reason:
		d.wrap(theme.Plain, 2, s.Why)
	case s.Reason == memoryDeps:
		d.wrap(
			theme.Faint, 2,
			"One writes a buffer that the other reads at different addresses, or in different loops. PyTorch's log does not say "+
				"which buffer; the kernels below show what each reads and writes.",
		)
	}
	facts := []string{fmt.Sprintf("step %d of %d", r.i+1, len(r.f.Steps)), fmt.Sprintf("round %d", s.Round)}
	if s.Kind != "" {
		facts = append(facts, s.Kind)
	}
	if s.Score > 0 {
		verb := "would save "
		if s.Fused {
			verb = "saves "
		}
		facts = append(facts, verb+bytesText(s.Score)+" of memory traffic")
	}
	if s.Kernels > 0 {
		facts = append(facts, count(s.Kernels, "kernel")+" after it")
	}
	d.wrap(theme.Faint, 2, strings.Join(facts, " · "))
	scr.fusionState(d, r)
}

// Kernel is one kernel of a schedule in the making.
type Kernel struct {
	Node   string   // name of the scheduler node: op0_op1
	Ranges string   // its loops
	Ops    []string // operators in it
	Name   string
	Source string // "" for an extern kernel
}

// state is the schedule after some decisions.
type state struct {
	kernels []Kernel
	err     error
}

// maxStates is how many schedules are kept.
const maxStates = 8

// stateMaker makes one schedule at a time, and none for a row that the cursor
// has left.
type stateMaker struct {
	mu  sync.Mutex
	row atomic.Int64 // rows looked at
}

// job makes a schedule for the row that is looked at now; made is false where the
// cursor has left that row before the turn came.
func (s *stateMaker) job(feed Feed, f *explain.Fusion, decisions int) func() (s state, made bool) {
	row := s.row.Load()
	return func() (state, bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.row.Load() != row {
			return state{}, false
		}
		ks, err := feed.Schedule(f, decisions)
		return state{ks, err}, true
	}
}

// scheduleAt is the schedule after so many decisions, made beside the UI. A row that
// still waits for one that was not made asks again.
func (scr *fusionScreen) scheduleAt(sc *scene, f *explain.Fusion, decisions int) (state, bool) {
	key := fmt.Sprintf("state %s %d %d", idText(f.ID), f.Seq, decisions)
	if s, ok := scr.states.have[key]; ok {
		return s, true
	}
	job := scr.maker.job(sc.feed, f, decisions)
	sc.texts.later(key, func() func() {
		s, made := job()
		return func() {
			if made {
				scr.states.put(key, s)
			}
		}
	})
	return state{}, false
}

// decisionsAt is how many decisions lead to the schedule in which step i was
// taken, and to the one after it; refusals change nothing, so that both are
// those of the last fusion.
func (r *stepRow) decisionsAt() (before, after int) {
	last := func(from int) int {
		for i := from; i >= 0; i-- {
			if r.f.Steps[i].Fused {
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
	if r.f.Start == nil {
		return
	}
	if scr.made != r.key() {
		scr.made = r.key()
		scr.maker.row.Add(1)
	}
	from, to := r.decisionsAt()
	before, ok := scr.scheduleAt(d.sc, r.f, from)
	after, ok2 := before, ok
	if to != from {
		after, ok2 = scr.scheduleAt(d.sc, r.f, to)
	}
	switch {
	case !ok || !ok2:
		d.blank()
		d.add(theme.T(theme.Faint, "generating the kernels of this step …"))
		return
	case before.err != nil || after.err != nil:
		err := before.err
		if err == nil {
			err = after.err
		}
		d.blank()
		d.wrap(theme.Faint, 2, "The kernels at this step cannot be shown: "+err.Error())
		return
	}
	s := r.step()
	if !s.Fused {
		d.heading("KERNELS, NOT FUSED")
		d.code(d.sc.hl, syntax.C, sources(before.kernels, s.A, s.B))
		return
	}
	d.heading("KERNELS")
	d.beforeAfter(syntax.C, sources(before.kernels, s.A, s.B), sources(after.kernels, s.Result))
	d.heading("ALL KERNELS")
	d.beforeAfter(syntax.None, kernelList(before.kernels), kernelList(after.kernels))
}

// sources is the code of the kernels of some nodes.
func sources(ks []Kernel, nodes ...string) string {
	var b strings.Builder
	for _, node := range nodes {
		for _, k := range ks {
			switch {
			case k.Node != node:
			case k.Source == "":
				b.WriteString("// " + k.Name + ": an extern kernel\n")
			default:
				b.WriteString(strings.TrimRight(k.Source, "\n") + "\n")
			}
		}
	}
	return b.String()
}

// kernelList is a schedule: a line for each kernel.
func kernelList(ks []Kernel) string {
	var b strings.Builder
	for _, k := range ks {
		fmt.Fprintf(&b, "%s = %s %s\n", k.Node, strings.Join(k.Ops, ", "), k.Ranges)
	}
	return b.String()
}
