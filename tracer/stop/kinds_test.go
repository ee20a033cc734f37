package stop_test

import (
	"strings"
	"testing"

	"tcdbg/logs"
	"tcdbg/logs/ctl"
)

const model = `
func f(x *torch.Tensor, n int) *torch.Tensor {
	y := x.Mul(2)
	if y.Sum().Gt(3).Bool() { // branch
		y = y.Add(n)
	}
	return y
}

func main() {
	g := torch.Compile(f)
	for i := range 3 {
		out := g(torch.Ones(2+i/2), 4)
		fmt.Println(out.Data())
	}
}
`

const modelOut = "[6 6]\n[6 6]\n[6 6 6]\n"

// A compile, a break, a miss and a call each stop, with the function, the id, the reason
// and the values of that place.
func TestStopsOfTheTracer(t *testing.T) {
	s := load(t, "\n"+model)
	st := s.run("call")
	if st.Kind != logs.StopCall || st.Compiled != "f" || st.Point == 0 || !strings.Contains(st.Why, "breakpoint call") {
		t.Errorf("call: %+v", st)
	}
	if x := local(t, st, 0, "x"); x.Tensor == nil || x.Tensor.Dtype != "float32" || x.Tensor.Max != "1" || !x.Arg {
		t.Errorf("x: %+v", x)
	}
	if i := local(t, st, 1, "i"); i.Text != "0" {
		t.Errorf("i: %+v", i)
	}
	s.send(ctl.Clear, "call")
	st = s.run("frame")
	if st.Kind != logs.StopFrame || st.Compile != "0/0" || st.Where.Func != "f" {
		t.Errorf("frame: %+v", st)
	}
	s.send(ctl.Clear, "frame")
	st = s.run("GB0170 if n == 4 && y.Sum().Item() > 3")
	if st.Kind != logs.StopBreak || st.Where.Line != s.line("// branch") || !strings.Contains(st.Reason, "GB0170") {
		t.Errorf("break: %+v", st)
	}
	if v := st.Deciding; v == nil || v.Tensor == nil || strings.Join(v.Tensor.First, " ") != "true" {
		t.Errorf("deciding: %+v", v)
	}
	if len(st.Nodes) == 0 || !strings.Contains(strings.Join(st.Nodes, "\n"), "y.sum()") {
		t.Errorf("nodes: %q", st.Nodes)
	}
	if y := local(t, st, 0, "y"); y.Tensor == nil || y.Tensor.First[0] != "2" {
		t.Errorf("y: %+v", y)
	}
	if len(st.Symbolic) == 0 || st.Symbolic[0].Fake == nil || st.Symbolic[0].Tensor == nil {
		t.Errorf("symbolic: %+v", st.Symbolic)
	}
	s.send(ctl.Clear, "GB0170 if n == 4 && y.Sum().Item() > 3")
	st = s.run("id 1")
	if st.Kind != logs.StopFrame || st.Compile != "1/0" || !strings.HasPrefix(st.Compiled, "torch_dynamo_resume_in_f") {
		t.Errorf("id 1: %+v", st)
	}
	s.send(ctl.Clear, "id 1")
	st = s.run("guard size mismatch")
	if st.Kind != logs.StopRecompile || len(st.Guards) == 0 || st.Guards[0].Result != "failed" ||
		!strings.Contains(st.Guards[0].Actual, "3") || !strings.Contains(st.Reason, "size mismatch") {
		t.Errorf("miss: %+v", st)
	}
	if e := s.finish(); e.Code != 0 || s.stdout.String() != modelOut {
		t.Errorf("%+v %q", e, s.stdout.String())
	}
}

// Steps by safe points meet each call, compile, break and miss in its order.
func TestSafePoints(t *testing.T) {
	s := load(t, "\n"+model)
	var got []string
	for {
		s.send(ctl.Step, "")
		st, ok := s.nextOrEnd()
		if !ok {
			break
		}
		got = append(got, string(st.Kind)+" "+st.Compile)
		if st.Command != s.id {
			t.Errorf("%+v answers command %d", st, s.id)
		}
	}
	want := "call |frame 0/0|break 0/0|frame 1/0|call |break 0/0|call |recompile 0/1|frame 0/1|break 0/1|recompile 1/1|frame 1/1"
	if g := strings.Join(got, "|"); g != want {
		t.Errorf("%s\nwant %s", g, want)
	}
	if e := s.ended(); e.Code != 0 || s.stdout.String() != modelOut {
		t.Errorf("%+v %q", e, s.stdout.String())
	}
	for _, st := range s.states {
		if st.State == "paused" && st.Where == nil {
			t.Errorf("%+v has no place", st)
		}
	}
}

// Commands that cannot be carried out are refused in words, and the program stays where
// it is.
func TestRefusals(t *testing.T) {
	s := load(t, "\n"+model)
	for _, c := range []struct {
		verb ctl.Verb
		arg  string
		want string
	}{
		{"dance", "", "dance: unknown command"},
		{ctl.Step, "backwards", "a step is line"},
		{ctl.Step, "model.go:999", "has no code"},
		{ctl.Clear, "break", "there is no such breakpoint"},
		{ctl.Pause, "", "it stands already"},
	} {
		id := s.send(c.verb, c.arg)
		st := wait(s, "answer", func() (logs.State, bool) {
			for _, st := range s.states {
				if st.Command == id {
					return st, true
				}
			}
			return logs.State{}, false
		})
		if st.State != "paused" || !strings.Contains(st.Text, c.want) {
			t.Errorf("%s %s: %+v", c.verb, c.arg, st)
		}
	}
	if a := s.value("1", 0); !strings.Contains(a.Error, "no frame") {
		t.Errorf("%+v", a)
	}
	s.finish()
}
