package stop_test

import (
	"fmt"
	"strings"
	"testing"

	"tcdbg/logs"
	"tcdbg/logs/ctl"
	"tcdbg/tracer/host/journal"
	"tcdbg/tracer/stop"
)

const walk = `
func add(a, b int) int {
	c := a + b
	return c
}

func twice(f func(int) int, x int) int {
	return f(f(x))
}

func main() {
	total := 0
	for i := 0; i < 3; i++ {
		total = add(total, i)
	}
	k := 2
	total = twice(func(x int) int {
		return x * k
	}, total)
	fmt.Println(total) // end
}
`

// steps does steps until the program has ended or n are done, and lists the lines.
func steps(s *session, kind string, n int) string {
	var out []string
	for range n {
		st := s.step(kind)
		out = append(out, fmt.Sprint(st.Where.Line))
	}
	return strings.Join(out, " ")
}

// Lines are those of statements: over calls, into them, out of them, and to a line.
func TestSteps(t *testing.T) {
	s := load(t, "\n"+walk)
	st := s.step("line")
	if st.Where.Line != s.line("total := 0") || st.Where.Func != "main" {
		t.Errorf("the first line is %+v", st.Where)
	}
	m, a := s.line("for i"), s.line("total = add")
	want := fmt.Sprintf("%d %d %d %d %d %d %d %d", m, a, m, a, m, a, m, s.line("k := 2"))
	if got := steps(s, "line", 8); got != want {
		t.Errorf("over: %s, want %s", got, want)
	}
	if got := s.step("line").Where.Line; got != s.line("total = twice") {
		t.Errorf("line %d", got)
	}
	if st = s.step("into"); st.Where.Func != "twice" {
		t.Errorf("into: %+v", st.Where)
	}
	st = s.step("into")
	if st.Where.Func != "main.func1" || local(t, st, 0, "k").Text != "2" || len(st.Stack) != 3 {
		t.Errorf("into the literal: %+v", st)
	}
	if st = s.step("out"); st.Where.Func != "twice" || !strings.Contains(st.Why, "returned") {
		t.Errorf("out: %+v", st)
	}
	s.send(ctl.Step, s.at("// end"))
	if st = s.next(); st.Where.Line != s.line("// end") || local(t, st, 0, "total").Text != "12" {
		t.Errorf("to the end: %+v", st)
	}
	if e := s.finish(); e.Code != 0 || s.stdout.String() != "12\n" {
		t.Errorf("%+v %q", e, s.stdout.String())
	}
}

// A breakpoint on a line stops once each time that the line begins, where its condition
// holds; one that can never be hit says why.
func TestLineBreakpoints(t *testing.T) {
	s := load(t, "\n"+walk)
	st := s.run(s.at("return c") + " if c > 2")
	if local(t, st, 0, "a").Text != "1" || local(t, st, 0, "c").Text != "3" || st.Kind != logs.StopLine {
		t.Errorf("%+v", st)
	}
	if i := local(t, st, 1, "i"); i.Text != "2" {
		t.Errorf("i: %+v", i)
	}
	if p := s.point(s.at("total = add")); p.Places != 1 || p.Error != "" {
		t.Errorf("%+v", p)
	}
	if p := s.point("func add"); p.Places != 1 {
		t.Errorf("%+v", p)
	}
	for spec, want := range map[string]string{
		"model.go:1":                    "line 1 of model.go has no code; the next that has is 4",
		"model.go:999":                  "line 999 of model.go has no code",
		"other.go:3":                    "other.go is no file of the program",
		"func nothing":                  "the program has no function nothing that runs here",
		"nonsense":                      "a breakpoint is break",
		s.at("return c") + " if d > 1":  "condition: undefined: d",
		s.at("return c") + " if a +":    "condition: syntax error",
		s.at("return c") + " if":        "a breakpoint is break",
		s.at("return c") + " if a + 1":  "condition: a + 1 is not a bool",
		s.at("return c") + " if main()": "condition: main() is not a bool",
	} {
		if p := s.point(spec); p.Places != 0 || !strings.Contains(p.Error, want) {
			t.Errorf("%s: %+v, want %q", spec, p, want)
		}
	}
	if e := s.finish(); e.Code != 0 || s.stdout.String() != "12\n" {
		t.Errorf("%+v %q", e, s.stdout.String())
	}
}

// A breakpoint on a function stops at each call, with its arguments.
func TestFuncBreakpoint(t *testing.T) {
	s := load(t, "\n"+walk)
	for i, want := range []string{"0 0", "0 1", "1 2"} {
		var st logs.Stop
		if i == 0 {
			st = s.run("func main.add")
		} else {
			st = s.run()
		}
		if got := local(t, st, 0, "a").Text + " " + local(t, st, 0, "b").Text; got != want || st.Where.Func != "add" {
			t.Errorf("call %d: %s in %+v", i, got, st.Where)
		}
		if v := local(t, st, 0, "a"); !v.Arg {
			t.Errorf("%+v", v)
		}
	}
	s.finish()
}

// A line of a compiled function stops where the tracer traces it, with what the trace
// knows, and not where a cache entry serves the call.
func TestLinesOfATrace(t *testing.T) {
	s := load(t, "\n"+model)
	st := s.run(s.at("if y.Sum()"))
	if st.Compiled != "f" || st.Compile != "0/0" || len(st.Nodes) != 2 || len(st.Symbolic) == 0 {
		t.Errorf("%+v", st)
	}
	if y := local(t, st, 0, "y"); y.Fake == nil || y.Tensor != nil || y.Unknown == "" {
		t.Errorf("y: %+v", y)
	}
	if x := local(t, st, 0, "x"); x.Fake == nil || x.Tensor == nil || x.Tensor.First[0] != "1" {
		t.Errorf("x: %+v", x)
	}
	if len(st.Stack) != 2 || st.Stack[1].Func != "main" {
		t.Errorf("stack: %+v", st.Stack)
	}
	var instrs []string
	for range 3 {
		st = s.step("instruction")
		instrs = append(instrs, st.Why)
	}
	if instrs[0] != "next instruction of the trace" {
		t.Errorf("%q", instrs)
	}
	st = s.step("operator")
	if !strings.Contains(st.Why, "operator") || st.Compile != "1/0" {
		t.Errorf("%+v", st)
	}
	if e := s.finish(); e.Code != 0 || s.stdout.String() != modelOut {
		t.Errorf("%+v %q", e, s.stdout.String())
	}
}

// A pause stops a program that does no tensor work.
func TestPauseNow(t *testing.T) {
	s := load(t, `
var stop bool

func main() {
	n := 0
	for !stop {
		n++
	}
	fmt.Println("over")
}
`)
	s.send(ctl.Continue, "")
	s.send(ctl.Pause, "")
	st := s.next()
	if st.Kind != logs.StopPause || st.Where.Func != "main" || st.Command != s.id {
		t.Errorf("%+v", st)
	}
	if got := s.eval("func() bool { stop = true; return stop }()", 0); got != "true" {
		t.Errorf("%s", got)
	}
	if e := s.finish(); e.Code != 0 || s.stdout.String() != "over\n" {
		t.Errorf("%+v %q", e, s.stdout.String())
	}
}

// A step at the end of a function that compiled code has called goes on to the line after the
// call.
func TestStepOutOfCallback(t *testing.T) {
	s := load(t, `
func main() {
	x := torch.Ones(2)
	for i := range 2 {
		torch.NoGrad(func() {
			x = x.Add(i) // inside
		})
		fmt.Println(i) // after
	}
}
`)
	s.point(s.at("// inside"))
	s.run()
	for _, kind := range []string{"line", "out"} {
		if st := s.step(kind); st.Where.Line != s.line("// after") {
			t.Errorf("%s: %+v", kind, st.Where)
		}
		s.send(ctl.Continue, "")
		if kind == "line" {
			s.next()
		}
	}
	s.finish()
}

// Where a step ends does not depend on which moments are looked at to compare them later.
func TestLookingChangesNoStep(t *testing.T) {
	var want []string
	for _, look := range []bool{false, true} {
		s := openWith(t, journal.Record(), "../../fixtures/batches/model.go")
		if look {
			stop.LookAlways(s.d)
		}
		var got []string
		for _, k := range []string{"line", "operator", "", "into", "", "", "", "operator", "line"} {
			st := s.step(k)
			got = append(got, fmt.Sprint(k, ": ", st.Kind, " ", st.Where.Line, " ", st.Why, " ", st.Moment))
		}
		s.finish()
		if want == nil {
			want = got
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("step %d: %s, want %s", i, got[i], want[i])
			}
		}
	}
}
