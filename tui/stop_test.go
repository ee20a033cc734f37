package tui

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/logs/ctl"
	"tcdbg/tui/keys"
	"tcdbg/tui/values"
)

// tensorOf is a tensor of floats with numbers.
func tensorOf(shape string) *logs.TensorValue {
	return &logs.TensorValue{
		Dtype: "float32", Shape: strings.Split(shape, " "), Stride: []string{"64", "1"}, Device: "cpu", RequiresGrad: true,
		Min: "-1.42", Max: "2.21", Mean: "0.031", NaN: 3, First: []string{"0.1", "-0.2", "nan"},
		Histogram: []int64{1, 2, 8, 16, 8, 2, 0, 1},
	}
}

// breakStop is the captioner at its branch.
func breakStop() *logs.Stop {
	where := at(52, "Decoder.Forward", "\tif b.Sum().Lt(0).Bool() {")
	return &logs.Stop{
		ID: 2, Process: 7, Kind: logs.StopBreak, Why: "a graph break: branch on a tensor's value", Where: &where,
		Compiled: "Decoder.Forward", Compile: "1/0", Reason: "Data-dependent branching (GB0170)",
		Deciding: &logs.Value{Name: "b.Sum().Lt(0)", Tensor: &logs.TensorValue{Dtype: "bool", First: []string{"true"}}},
		Stack: []logs.StackFrame{
			{Pos: where, Locals: []logs.Value{
				{Name: "x", Arg: true, Tensor: tensorOf("8 64")},
				{Name: "b", Arg: true, Tensor: &logs.TensorValue{
					Dtype: "float32", Shape: []string{"8"}, Min: "-3", Max: "1",
					Mean: "-0.5",
				}},
				{Name: "d", Type: "*main.Decoder", Items: []logs.Value{
					{Name: "heads", Type: "int", Text: "4"},
					{Name: "name", Type: "string", Text: "\"dec\x1b[31m\""},
				}, More: 3},
				{Name: "h", Unknown: "not assigned yet"},
			}},
			{Pos: at(31, "Model.Forward", "\th = d.Forward(h, b)")},
			{Pos: at(14, "main", "out := m.Forward(img)"), Locals: []logs.Value{{Name: "epoch", Type: "int", Text: "3"}}},
		},
		Nodes: []string{"attention: f32[8, 64] = attention(x)", "add: f32[8, 64] = attention + x"},
		Symbolic: []logs.Value{{
			Name: "h", Tensor: tensorOf("8 64"),
			Fake: &logs.TensorValue{Dtype: "float32", Shape: []string{"s0", "64"}},
		}},
		Watches: []logs.Answer{{Expr: "b.Sum()", Value: logs.Value{Tensor: &logs.TensorValue{Dtype: "float32", First: []string{"-4"}}}}},
		Missing: []string{"locals of optimised functions"},
	}
}

// missStop is a guard miss.
func missStop() *logs.Stop {
	where := at(77, "step", "func step(x *torch.Tensor) *torch.Tensor {")
	return &logs.Stop{
		ID: 1, Process: 7, Kind: logs.StopRecompile, Why: "no entry fits this call", Where: &where, Compiled: "step",
		Guards: []logs.GuardState{
			{Entry: 1, Text: "tensor 'x' size at index 0", Expected: "9", Actual: "10", Result: "failed"},
			{Entry: 0, Text: "tensor 'x' size at index 0", Expected: "8", Actual: "10", Result: "failed"},
			{Entry: 0, Text: "scale == 2", Expected: "2", Actual: "3", Result: "would fail"},
			{Entry: 0, Text: "training == false", Result: "holds"},
		},
	}
}

func headOf(s *logs.Stop, seq int64, stands bool) *explain.Stop {
	return &explain.Stop{
		ID: s.ID, Process: s.Process, Rank: -1, Kind: s.Kind, Why: s.Why, Where: *s.Where, Compiled: s.Compiled, Compile: s.Compile,
		Seq: seq, Stands: stands, Load: func() *logs.Stop { return s },
	}
}

// stoppedFeed is the captioner, stopped at its break after a guard miss.
func stoppedFeed() *fakeFeed {
	f := richFeed()
	f.report.Session = explain.Session{
		Stops: []*explain.Stop{headOf(missStop(), 40, false), headOf(breakStop(), 50, true)},
		Points: []logs.Point{
			{ID: 1, Process: 7, Spec: "break", Places: 4},
			{ID: 2, Process: 7, Spec: "model.go:54 if x.Sum() > 3", Places: 1},
			{ID: 3, Process: 7, Spec: "model.go:900", Error: "model.go has 84 lines"},
		},
		Answers: []*logs.Answer{
			{Expr: "x.Shape()", Value: logs.Value{Type: "[]int", Text: "[8 64]"}},
			{Expr: "y", Error: "y is not defined here"},
		},
	}
	return f
}

// TestStopFrames: what a person sees at a stop, at three sizes.
func TestStopFrames(t *testing.T) {
	for _, c := range []struct{ w, h int }{{80, 24}, {160, 50}, {60, 15}} {
		d := newDriver(t, stoppedFeed(), Options{}, c.w, c.h)
		var b strings.Builder
		shot := func(what string) {
			b.WriteString("=== " + what + "\n")
			for _, l := range strings.Split(d.plain(), "\n") {
				b.WriteString(strings.TrimRight(l, " ") + "\n")
			}
			checkFrame(t, d.frame(), c.w, c.h)
		}
		d.script("screen Stop")
		shot("at a break")
		d.script("keys tab j j j j j j j j j j j j j z")
		shot("a value unfolded")
		d.script("keys esc ! G k k k k k")
		shot("breakpoints")
		d.script("keys G")
		shot("the miss before")
		d.script("keys 2")
		shot("its line")
		golden(t, fmt.Sprintf("stop-%dx%d.txt", c.w, c.h), b.String())
	}
}

// TestStopOpens: a new stop opens the Stop screen, or moves the cursor of Source; a stop that
// was shown does not.
func TestStopOpens(t *testing.T) {
	f := stoppedFeed()
	session := f.report.Session
	session.Stops[0].Seq, session.Stops[1].Seq = -1, 0 // the stop may be a trace's first record
	f.report.Session = explain.Session{}
	d := newDriver(t, f, Options{}, 120, 40)
	d.script("keys 3\nscreen Breaks")
	next := func(s explain.Session) {
		r := *f.report
		r.Session = s
		f.report = &r
		d.script("poll")
	}
	next(session)
	d.script(`
		screen Stop
		expect ‖ graph break model.go:52
		expect b.Sum().Lt(0)
		keys 3
		poll
		screen Breaks
		keys 2
		expect 52▶
	`)
	moved := session
	other := headOf(missStop(), 60, true)
	other.Where = at(80, "step", "")
	moved.Stops = append(slices.Clone(session.Stops[:1]), other)
	next(moved)
	d.script("screen Source\nexpect ▸    80▶")
	d.m.open(keys.Overview)
	f.run.Live = false
	moved.Stops = []*explain.Stop{headOf(missStop(), 70, true)}
	next(moved)
	d.script("screen Overview")
}

// TestStopCommands: each key sends its command, to the thread of the stop where several stand.
func TestStopCommands(t *testing.T) {
	f := stoppedFeed()
	d := newDriver(t, f, Options{}, 120, 40)
	for _, c := range []struct{ script, want string }{
		{"keys c", "continue"},
		{"keys n", "step line"},
		{"keys i", "step into"},
		{"keys o", "step out"},
		{"keys p", "step operator"},
		{"keys I", "step instruction"},
		{"keys s", "step"},
		{"keys r", "step /home/ann/captioner/model.go:52"},
		{"keys b\ntype GB0170 if x > 2\nkeys enter", "break GB0170 if x > 2 point 4"},
		{"keys E\ntype b.Max()\nkeys enter", "evaluate b.Max()"},
		{"keys W\ntype x.Sum()\nkeys enter", "watch x.Sum()"},
		{"keys tab / \ntype m.Forward(img)\nkeys enter E\ntype epoch\nkeys enter", "evaluate epoch level 2"},
		{"keys / \ntype -4\nkeys enter d", "unwatch b.Sum()"},
		{"keys esc esc g j d", "clear break point 1"},
		{"keys 2 b", "break /home/ann/captioner/model.go:52 point 5"},
		{"keys / \ntype b.Mul\nkeys enter j b", "clear model.go:54 if x.Sum() > 3 point 2"},
		{"keys / \ntype b.Mul\nkeys enter r", "step /home/ann/captioner/model.go:53"},
	} {
		f.sent = nil
		d.script(c.script)
		if got := strings.Join(f.sent, "; "); got != c.want {
			t.Errorf("%q sent %q, want %q\n%s", c.script, got, c.want, d.plain())
		}
	}
	f.sent = nil
	d.script("keys ! tab /\ntype main\nkeys enter n n esc esc")
	if len(f.sent) > 0 {
		t.Errorf("n sent %q while a text was searched for", f.sent)
	}
	for _, c := range []struct {
		answer logs.Answer
		want   string
	}{
		{logs.Answer{Command: 70, Expr: "epoch + 1", Value: logs.Value{Type: "int", Text: "4"}}, "epoch + 1 = int 4"},
		{logs.Answer{Command: 71, Expr: "nothing", Error: "NameError"}, "nothing: NameError"},
	} {
		r := *f.report
		r.Session.Answers = append(slices.Clone(r.Session.Answers), &c.answer)
		f.report = &r
		d.script("poll\nexpect " + c.want)
		if got := d.m.sc.notice.text; got != c.want {
			t.Errorf("the last line is %q, want %q", got, c.want)
		}
	}
	worker := headOf(breakStop(), 55, true)
	worker.Process, worker.Thread = 8, "worker"
	r := *f.report
	r.Session.Stops = append(slices.Clone(r.Session.Stops), worker)
	f.report, f.sent = &r, nil
	d.script("poll\nkeys ! g c\nexpect 2 stopped")
	if got := strings.Join(f.sent, "; "); got != "continue pid 8 thread worker" {
		t.Errorf("sent %q", got)
	}
}

// TestStopRefusals: what cannot be stopped says so.
func TestStopRefusals(t *testing.T) {
	f := stoppedFeed()
	f.run.Control = false
	d := newDriver(t, f, Options{}, 120, 40)
	d.script("keys ! c\nexpect only programs under tcdbg run and tcdbg exec --pause can be stopped")
	f.run.Live = false
	d.script("poll\nkeys n\nexpect step: the program has ended")
	if len(f.sent) > 0 {
		t.Errorf("sent %q", f.sent)
	}
}

// TestStopRefusedByTheProgram: what the program does not do is on the last line, with its reason.
func TestStopRefusedByTheProgram(t *testing.T) {
	f := stoppedFeed()
	d := newDriver(t, f, Options{}, 120, 40)
	d.script("keys ! I\nexpect to the next instruction of the trace")
	f.report.State = logs.State{State: "paused", Command: 9, Text: "step: PyTorch 1.0 has no loop over instructions"}
	d.script("poll\nexpect step: PyTorch 1.0 has no loop over instructions")
}

// TestStopKeyBar: the key bar shows what works where the program stands: going back where the run is
// kept, operators of Go programs, steps where something stands.
func TestStopKeyBar(t *testing.T) {
	back, operator, line := "N back a line", "p next operator", "n next line"
	for _, c := range []struct {
		name   string
		change func(*explain.Stop)
		shown  []string
	}{
		{"Go, kept", func(s *explain.Stop) { s.Moment = 7 }, []string{back, operator, line}},
		{"Go, not kept", func(*explain.Stop) {}, []string{operator, line}},
		{"Go, after a goroutine", func(s *explain.Stop) { s.Moment, s.NoBack = 7, "a goroutine was started" }, []string{operator, line}},
		{"Python", func(s *explain.Stop) { s.Where.File, s.Compile = "train.py", "" }, []string{line}},
		{"Python, amid a trace", func(s *explain.Stop) { s.Where.File, s.Compile = "train.py", "0/0" }, []string{operator, line}},
		{"nothing stands", func(s *explain.Stop) { s.Stands = false }, nil},
		{"killed while it stood", nil, nil},
	} {
		f := stoppedFeed()
		if c.change == nil {
			f.run.Live = false
		} else {
			c.change(f.report.Session.Stops[1])
		}
		d := newDriver(t, f, Options{}, 200, 50)
		d.script("keys !\nscreen Stop")
		lines := strings.Split(strings.TrimSpace(d.plain()), "\n")
		bar := lines[len(lines)-1]
		if stands := f.run.Live && f.report.Session.Stops[1].Stands; stands == strings.Contains(d.plain(), "was at:") {
			t.Errorf("%s: it stands: %v\n%s", c.name, stands, d.plain())
		}
		if now := strings.Contains(d.plain(), "STANDS AT"); now != (f.run.Live && f.report.Session.Stops[1].Stands) {
			t.Errorf("%s: it is said to stand: %v\n%s", c.name, now, d.plain())
		}
		for _, key := range []string{back, operator, line} {
			if got, want := strings.Contains(bar, key), slices.Contains(c.shown, key); got != want {
				t.Errorf("%s: %q is shown: %v; %s", c.name, key, got, bar)
			}
		}
	}
}

// TestHugeStop: a record of somebody else's costs bounded lines.
func TestHugeStop(t *testing.T) {
	s := breakStop()
	deep := logs.Value{Name: "deep", Type: "any", Text: "end"}
	for range 3000 {
		deep = logs.Value{Name: "deep", Type: "any", Items: []logs.Value{deep}}
	}
	s.Stack[0].Locals = slices.Repeat([]logs.Value{deep}, 30_000)
	f := richFeed()
	f.report.Session.Stops = []*explain.Stop{headOf(s, 50, true)}
	d := newDriver(t, f, Options{}, 80, 24)
	d.script("keys tab G")
	if n := d.m.current().doc.Len(); n > values.Max+1 {
		t.Errorf("%d lines", n)
	}
	d.script("expect Logs has the record")
	checkFrame(t, d.frame(), 80, 24)
}

// TestBackKeys: B, N and P go back where the run is kept; where it is not, they say why. The
// past is named as such.
func TestBackKeys(t *testing.T) {
	f := stoppedFeed()
	now := f.report.Session.Stops[1]
	now.Moment = 1040
	d := newDriver(t, f, Options{}, 100, 30)
	d.script("screen Stop\nkeys B N P U V\nexpect put the cursor on a variable of the stack")
	d.script("keys tab")
	for range 40 {
		if l := d.m.screens[keys.Stop].(*stopScreen).lineAt(); l != nil && len(l.Names) > 0 {
			break
		}
		d.script("keys j")
	}
	d.script("keys V esc")
	if got := strings.Join(f.sent, ", "); got != `back, back line, back operator, back nan, back ["x"]` {
		t.Fatalf("sent %s", got)
	}
	now.Moment, now.Past, now.Note = 812, 1040, ""
	d.script("poll\nscreen Stop\nexpect in the past: moment 812 of 1040")
	now.NoBack = "this run is not kept: start it with --record, or with --pause"
	d.script("poll\nkeys B\nexpect back: this run is not kept: start it with --record")
	now.NoBack, now.Moment, now.Past = "", 0, 0
	d.script("poll\nkeys N\nexpect only Go programs under tcdbg run")
	if len(f.sent) != 5 { // what was refused was not sent
		t.Errorf("sent %+v", f.sent)
	}
	now.Moment, now.Note = 1040, "could not go back: run again, at model.go:9 output is not the same"
	d.script("poll\nexpect could not go back: run again, at model.go:9")
	f.report.State = logs.State{State: "paused", Command: 9, Text: "back: there is no stop before this one"}
	d.script("poll\nexpect there is no stop before this one")
}

// TestPastFrames: what a person sees of the past, and where going back was refused.
func TestPastFrames(t *testing.T) {
	for _, c := range []struct{ w, h int }{{80, 24}, {160, 50}} {
		f := stoppedFeed()
		now := f.report.Session.Stops[1]
		now.Moment, now.Past, now.Why = 812, 1040, "b is written next: moment 812 of 1040, run again"
		d := newDriver(t, f, Options{}, c.w, c.h)
		var b strings.Builder
		shot := func(what string) {
			b.WriteString("=== " + what + "\n")
			for _, l := range strings.Split(d.plain(), "\n") {
				b.WriteString(strings.TrimRight(l, " ") + "\n")
			}
			checkFrame(t, d.frame(), c.w, c.h)
		}
		d.script("screen Stop")
		shot("in the past")
		now.Moment, now.Past, now.Note = 1040, 0, "could not go back: run again, at model.go:9 variable x of main is not the same"
		d.script("poll")
		shot("it did something else")
		now.Note, now.NoBack = "", "this run is not kept: start it with --record, or with --pause"
		d.script("poll\nkeys B")
		shot("it is not kept")
		golden(t, fmt.Sprintf("past-%dx%d.txt", c.w, c.h), b.String())
	}
}

// Keys that are pressed fast act in their order, whichever of their commands Bubble Tea
// begins first.
func TestCommandsKeepTheirOrder(t *testing.T) {
	f := stoppedFeed()
	sc := &newDriver(t, f, Options{}, 120, 40).m.sc
	f.sent = nil
	var cmds []tea.Cmd
	for _, c := range []ctl.Command{{Verb: ctl.Break, Arg: "kernel"}, {Verb: ctl.Step, Arg: "over"}, {Verb: ctl.Continue}} {
		cmds = append(cmds, sc.command(c, "said"))
	}
	var wg sync.WaitGroup
	for _, cmd := range slices.Backward(cmds) {
		wg.Go(func() { cmd() })
		time.Sleep(20 * time.Millisecond) // the only one that could act now
	}
	wg.Wait()
	if got := strings.Join(f.sent, ", "); got != "break kernel, step over, continue" {
		t.Errorf("the program was told: %s", got)
	}
}

// A breakpoint that each of three processes has at one line stops the program at one place.
func TestPointsOfSeveralProcesses(t *testing.T) {
	points := []logs.Point{
		{ID: 1, Process: 7, Spec: "train.py:3", Error: "no such file"},
		{ID: 1, Process: 8, Spec: "train.py:3", Places: 1},
		{ID: 1, Process: 9, Spec: "train.py:3", Places: 1},
	}
	rows := pointRows(points)
	if len(rows) != 1 || rows[0].(*pointRow).places != 1 || rows[0].(*pointRow).p.Error != "" {
		t.Errorf("%+v", rows[0])
	}
}
