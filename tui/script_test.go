package tui

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/tui/keys"
	"tcdbg/tui/theme"
)

// These tests say what each key does, by scripts that a person could type.
func TestScripts(t *testing.T) {
	for name, text := range map[string]string{
		"every screen opens by its key and says what it holds": `
			expect HOW IT SPLITS
			keys 2
			screen Source
			expect h := d.attn.Forward(x)
			keys 3
			screen Breaks
			expect Data-dependent branching
			keys 4
			screen Recompiles
			expect x.size[0]  8 → 9
			keys 5
			screen Guards
			expect TENSOR_MATCH
			keys 6
			screen Graph
			expect Encoder.Forward
			keys 7
			screen Fusion
			expect add + relu
			keys 8
			screen Kernels
			expect fused_add_layer_norm_1
			keys 9
			screen Timeline
			expect TIME BY PHASE
			keys 0
			screen Logs
			expect dynamo_output_graph
			keys -
			screen Output
			expect epoch 1 loss 0.52
		`,
		"enter goes into the detail, esc comes back to the same row": `
			keys 3 j
			expect ▸ └ ✂ model.go:57
			keys enter j j esc
			expect ▸ └ ✂ model.go:57
		`,
		"a break's value chain leads to its line, and the selection follows": `
			keys 3 enter
			keys /
			type model.go:41
			keys enter enter
			screen Source
			expect func (d *Decoder) Forward
		`,
		"one selection: a kernel chosen in Kernels is where Graph opens": `
			keys 8 j
			expect ▸ █ [1/0]    fused_add_layer_norm_1
			keys 6
			expect ▸ [1/0]    Decoder.Forward
			keys 2
			screen Source
			expect ▸    45
		`,
		"where nothing was selected, a screen opens on its costliest row": `
			keys 3
			expect ▸ ✂ model.go:52
		`,
		"advice opens what it speaks of": `
			expect ▸ 1 ✂
			keys j
			expect ▸ 2 ↻
			keys k enter
			screen Breaks
			expect GB0170
			keys esc
			screen Overview
		`,
		"kernels say what they take, o sorts them and the cursor stays on its row": `
			keys 8 j
			expect 14 ms in kernels
			expect 90 us per call · 8 % of kernel time · 1.1 GB/s · 0.9 GFLOP/s
			keys o
			expect slowest first
			keys o
			expect most bytes first
			expect ▸ █ [1/0]    fused_add_layer_norm_1
			keys k
			expect ▸ ░ [1/0]    fused_attention_0
			keys o g
			expect by name
			expect ▸ █ [1/0]    fused_add_layer_norm_1
			keys o
			expect order: execution order
		`,
		"a filter leaves what matches, esc brings all back": `
			keys 8 f
			type gelu
			keys enter
			expect fused_mul_add_gelu_0
			refute fused_attention_0
			expect filter "gelu": 1 of 3
			keys esc
			expect fused_attention_0
		`,
		"a filter that nothing passes says so": `
			keys 3 f
			type zzz
			keys enter
			expect Nothing matches the filter "zzz".
		`,
		"search finds rows, goes round and says when there is nothing": `
			keys 8 /
			type gelu
			keys enter
			expect ▸ █ [2/0]    fused_mul_add_gelu_0
			keys n
			expect ▸ █ [2/0]    fused_mul_add_gelu_0
			keys /
			type nothing-like-it
			keys enter
			expect not found
		`,
		"search on Logs looks into every payload": `
			keys 0 /
			type payload 3 of
			keys enter
			expect 1 record
			expect artifact:dynamo_graph_break_reason
		`,
		"the palette finds commands and places": `
			keys :
			type fused mul
			expect fused_mul_add_gelu_0
			keys enter
			screen Kernels
			expect ▸ █ [2/0]    fused_mul_add_gelu_0
		`,
		"help is made from the key table and closes with any key": `
			keys 7 ?
			expect Fusion: What did each pass do
			expect next pair not fused
			keys esc
			expect add + relu
		`,
		"fusion steps go forward and back, refusals are found, quiet steps hide": `
			keys 7 g
			expect ▸ ≡ decompose
			keys right right right
			expect ▸ ✓ add·relu + mul
			keys left
			expect ▸ ✓ add + relu
			keys ]
			expect ▸ ✗ mm + add·relu·mul
			expect an epilogue would fit
			keys ]
			expect ▸ ✗ sum + amax
			keys [ u
			refute ✗ mm + add
			expect steps that change nothing are hidden
		`,
		"a fusion step shows the kernels that it joins and what became of them": `
			keys 7 g right right right
			expect ▸ ✓ add·relu + mul
			expect fused_add_relu_mul()
			expect - void fused_mul() {
			expect saves 128 KB of memory traffic
			keys enter G
			expect + op1_op2_op3 = add, relu, mul [8192]
			expect   op4 = sum [8192]
			keys esc ]
			expect KERNELS, NOT FUSED
			expect // extern_mm_0: an extern kernel
			expect void fused_add_relu_mul() {
			expect would save 64 B
		`,
		"graph views follow each other": `
			keys 6 j
			expect NAME
			keys v
			expect ●
			keys v
			expect layer_norm
			keys v
			expect class GraphModule
			keys v
			expect NAME
		`,
		"guards fold by source and diff against the previous entry": `
			keys 5 enter j j j j z
			expect ▹
			keys z
			refute ▹
			keys d
			expect first cache entry of its function
		`,
		"framework noise is folded and unfolds": `
			keys 3
			refute distributed.py
			keys z
			expect distributed.py
		`,
		"a search looks in what is folded": `
			keys 3 /
			type distributed.py
			keys enter
			expect "distributed.py" was folded, and is shown now
			keys /
			type nowhere at all
			keys enter
			expect "nowhere at all": not found
		`,
		"space pauses the program at a safe point and continues it": `
			keys space poll
			poll
			expect paused model.go:52
			keys space
			poll
			expect live
		`,
		"the program's output is shown without its control characters": `
			keys -
			expect ! warning: slow ␛[31mdisk
		`,
		"mouse: tabs, rows and the wheel": `
			size 120x40
			click 25 1
			screen Breaks
			click 4 6
			expect ▸ └ ✂ model.go:57
			wheel down 80 20
		`,
		"watching says so, and what changed since the run before": `
			keys w
			expect watching: save a file
			poll
			expect since the previous run: 1 break fixed
		`,
		"the linked line stays in view inside a kernel": `
			keys 8 j enter j
			expect line 14 ↔ layer_norm ↔ model.go:46
		`,
		"ctrl-c interrupts the program first": `
			keys ctrl+c
			expect interrupted the program
		`,
		"an interrupted program leaves its stop, and what was done is still said": `
			keys space
			poll
			expect paused
			keys ctrl+c
			poll
			expect live
			expect interrupted the program
		`,
		"export writes the whole screen": `
			keys 8 x
			expect wrote runs/screen-kernels.txt
		`,
		"a row without a line has nothing to edit": `
			keys - e
			expect no source line
		`,
	} {
		t.Run(name, func(t *testing.T) {
			newDriver(t, richFeed(), Options{}, 120, 40).script(text)
		})
	}
}

// Rows that appear while the program runs do not move the selection.
func TestLiveRowsKeepSelection(t *testing.T) {
	for _, n := range []int{500, 20_000} {
		f := richFeed()
		d := newDriver(t, f, Options{}, 120, 30)
		d.script("keys 8 j\nexpect ▸ █ [1/0]    fused_add_layer_norm_1")
		next := *f.report
		var fresh []*explain.Kernel
		for i := range n {
			fresh = append(fresh, &explain.Kernel{ID: cid(0, 0), Name: fmt.Sprintf("fused_new_%d", i), Lang: "c", Bytes: -1, Nanos: -1})
		}
		next.Kernels = append(fresh, next.Kernels...)
		f.report = &next
		d.script("poll\nexpect ▸ █ [1/0]    fused_add_layer_norm_1")
		checkFrame(t, d.frame(), 120, 30)
	}
}

// One operator of a kernel is one operator.
func TestOneOperatorOfKernels(t *testing.T) {
	f := richFeed()
	f.report.Kernels = f.report.Kernels[:1]
	f.report.Kernels[0].Ops = f.report.Kernels[0].Ops[:1]
	newDriver(t, f, Options{}, 120, 30).script("keys 8\nexpect 1 operator\nrefute 1 operators")
}

// A view that is held does not change, and follows again.
func TestHoldView(t *testing.T) {
	f := richFeed()
	f.run.Control = false
	d := newDriver(t, f, Options{}, 100, 30)
	d.script("keys space\nexpect display frozen, program still running")
	next := *f.report
	next.Totals.Graphs = 77
	f.report = &next
	d.script("poll\nrefute 77 graphs\nkeys space\npoll\nexpect 77 graphs")
}

// How a program ended is shown as what it is.
func TestEndings(t *testing.T) {
	for text, failed := range map[string]bool{
		"exit 0": false, "panic: index out of range [3] with length 3": true, "exit 3": true,
		"kernel fault: SIGSEGV at address 0x0 in kernel fused_add_0 of graph __compiled_fn_1": true,
	} {
		f := richFeed()
		f.run.Live, f.run.Control, f.run.Ended, f.run.Failed = false, false, text, failed
		d := newDriver(t, f, Options{}, 160, 30)
		d.script("expect " + text[:min(len(text), 50)])
		if got := strings.Contains(d.plain(), "✗ "+text[:6]); got != failed {
			t.Errorf("%q is marked as failed: %v", text, got)
		}
	}
}

// What a trace contains never acts on the terminal.
func TestHostileText(t *testing.T) {
	f := richFeed()
	bad := "\x1b]0;owned\x07\x1b[2J\r\n\tx\u202e\x00"
	f.run.Title = bad
	for _, k := range f.report.Kernels {
		k.Name += bad
	}
	for _, b := range f.report.Breaks {
		b.Lead.Type, b.Lead.Explanation, b.Lead.Raw, b.Lead.Pos.Code, b.Lead.Pos.File = bad, bad, bad, bad, "../../"+bad
	}
	for _, fr := range f.report.Frames {
		fr.Name = bad
	}
	for i := range f.records {
		f.records[i].Kind = bad
	}
	d := newDriver(t, f, Options{Colour: true}, 100, 30)
	for s := range len(screens()) {
		d.send(keyMsg(title(keys.Screen(s)).Key))
		checkFrame(t, d.frame(), 100, 30)
	}
}

// Every size from tiny to large gives whole frames on every screen.
func TestEverySize(t *testing.T) {
	d := newDriver(t, richFeed(), Options{Colour: true}, 80, 24)
	for _, size := range []string{"60x15", "20x5", "80x24", "99x30", "100x30", "120x40", "200x60", "250x80", "3x3"} {
		d.script("size " + size)
		for s := range len(screens()) {
			d.send(keyMsg(title(keys.Screen(s)).Key))
			checkFrame(t, d.frame(), d.m.columns, d.m.sc.h)
			d.send(keyMsg("enter"))
			checkFrame(t, d.frame(), d.m.columns, d.m.sc.h)
			d.send(keyMsg("esc"))
		}
	}
}

// An empty report teaches on every screen.
func TestEmptyStates(t *testing.T) {
	d := newDriver(t, &fakeFeed{report: &explain.Report{}, run: Run{Title: "x"}}, Options{}, 100, 30)
	for s := range len(screens()) {
		d.send(keyMsg(title(keys.Screen(s)).Key))
		if body := strings.Split(d.plain(), "\n")[4:20]; strings.TrimSpace(strings.Join(body, "")) == "" {
			t.Errorf("%s says nothing when it is empty", title(keys.Screen(s)).Name)
		}
	}
}

// A compile that just began has no name in the trace yet: its row says which it is.
func TestFrameWithoutAName(t *testing.T) {
	c := &explain.Compile{Status: explain.Compiling}
	fr := &explain.Frame{Calls: -1, EagerOps: -1, Status: explain.Compiling, Compiles: []*explain.Compile{c}}
	fr.ID.Frame, c.Frame = 3, fr
	f := &fakeFeed{report: &explain.Report{Live: true, Frames: []*explain.Frame{fr}}, run: Run{Title: "x", Live: true}}
	for _, w := range []int{80, 160} {
		if d := newDriver(t, f, Options{}, w, 24); !strings.Contains(d.plain(), "▸ frame 3 ") {
			t.Errorf("at width %d the row does not name its frame:\n%s", w, d.plain())
		}
	}
}

// A phase that still runs has no duration to show, and the compiles no time.
func TestTimelineOfARunningCompile(t *testing.T) {
	t0 := time.UnixMilli(1_800_000_000_000)
	r := &explain.Report{Live: true, Phases: []*explain.Phase{
		{Name: "dynamo", Start: t0, Dur: time.Second, Open: true},
		{Name: "bytecode_tracing", Start: t0, Dur: 300 * time.Millisecond, Depth: 1},
	}}
	r.Totals.Compiles = 1
	d := newDriver(t, &fakeFeed{report: r, run: Run{Title: "x", Live: true}}, Options{}, 100, 30)
	d.send(keyMsg(title(keys.Timeline).Key))
	for _, want := range []string{`\n 1 compile · the chart spans 1.00 s`, `dynamo +running `, `bytecode_tracing +300 ms `} {
		if !regexp.MustCompile(want).MatchString(d.plain()) {
			t.Errorf("lacks %q:\n%s", want, d.plain())
		}
	}
}

// What still runs reaches to now, though no event came since; what ended does not, and
// neither does anything in a saved run.
func TestTimelineReachesToNow(t *testing.T) {
	t0 := time.UnixMilli(1_800_000_000_000)
	for _, c := range []struct {
		live, open bool
		chart      string
	}{
		{true, true, "spans 10.0 s"}, {true, false, "spans 1.00 s"}, {false, true, "spans 1.00 s"},
	} {
		r := &explain.Report{Live: true, Phases: []*explain.Phase{
			{Name: "bytecode_tracing", Start: t0, Dur: time.Second},
			{Name: "dynamo", Start: t0.Add(time.Second / 2), Dur: time.Second / 2, Depth: 1, Open: c.open},
		}}
		d := newDriver(t, &fakeFeed{report: r, run: Run{Title: "x", Live: c.live}}, Options{}, 100, 30)
		d.m.sc.now = func() time.Time { return t0.Add(10 * time.Second) }
		d.send(keyMsg(title(keys.Timeline).Key))
		if !strings.Contains(d.plain(), c.chart) {
			t.Errorf("live %v, running %v: no %q in\n%s", c.live, c.open, c.chart, d.plain())
		}
		p := d.m.pane(keys.Timeline)
		for i := range p.Len() {
			span, ok := p.at(i).(*spanRow)
			if !ok {
				continue
			}
			row, name := span.draw(&d.m.sc, 100).Text(), span.event().Name
			reaches := strings.HasSuffix(row, bar(1, 1, 1)) && theme.Width(row) == 100
			if want := name == "dynamo" && c.open || c.chart == "spans 1.00 s"; reaches != want {
				t.Errorf("live %v, running %v: the bar of %s reaches the end: %v", c.live, c.open, name, reaches)
			}
		}
	}
}

// Logs name the first guard that fails: what nobody looked at is not said to hold.
func TestOnlyTheFirstFailureIsRecorded(t *testing.T) {
	f := richFeed()
	for complete, want := range map[bool]string{true: "No other guard of that entry failed", false: "others may have failed too"} {
		for _, rc := range f.report.Recompiles {
			rc.Complete = complete
		}
		d := newDriver(t, f, Options{}, 200, 60)
		d.send(keyMsg(title(keys.Recompiles).Key))
		if !strings.Contains(d.plain(), want) {
			t.Errorf("complete %v lacks %q:\n%s", complete, want, d.plain())
		}
	}
}

// A call of a function that breaks takes what its parts take together.
func TestRunTimeOfAllParts(t *testing.T) {
	head := &explain.Frame{Name: "f", Calls: 2, RunNanos: 400_000, Status: explain.Compiled}
	rest := &explain.Frame{Name: "torch_dynamo_resume_in_f_at_3", Parent: head, Calls: 2, RunNanos: 5_600_000, Status: explain.Compiled}
	head.Resumes = []*explain.Frame{rest}
	f := &fakeFeed{report: &explain.Report{Frames: []*explain.Frame{head, rest}}, run: Run{Title: "x"}}
	d := newDriver(t, f, Options{}, 160, 24)
	for _, want := range []string{`▸ f .* 3\.0 ms`, `2 calls took 6\.0 ms`} {
		if !regexp.MustCompile(want).MatchString(d.plain()) {
			t.Errorf("lacks %q:\n%s", want, d.plain())
		}
	}
}

// The screens speak of programs in Go and in Python alike.
func TestEmptyOverviewNamesNoLanguage(t *testing.T) {
	for _, live := range []bool{true, false} {
		d := newDriver(t, &fakeFeed{report: &explain.Report{}, run: Run{Title: "x", Live: live}}, Options{}, 80, 24)
		if text := d.plain(); strings.Contains(text, "torch.Compile") || !strings.Contains(text, "compiled function") {
			t.Errorf("live %v:\n%s", live, text)
		}
	}
}

// The key table as the README shows it.
func TestKeyTable(t *testing.T) {
	golden(t, "keys.md", New(richFeed(), Options{}).sc.keys.Markdown())
}

// Functions of one name are told apart where there is no room for their files; the
// frames of one function on two ranks are none.
func TestTwinsShowTheirLines(t *testing.T) {
	frame := func(name, file string, line int) *rootFrame {
		return &rootFrame{frame: &explain.Frame{Name: name, Pos: logs.Pos{File: file, Line: line}}}
	}
	list := []*rootFrame{
		frame("forward", "/w/a.py", 3), frame("forward", "/w/a.py", 3), frame("step", "/w/a.py", 9),
		frame("forward", "/w/a.py", 28),
	}
	markTwins(list[:3])
	if list[0].twin || list[1].twin || list[2].twin {
		t.Error("one function on two ranks is not two functions")
	}
	markTwins(list)
	if !list[0].twin || !list[1].twin || list[2].twin || !list[3].twin {
		t.Errorf("twins: %v %v %v", list[0].twin, list[2].twin, list[3].twin)
	}
	m := New(richFeed(), Options{})
	for w, want := range map[int]bool{80: true, 100: false} {
		if got := strings.Contains((&frameRow{f: list[3]}).draw(&m.sc, w).Text(), "forward :28"); got != want {
			t.Errorf("at %d columns the line is shown: %v", w, got)
		}
	}
}
