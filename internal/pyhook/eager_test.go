package pyhook

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tcdbg/logs"
	"tcdbg/logs/ctl"
)

// This file tests line breakpoints in calls that compiled code would serve.

// eagerProgram calls a compiled function that inlines another one, with new sizes in between,
// and says after each call how many entries the function has.
const eagerProgram = `import torch
from torch._C._dynamo.eval_frame import _debug_get_cache_entry_list as entries

def inner(y, k):
    z = y * k
    return z + 1

def bar(x, k):
    y = x * 2
    z = inner(y, k)
    if k < 0:
        print("negative")
    return z - 1

compiles = []
def backend(gm, inputs):
    compiles.append(1)
    return gm.forward
f = torch.compile(bar, backend=backend, dynamic=False FULLGRAPH)
for i in range(1, 8):
    out = f(torch.ones(3), 2)
    print(i, out.tolist(), len(compiles), len(entries(bar.__code__)), len(entries(inner.__code__)), flush=True)
`

// eagerLines is what eagerProgram prints: one compile, and one entry after each call.
func eagerLines() string {
	var b strings.Builder
	for _, i := range "1234567" {
		b.WriteString(string(i) + " [4.0, 4.0, 4.0] 1 1 0\n")
	}
	return b.String()
}

// A line breakpoint in a function that compiled code serves stops each of its calls, also in a
// function that it inlines: such a call runs eagerly. Nothing is compiled for it and no entry is
// lost; once the breakpoint is gone compiled code serves the calls again.
func TestLinesOfCompiledCalls(t *testing.T) {
	p := python(t, "torch")
	for _, fullgraph := range []string{"", ", fullgraph=True"} {
		v := start(t, p, strings.Replace(eagerProgram, " FULLGRAPH", fullgraph, 1), brk(1, "program.py:6"))
		s := v.stop()
		if !strings.Contains(s.Reason, "traces this line") || strings.Contains(s.Why, "eagerly") {
			t.Errorf("the first call: %+v", s)
		}
		for call := 2; call < 6; call++ {
			v.goOn(s)
			s = v.stop()
			if s.Kind != logs.StopLine || s.Where.Func != "inner" || local(t, s, 0, "z").Tensor.First[0] != "4" ||
				!strings.Contains(s.Why, "this call of bar runs eagerly") || !strings.Contains(s.Why, "compiled code is kept") {
				t.Errorf("call %d: %+v", call, s)
			}
			if got := v.ask(s, "i", len(s.Stack)-1); got.Value.Text != string(rune('0'+call)) {
				t.Errorf("call %d: %+v", call, got)
			}
		}
		v.send(ctl.Command{Verb: ctl.Clear, Point: 1})
		v.goOn(s)
		if got := v.end(0); got != eagerLines() {
			t.Errorf("fullgraph %q: printed %q", fullgraph, got)
		}
	}
}

// regionProgram has a module, a break with a rest that is compiled on its own, a compiled function
// that another one calls, and sizes that change.
const regionProgram = `import torch
from torch._C._dynamo.eval_frame import _debug_get_cache_entry_list as entries

class Net(torch.nn.Module):
    def forward(self, x):
        return self.scaled(x) + 1
    def scaled(self, x):
        return x * 3

@torch.compile(backend="eager")
def nested(x):
    return x + 10

@torch.compile(backend="eager", dynamic=False)
def broken(x):
    y = x + 1
    torch._dynamo.graph_break()
    z = nested(y)
    return z * 2

net = torch.compile(Net(), backend="eager", dynamic=False)
def count():
    return [len(entries(f)) for f in (Net.forward.__code__, broken._torchdynamo_orig_callable.__code__,
        nested._torchdynamo_orig_callable.__code__)]
for i in range(1, 6):
    a = net(torch.ones(4 if i > 3 else 3))
    b = broken(torch.ones(2))
    print(i, a.sum().item(), b.sum().item(), count(), flush=True)
torch._dynamo.reset()
print(net(torch.ones(3)).sum().item(), count())
`

// A condition is evaluated in such a call; the rest of a function after a break and a module's
// method have lines, too; other functions go on being served, and what the call itself calls is not
// compiled on its own; a call whose guards fail is compiled as ever, and Dynamo traces its lines;
// steps go through the lines of the call and out of it.
func TestRegionsThatRunEagerly(t *testing.T) {
	p := python(t, "torch")
	plain := start(t, p, regionProgram)
	want := plain.end(0)
	v := start(t, p, regionProgram, brk(1, "program.py:8 if x.shape[0] == 4"), brk(2, "program.py:18 if i == 3 or True"))
	s := v.stop() // traced
	if s.Point != 2 || !strings.Contains(s.Reason, "traces this line") {
		t.Errorf("%+v", s)
	}
	v.goOn(s)
	s = v.stop() // the second call
	if s.Point != 2 || s.Where.Line != 18 || local(t, s, 0, "y").Tensor.First[0] != "2" ||
		!strings.Contains(s.Why, "call of broken runs eagerly") {
		t.Errorf("%+v", s)
	}
	s = v.step(s, "into")
	if s.Where.Func != "nested" || s.Where.Line != 12 || !strings.Contains(s.Why, "call of broken runs eagerly") {
		t.Errorf("%+v", s)
	}
	v.send(ctl.Command{Verb: ctl.Clear, Point: 2})
	if s = v.step(s, "out"); s.Where.Func != "broken" {
		t.Errorf("%+v", s)
	}
	if s = v.step(s, "out"); s.Where.Line != 28 || strings.Contains(s.Why, "eagerly") {
		t.Errorf("%+v", s)
	}
	v.goOn(s)
	s = v.stop() // the fourth call, of another size
	if s.Point != 1 || s.Compile == "" || !strings.Contains(s.Reason, "traces this line") || strings.Contains(s.Why, "eagerly") {
		t.Errorf("%+v", s)
	}
	v.goOn(s)
	s = v.stop() // the fifth
	if s.Point != 1 || local(t, s, 0, "x").Tensor.First[0] != "1" || !strings.Contains(s.Why, "call of Net runs eagerly") {
		t.Errorf("%+v", s)
	}
	v.goOn(s)
	if got := v.end(0); got != want {
		t.Errorf("printed %q, without breakpoints %q", got, want)
	}
}

// A function that another one inlines is stopped at by its name in calls that compiled code would
// serve, and run to by its line; the compiled function itself is stopped at without that.
func TestInlinedFunctionsByName(t *testing.T) {
	p := python(t, "torch")
	v := start(
		t, p, strings.Replace(eagerProgram, " FULLGRAPH", "", 1), brk(1, "func bar if k == 2"), brk(2, "program.py:22 if i == 1"),
	)
	s := v.stop()
	for s.Point != 2 { // it is stopped at before it is compiled, too
		v.goOn(s)
		s = v.stop()
	}
	v.send(ctl.Command{Verb: ctl.Clear, Point: 1})
	v.send(brk(3, "func inner"))
	v.until("the breakpoint", func() bool { return v.points[len(v.points)-1].ID == 3 })
	v.goOn(s)
	s = v.stop()
	if s.Point != 3 || s.Where.Func != "inner" || local(t, s, 0, "k").Text != "2" || !strings.Contains(s.Why, "call of bar runs eagerly") {
		t.Errorf("%+v", s)
	}
	v.send(ctl.Command{Verb: ctl.Clear, Point: 3})
	s = v.step(s, "program.py:13") // of this call
	if s.Where.Func != "bar" || local(t, s, 0, "z").Tensor.First[0] != "5" {
		t.Errorf("%+v", s)
	}
	s = v.step(s, "program.py:6") // of the next one
	if s.Where.Func != "inner" || v.ask(s, "i", 2).Value.Text != "3" || !strings.Contains(s.Why, "call of bar runs eagerly") {
		t.Errorf("%+v", s)
	}
	v.goOn(s)
	if got := v.end(0); got != eagerLines() {
		t.Errorf("printed %q", got)
	}
}

// A PyTorch whose calls cannot run eagerly for a breakpoint is told of at the breakpoint.
func TestLinesThatCompiledCallsPassBy(t *testing.T) {
	p := python(t, "sys")
	other := t.TempDir()
	for name, text := range map[string]string{
		"torch/__init__.py": "__version__ = '9.9.0+cpu'\n", "torch/_dynamo/__init__.py": "",
		"torch/_dynamo/eval_frame.py": "def _callback_from_stance(callback): return callback\n",
	} {
		file := filepath.Join(other, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		writeFile(t, file, text)
	}
	program := filepath.Join(t.TempDir(), "program.py")
	writeFile(t, program, "import torch._dynamo.eval_frame\nx = 1\nprint(x)\n")
	v := startCommand(t, []string{"PYTHONPATH=" + other}, []ctl.Command{brk(1, "program.py:3")}, p, program)
	s := v.stop()
	v.send(brk(2, "func f"))
	v.until("the second breakpoint", func() bool { return v.points[len(v.points)-1].ID == 2 })
	if len(v.points) != 3 || v.points[0].Note != "" { // the first one again, when it was known
		t.Errorf("%+v", v.points)
	}
	for _, p := range v.points[1:] {
		if !strings.Contains(p.Note, "compiled code serves pass it by: PyTorch 9.9.0, its wrapper") || p.Error != "" {
			t.Errorf("%+v", p)
		}
	}
	v.goOn(s)
	v.end(0)
}

// The record of calls tells those that ran eagerly for a breakpoint: no entry is said to have served
// them, though its guards were asked. Before and after it is as ever.
func TestRecordOfCallsThatRanEagerly(t *testing.T) {
	p := python(t, "torch")
	program := filepath.Join(t.TempDir(), "program.py")
	writeFile(t, program, strings.Replace(eagerProgram, " FULLGRAPH", "", 1))
	v := startModules(t, []string{"calls", "pause"}, nil,
		[]ctl.Command{brk(1, "program.py:6 if i > 6"), brk(2, "program.py:22 if i == 3")}, p, program)
	s := v.stop()
	v.send(ctl.Command{Verb: ctl.Clear, Point: 1})
	v.goOn(s)
	if got := v.end(0); got != eagerLines() {
		t.Errorf("printed %q", got)
	}
	runs := regexp.MustCompile(`"first":(\d+),"count":(\d+),[^}]*?"outcome":"(\w+)","entry":(-?\d+)(?:,"why":"(\w+)")?`)
	last := map[string]string{}
	for _, m := range runs.FindAllStringSubmatch(v.calls, -1) {
		last[m[1]] = strings.Join(m[2:], " ")
	}
	want := map[string]string{"1": "1 compile 0 ", "2": "2 eager -1 breakpoint", "4": "4 hit 0 "}
	if !maps.Equal(last, want) {
		t.Errorf("%v, want %v", last, want)
	}
}

// Modules of one class share what is compiled for their forward: a breakpoint in it stops the calls
// of those that have compiled nothing themselves, too.
func TestModulesThatShareTheirCode(t *testing.T) {
	p := python(t, "torch")
	v := start(t, p, `import torch
class Block(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.l = torch.nn.Linear(4, 4)
    def forward(self, x):
        y = self.l(x)
        return x + y
blocks = [Block(i) for i in range(3)]
for b in blocks:
    b.compile(backend="eager")
with torch.no_grad():
    for i, b in enumerate(blocks):
        b(torch.ones(2, 4))
print("done")
`, brk(1, "program.py:8"))
	for i := range 3 {
		s := v.stop()
		if got := v.ask(s, "i", len(s.Stack)-1); got.Value.Text != string(rune('0'+i)) {
			t.Errorf("stop %d: %+v", i, got)
		}
		v.goOn(s)
	}
	if got := v.end(0); got != "done\n" {
		t.Errorf("printed %q", got)
	}
}
