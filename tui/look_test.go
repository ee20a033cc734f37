package tui

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tcdbg/explain"
	"tcdbg/explain/fusion"
	"tcdbg/logs"
	"tcdbg/tui/keys"
	"tcdbg/tui/layout"
	"tcdbg/tui/schedule"
	"tcdbg/tui/theme"
	"tcdbg/tui/timeline"

	tea "github.com/charmbracelet/bubbletea"
)

// These tests are about what a screen says at first sight: where the cursor
// stands, what has room, and which keys are offered.

// A list that begins with headings opens on its first row, detail included.
func TestOpensOnARow(t *testing.T) {
	newDriver(t, richFeed(), Options{}, 120, 40).script(`
		keys 7
		expect ▸ ≡ decompose
		expect v = var(x)
	`)
}

// A stacked list that is short leaves its room to the detail.
func TestShortListLeavesRoom(t *testing.T) {
	tall := layout.Arrange(80, 24, layout.Ask{Lead: 2, Detail: true, Rows: 50})
	short := layout.Arrange(80, 24, layout.Ask{Lead: 2, Detail: true, Rows: 2})
	if short.List.H != 3 || short.Detail.H <= tall.Detail.H || tall.List.H < 6 {
		t.Errorf("short %+v, tall %+v", short.List, tall.List)
	}
	if f := layout.Arrange(80, 24, layout.Ask{Lead: 2, Detail: true, Rows: 50, Share: 0.62}); f.List.H <= f.Detail.H {
		t.Errorf("a list that asks for most of the room has %d lines, its detail %d", f.List.H, f.Detail.H)
	}
}

// Places keep their line numbers, however long the path.
func TestPlacesKeepLines(t *testing.T) {
	f := richFeed()
	long := "/home/ann/captioner/internal/very/long/path/of/folders/model.go"
	for i := range f.report.Breaks[0].Lead.Value {
		f.report.Breaks[0].Lead.Value[i].File = long
	}
	for i, size := range []string{"80x24", "120x40", "200x60"} {
		d := newDriver(t, f, Options{}, 80, 24)
		d.script("size " + size + "\nkeys 3")
		doc := d.m.current().doc
		n := 0
		for k := range doc.Len() {
			if text := doc.text(k); strings.Contains(text, "Lt(0)") && strings.Contains(text, "\u2192") {
				n++
				if !strings.Contains(text, "model.go:52 ") {
					t.Errorf("%s: %q", size, text)
				}
			}
		}
		if n == 0 {
			t.Errorf("case %d: no value chain", i)
		}
	}
}

// A graph's table and drawing name the line of each operator, and the advice its
// cause, however narrow the terminal and long the names.
func TestNarrowTablesKeepPlaces(t *testing.T) {
	f := richFeed()
	nodes := f.report.Frames[1].Compiles[0].Graph.LoadNodes()
	for i := range nodes {
		if nodes[i].Pos.File != "" {
			nodes[i].Pos.File = "/home/ann/captioner/internal/very/long/path/of/folders/model.go"
			nodes[i].Name += "_of_a_very_long_name_indeed"
			nodes[i].Type = "f32[128, 2048, 14, 14]"
		}
	}
	for _, size := range []string{"80x24", "100x30", "120x40"} {
		for _, view := range []string{"", " v"} {
			d := newDriver(t, f, Options{}, 80, 24)
			d.script("size " + size + "\nkeys 6 j" + view)
			if text := d.plain(); !strings.Contains(text, "model.go:44") || !strings.Contains(text, "model.go:52") {
				t.Errorf("%s%s: no places\n%s", size, view, text)
			}
		}
	}
	d := newDriver(t, richFeed(), Options{}, 80, 24)
	d.script("expect model.go:52  branch on a tensor's value")
	f = richFeed()
	f.report.Advice[0].Pos.File = "/home/ann/captioner/a/captioner_train.go"
	newDriver(t, f, Options{}, 80, 24).script("expect captioner_train.go:52  branch on a ten")
}

// The Source screen leaves out torch's own files of which nothing is known but
// that guards come from them.
func TestSourceLeavesOutGuardsOfTorch(t *testing.T) {
	f := richFeed()
	c := f.report.Frames[1].Compiles[0]
	root := c.Guards.Root()
	root.Children = append(root.Children,
		&explain.GuardNode{Kind: "DEFAULT_DEVICE", Pos: logs.Pos{File: "_dynamo/output_graph.py", Line: 1222}},
		&explain.GuardNode{Kind: "EQUALS_MATCH", Pos: logs.Pos{File: "/home/ann/captioner/config.go", Line: 3, Code: "const heads = 4"}})
	d := newDriver(t, f, Options{}, 100, 120)
	d.script("keys 2\nrefute output_graph\nexpect config.go\nexpect const heads = 4")
}

// The sign of an advice says what it is about: a break, a recompile or neither.
func TestSignsOfAdvice(t *testing.T) {
	f := richFeed()
	f.report.Advice = append(f.report.Advice, explain.Advice{Text: "no CUDA graph", Pos: f.report.Advice[0].Pos, Cost: "every call"})
	d := newDriver(t, f, Options{}, 80, 40)
	d.script("expect 1 " + theme.GlyphBreak + "\nexpect 2 " + theme.GlyphRecompile + "\nexpect 3 " + theme.GlyphSkipped)
}

// A long cost leaves room for its cause, and what the limit refused is no recompile.
func TestCostsAndRefusals(t *testing.T) {
	f := richFeed()
	f.report.Advice[1].Cost = "7 recompiles, 6.27 s, limit reached: runs eagerly"
	refused := *f.report.Recompiles[1]
	f.report.Recompiles = append(f.report.Recompiles, &refused)
	d := newDriver(t, f, Options{}, 80, 24)
	d.script(`
		expect batch 8, 9, 10: compiled 3 times
		expect 7 recompiles, 6.27 s
		refute limit reached
		keys 4
		expect 2 recompiles of 1 function
		expect 1 more refused
		size 140x30
		keys 1
		expect limit reached: runs eagerly
	`)
}

// A failure says what went wrong and where: below its row on the Overview, at its
// line in Source, with the column that the line has in the file, and Enter opens
// the record that tells it.
func TestFailureIsFollowed(t *testing.T) {
	f := richFeed()
	pos := at(61, "Decoder.Forward", "return d.out.Forward(h)")
	pos.Col, pos.EndCol = 8, 24
	f.files[modelFile][60] = "\t" + pos.Code
	f.report.Failures = []*explain.Failure{{
		ID: cid(1, 1), Type: "TorchRuntimeError", Code: "GB4315", Pos: pos, Seq: 3, Fix: explain.Fix{Text: "Mend the sizes."},
		Reason: "failed\n  Explanation: Dynamo failed to run FX node with fake tensors: call_function linear(*(x, w), **{}): got " +
			"RuntimeError('sizes 3 and 4')",
	}}
	d := newDriver(t, f, Options{}, 120, 40)
	d.script(`
		expect TorchRuntimeError model.go:61 [1/1] operator failed while shapes were propagated
		expect said: RuntimeError: sizes 3 and 4, in linear(x, w)
		expect fix: Mend the sizes.
		keys enter
		screen Logs
		expect record 3
		keys 2
		expect FAILURE
		expect model.go:61:9
		keys tab j
	`)
	if s := (Selection{HasID: true, ID: cid(1, 1), Record: 3}); screenFor(s) != keys.Logs {
		t.Error("a failure's link does not open its record")
	}
}

// The cursor of Logs goes to the record of what is selected, through a filter too.
func TestLogsOpenAtTheSelection(t *testing.T) {
	p := &pane{all: rowSlice{&noiseRow{}, &noiseRow{}, &noiseRow{}, &noiseRow{}, &noiseRow{}}}
	p.list.SetFollow(true)
	p.toRecord(3)
	if p.list.Cursor() != 3 || p.list.Follow() {
		t.Errorf("at row %d", p.list.Cursor())
	}
	p.shown = []int32{1, 3, 4}
	p.toRecord(2)
	if p.list.Cursor() != 1 {
		t.Errorf("after a filter at row %d", p.list.Cursor())
	}
}

// Keys that come faster than they are read arrive in one message.
func TestFastKeysAreKeys(t *testing.T) {
	d := newDriver(t, richFeed(), Options{}, 120, 40)
	d.script("screen Overview")
	d.script("keys 8")
	before := d.m.current().list.Cursor()
	d.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("jj")})
	if at := d.m.current().list.Cursor(); at != before+2 {
		t.Errorf("two keys moved from row %d to %d", before, at)
	}
	d.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("3/GB0")})
	d.script("screen Breaks")
	if got := d.m.sc.prompt.Text(); got != "GB0" {
		t.Errorf("the prompt holds %q", got)
	}
}

// A filter names a rank, a compile, a function or a file, on every screen.
func TestFiltersByPlace(t *testing.T) {
	pos := logs.Pos{File: "/w/model.py", Line: 3, Func: "step"}
	id := explain.ID{Rank: 1, CompileID: logs.CompileID{Frame: 4, Compile: 2}}
	fr := &explain.Frame{ID: id, Name: "step", Pos: pos}
	comp := &explain.Compile{ID: id, Frame: fr}
	rows := map[string]row{
		"failure": &failureRow{&explain.Failure{ID: id, Pos: pos, Frame: "step"}},
		"guards":  &guardRow{c: comp},
		"kernel":  &kernelRow{k: &explain.Kernel{ID: id, Pos: []logs.Pos{pos}}},
		"advice":  &adviceRow{a: &explain.Advice{Frame: fr, Pos: pos}},
		"frame":   &frameRow{f: &rootFrame{frame: fr}},
	}
	for name, r := range rows {
		for q, want := range map[string]bool{"r1": true, "R1": true, "r2": false, "model.py": true, "step": true, "other": false} {
			if got := r.matches(q); got != want {
				t.Errorf("%s: filter %q finds it: %v", name, q, got)
			}
		}
	}
	phases := (&timelineScreen{wish: newTimeline().(*timelineScreen).wish, traces: &timeline.Files{}}).rows(&input{
		report: &explain.Report{Phases: []*explain.Phase{{Name: "dynamo", ID: id, Start: time.Unix(1, 0), Dur: 1}}},
	})
	phase := phases[len(phases)-1]
	for q, want := range map[string]bool{"r1": true, "4/2": true, "[4/2]": true, "4/": true, "4/3": false, "4": false, "dynamo": true} {
		if got := phase.matches(q); got != want {
			t.Errorf("phase: filter %q finds it: %v", q, got)
		}
	}
	rank := &rankRow{
		g:     &explain.RankGroup{Ranks: []int{1}, Differs: []string{"f (m.py:3): breaks here alone"}},
		ranks: []*explain.Rank{{Rank: 1, Path: "/t/a.log"}},
	}
	for q, want := range map[string]bool{"r1": true, "r0": false, "m.py": true, "a.log": true} {
		if got := rank.matches(q); got != want {
			t.Errorf("rank: filter %q finds it: %v", q, got)
		}
	}
}

// Ranks compile functions of one name: the Overview tells them apart.
func TestOverviewNamesRanks(t *testing.T) {
	f := richFeed()
	f.report.Frames[0].ID.Rank = 1
	d := newDriver(t, f, Options{}, 120, 40)
	d.script("refute r1 ")
	f.report.Ranks = []*explain.Rank{{Rank: 0}, {Rank: 1}}
	d = newDriver(t, f, Options{}, 120, 40)
	d.script("expect r1 " + f.report.Frames[0].Name)
}

// A trace that somebody else writes has no time of ours.
func TestFollowingHasNoClock(t *testing.T) {
	f := richFeed()
	f.run.Live, f.run.Elapsed, f.run.Start = true, 0, time.Time{}
	newDriver(t, f, Options{}, 120, 40).script("expect following\nrefute live 0")
}

// What could not be read is told on the first screen, in its lead and after the functions.
func TestOverviewTellsDamage(t *testing.T) {
	f := richFeed()
	newDriver(t, f, Options{}, 100, 40).script("refute WARNINGS ABOUT THE TRACE")
	f.report.Sources = append(f.report.Sources, logs.Source{Path: "run.log.gz", Err: errors.New("unexpected EOF")})
	newDriver(t, f, Options{}, 100, 40).script("expect  ! run.log.gz: unexpected EOF: read up to there\nexpect WARNINGS ABOUT THE TRACE")
	f.report.Stats.BadJSON = 2
	newDriver(t, f, Options{}, 100, 40).script("expect 2 warnings about the trace\nexpect 2 records with broken JSON")
}

// A break that fullgraph does not allow has its fix below it, and the screen of
// breaks does not claim that everything was captured.
func TestFailuresHaveFixes(t *testing.T) {
	r := &explain.Report{
		Frames: []*explain.Frame{{Name: "f", Status: explain.Failed}},
		Failures: []*explain.Failure{{
			ID: cid(0, 0), Type: "Unsupported", Code: "GB0170", Reason: "branch",
			Fix: explain.Fix{Text: "Use torch.where."},
		}},
		Totals: explain.Totals{Failures: 1},
	}
	newDriver(t, &fakeFeed{report: r, run: Run{Title: "x"}}, Options{}, 100, 30).script(`
		expect fix: Use torch.where.
		keys 3
		refute captured whole
		expect No graph breaks, but 1 failure
	`)
}

// The filter knows ranks by the names that rows give them.
func TestFilterByRank(t *testing.T) {
	id := func(rank int) explain.ID { i := cid(0, 0); i.Rank = rank; return i }
	frame := func(rank int) row { return &frameRow{f: &rootFrame{frame: &explain.Frame{ID: id(rank), Name: "f"}}} }
	broken := func(rank int) row {
		b := &explain.Break{Compile: &explain.Compile{ID: id(rank)}}
		return &breakRow{g: &explain.BreakGroup{Lead: b, Breaks: []*explain.Break{b}}}
	}
	again := func(rank int) row {
		return &recompileRow{rc: &explain.Recompile{Compile: &explain.Compile{ID: id(rank)}}}
	}
	for name, of := range map[string]func(int) row{"frame": frame, "break": broken, "recompile": again} {
		if !of(1).matches("r1") || of(0).matches("r1") || of(-1).matches("r1") || of(12).matches("r1") {
			t.Errorf("%s: r1 finds the wrong ranks", name)
		}
	}
}

// A dear check is told in milliseconds.
func TestCheckTime(t *testing.T) {
	for us, want := range map[float64]string{0.21: "0.21 us", 124.22: "124 us", 4244.15: "4.2 ms"} {
		if s := checkTime(us); s != want {
			t.Errorf("%g: %q, want %q", us, s, want)
		}
	}
}

// What came is not recorded of every guard.
func TestChangedWithoutActual(t *testing.T) {
	if s := changed(explain.GuardFailure{Source: "L['n']", Kind: "value", Dim: -1, Expected: "3.5"}); s != "n  no longer 3.5" {
		t.Errorf("%q", s)
	}
	if s := changed(explain.GuardFailure{
		Source: "x.size()[0]", Kind: "shape_relation", Dim: -1,
		Expected: "!= 7",
	}); s != "x.size()[0]  no longer != 7" {
		t.Errorf("%q", s)
	}
	if s := changed(explain.GuardFailure{
		Source: "grad_mode", Kind: "global_state", Dim: -1,
		Text: "8/2: GLOBAL_STATE changed: grad_mode ",
	}); s != "global state changed: grad_mode" {
		t.Errorf("%q", s)
	}
}

// The footer offers what can be done now.
func TestFooterOffers(t *testing.T) {
	f := richFeed()
	f.run.Again = true
	newDriver(t, f, Options{}, 120, 40).script("expect space pause\nrefute R run again")
	f.run.Live, f.run.Control, f.run.Ended = false, false, "exit 0"
	newDriver(t, f, Options{}, 120, 40).script("refute space freeze\nexpect R run again")
	f.run.Again = false
	newDriver(t, f, Options{}, 120, 40).script("refute R run again")
}

// A program that failed before anything was compiled says how, whole, where
// the frames would be; one that needs nothing says that too.
func TestOverviewWithoutFrames(t *testing.T) {
	failed := &fakeFeed{
		report: &explain.Report{},
		run: Run{Title: "x", Failed: true, Ended: "model.go:7:2: cannot use kw.Dim(0) (value of type torch.Option) as int value in " +
			"argument to f"},
	}
	newDriver(t, failed, Options{}, 60, 24).script("expect as int value in argument to f\nexpect Output")
	late := richFeed()
	late.run.Live, late.run.Failed, late.run.Ended = false, true, "panic: runtime error: index out of range [5] with length 2"
	newDriver(t, late, Options{}, 80, 24).script("expect ✗ panic: runtime error: index out of range [5] with length 2")
	fine := &explain.Report{Frames: []*explain.Frame{{Name: "f", Status: explain.Compiled}}}
	newDriver(t, &fakeFeed{report: fine, run: Run{Title: "x"}}, Options{}, 100,
		24).script("expect nothing to do: every function was captured whole")
	part := &explain.Report{Frames: fine.Frames, Live: true}
	sofar := newDriver(t, &fakeFeed{report: part, run: Run{Title: "x", Reading: true}}, Options{}, 100, 24)
	sofar.script("expect reading")
	if strings.Contains(sofar.plain(), "nothing to do") {
		t.Errorf("of what is not read to its end: %s", sofar.plain())
	}
	again := &explain.Report{Frames: fine.Frames, Totals: explain.Totals{Recompiles: 1}}
	newDriver(t, &fakeFeed{report: again, run: Run{Title: "x"}}, Options{}, 100,
		24).script("expect no graph breaks; 1 recompile (screen 4)")
}

// A guard below its source does not say the source again.
func TestGuardDemands(t *testing.T) {
	for text, want := range map[string]string{
		"L['x'] is not nil": "is not nil",
		"check_tensor(L['x'], Tensor, torch.float32, size=[8])": "Tensor, torch.float32, size=[8]",
		"len(L['x']) == 3":     "len == 3",
		"hasattr(L['y'], 'x')": "hasattr(L['y'], 'x')",
		"f(g(L['x'])) == 1":    "f(g(L['x'])) == 1",
		"grad_mode == True":    "grad_mode == True",
		"___check_obj_id(L['x'], 139), type=<class 'module'>": "the same object, a module",
		"___check_obj_id(L['x'], 139)":                        "the same object",
		"___check_type_id(L['x'], 9), type=<class 'float'>":   "the same type, a float",
	} {
		if got := demand(&explain.GuardNode{Source: "L['x']", Text: text}); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// A scheduler that tried no pair, and a part of a function that goes on after a
// break, are named in words.
func TestWordsOfStrangeRuns(t *testing.T) {
	rows := fusionSteps(fusion.Of(&explain.Fusion{Before: 1, After: 1}), "")
	if h, ok := rows[0].(*groupHead); len(rows) != 1 || !ok || h.text != "1 node: no fusion candidates" {
		t.Errorf("%+v", rows)
	}
	id := explain.ID{Rank: -1, CompileID: logs.CompileID{Frame: 1}}
	fr := &explain.Frame{ID: id, Name: "torch_dynamo_resume_in_step_at_9"}
	fr.Compiles = []*explain.Compile{{ID: id, Frame: fr}}
	r := &explain.Report{Frames: []*explain.Frame{fr}, Fusions: []*explain.Fusion{{ID: id, After: 1}}}
	in := &input{report: r, facts: &facts{}}
	in.facts.collect(in)
	if h := newFusion().rows(in)[0].(*groupHead); h.text != "[1/0] step from line 9 on" {
		t.Error(h.text)
	}
	broke := &rootFrame{frame: &explain.Frame{Status: explain.Empty, Compiles: []*explain.Compile{{Breaks: []*explain.Break{{}}}}}}
	if s := statusWord(broke); s != "broke before capturing anything" {
		t.Error(s)
	}
	if s := statusWord(&rootFrame{frame: &explain.Frame{Status: explain.Empty}}); s != "no tensor ops" {
		t.Error(s)
	}
}

// Where the kernels of a step cannot be made again the screen says why.
func TestScheduleRefused(t *testing.T) {
	f := richFeed()
	f.noSchedule = true
	newDriver(t, f, Options{}, 120, 40).script("keys 7 g right right\nexpect cannot be shown: the scheduler of this version")
}

// Forward and backward of one compile are in the order in which they were
// made, each pass beside its decisions.
func TestFusionOrder(t *testing.T) {
	f := richFeed()
	f.report.Passes = append(f.report.Passes, &explain.PassRun{
		ID: cid(1, 0), Seq: 12,
		Step: logs.PassStep{Stage: "inductor", Pass: "lower_backward"},
	})
	second := *f.report.Fusions[0]
	second.Seq = 20
	f.report.Fusions = append(f.report.Fusions, &second)
	d := newDriver(t, f, Options{}, 120, 60)
	d.script("keys 7")
	text := d.plain()
	first, pass, last := strings.Index(text, "add + relu"), strings.Index(text, "lower_backward"), strings.LastIndex(text, "add + relu")
	if first < 0 || first > pass || pass > last {
		t.Errorf("decisions at %d and %d, the pass between at %d\n%s", first, last, pass, text)
	}
}

// Schedules of rows that the cursor has left are not made, and are asked for
// again when it comes back.
func TestSchedulesOfLeftRows(t *testing.T) {
	f := richFeed()
	var made schedule.Maker
	fu := f.report.Fusions[0]
	left := made.Job(func() ([]Kernel, error) { return f.Schedule(fu, 1) })
	made.Left()
	stays := made.Job(func() ([]Kernel, error) { return f.Schedule(fu, 2) })
	if _, ok := left(); ok {
		t.Error("a schedule was made for a row that was left")
	}
	if s, ok := stays(); !ok || len(s.Kernels) != 4 {
		t.Errorf("the row that is looked at got %+v", s)
	}
	d := newDriver(t, f, Options{}, 120, 40)
	d.script("keys 7 g right right right\nexpect fused_add_relu_mul()")
	sc, fusion := &d.m.sc, d.m.screens[keys.Fusion].(*fusionScreen)
	have := len(fusion.states.have)
	if _, ok := fusion.scheduleAt(sc, fu, 0); ok || have == 0 {
		t.Fatalf("%d schedules were kept, and one that nobody looked at is there: %v", have, ok)
	}
	fusion.maker.Left()
	d.run(sc.texts.begin())
	if len(fusion.states.have) != have || len(sc.texts.want) > 0 {
		t.Error("a stale schedule was kept")
	}
}

// Tabs give up counts before names, and names before keys.
func TestTabs(t *testing.T) {
	d := newDriver(t, richFeed(), Options{}, 140, 30)
	for _, c := range []struct{ size, want string }{
		{"140x30", "3 Breaks 2  4 Recompiles 2"},
		{"114x30", "3 Breaks 2 4 Recompiles 2"},
		{"106x30", "3 Breaks 4 Recompiles 5 Guards"},
		{"80x30", "3 Brk 4 Rec"},
		{"50x30", "1 Overview 2 3 4"},
	} {
		d.script("size " + c.size + "\nexpect " + c.want)
	}
}

// A message gives the footer back after a while, and at once when what it
// announced has happened.
func TestMessagesGoAway(t *testing.T) {
	d := newDriver(t, richFeed(), Options{}, 120, 40)
	at := time.Unix(0, 0)
	d.m.sc.now = func() time.Time { return at }
	d.script("keys 8 x\nexpect wrote runs/screen-kernels.txt")
	at = at.Add(time.Second)
	d.script("poll\nexpect wrote runs/screen-kernels.txt")
	at = at.Add(noticeFor)
	d.script("poll\nrefute wrote runs\nexpect v view")
	d.script("keys space\nexpect takes effect at the next safe point\npoll\nrefute takes effect\nexpect space continue")
}

// A pass from one language to another shows what it made first; lines in
// common make a comparison.
func TestUnrelatedTexts(t *testing.T) {
	f := richFeed()
	f.report.Passes = append(f.report.Passes, &explain.PassRun{ID: cid(1, 0), Step: logs.PassStep{
		Stage: "inductor", Pass: "lower", Before: "class GraphModule\n  add = a + b\n", After: "program f\nop0 = pointwise\n",
	}})
	d := newDriver(t, f, Options{}, 100, 30)
	d.script("keys 7 g j j\nexpect ▸ ≡ lower\nexpect AFTER")
	text := d.plain()
	if strings.Index(text, "program f") > strings.Index(text, "class GraphModule") || strings.Contains(text, "- class") {
		t.Errorf("a change of language is shown as a comparison:\n%s", text)
	}
	d.script("keys g\nexpect + m = mean(x)")
}

// The Ranks screen says first what parted the ranks, where that is known.
func TestRanksTellWhatPartedThem(t *testing.T) {
	ranks := []*explain.Rank{{Rank: 0}, {Rank: 1, Diverged: []string{"forward: breaks here alone"}}}
	parted := &explain.Report{Ranks: ranks, RankGroups: []*explain.RankGroup{
		{Ranks: []int{0}, Usual: true},
		{Ranks: []int{1}, Parted: explain.Parting{Kind: explain.PartBreak, Text: "breaks in forward where rank 0 does not"}},
	}}
	newDriver(t, &fakeFeed{report: parted, run: Run{Title: "x"}}, Options{}, 100, 24).script(
		"keys =\nexpect 1 of 2 ranks differ\nexpect rank 1 breaks in forward where rank 0 does not")
}
