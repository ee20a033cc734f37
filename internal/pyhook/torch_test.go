package pyhook

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tcdbg/logs"
	"tcdbg/logs/ctl"
)

// This file tests stops in the compiler of a real PyTorch.

const torchProgram = `import torch

def helper(y, k):
    return y.sum() + k

def bar(x, k, items):
    y = x * 2
    z = helper(y, k)
    if z > 100:
        return y + 1
    return y - len(items)

f = torch.compile(bar, backend="eager")
print(f(torch.ones(3), 3, [1, 2]))
print(f(torch.ones(3), 3, [1, 2]))
print(f(torch.ones(4, dtype=torch.float64), 5, [1, 2, 3]))
`

// release is the PyTorch of a Python as [major, minor].
func release(t *testing.T, p string) string {
	t.Helper()
	out, err := exec.Command(p, "-c", "import torch; v = torch.__version__.split('.'); print('%02d.%02d' % (int(v[0]), "+
		"int(v[1])))").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// A break shows the frame that is traced with fake and real values, the tensor that decides,
// and the nodes so far; a miss its entry's guards, the one that decided first; calls
// and compiles are stops, too.
func TestCompilerStops(t *testing.T) {
	p := python(t, "torch")
	v := start(
		t, p, torchProgram, brk(1, "break if z > 5 and x.shape[0] == 3"), brk(2, "recompile if k == 5"), brk(3, "program.py:8 if k == 3"),
		brk(4, "id 0/1"), brk(5, "guard nothing of this text"), brk(6, "frame if False"),
	)
	traced := v.stop()
	if traced.Point != 3 || traced.Kind != logs.StopLine || traced.Compile != "0/0" ||
		!strings.Contains(traced.Reason, "traces this line") {
		t.Errorf("%+v", traced)
	}
	if y := local(t, traced, 0, "y"); y.Fake == nil || y.Tensor == nil || !slices.Equal(y.Tensor.First, []string{"2", "2", "2"}) {
		t.Errorf("%+v", y)
	}
	v.goOn(traced)

	s := v.stop()
	if s.Point != 1 || s.Kind != logs.StopBreak || s.Compiled != "bar" || s.Compile != "0/0" || s.Where.Line != 9 || s.Where.Func != "bar" {
		t.Fatalf("%+v", s)
	}
	if len(s.Stack) != 2 || s.Stack[1].Func != "<module>" || s.Stack[1].Line != 14 {
		t.Errorf("%+v", s.Stack)
	}
	for name, want := range map[string]string{"x": "1", "y": "2", "z": "9"} {
		got := local(t, s, 0, name)
		if got.Tensor == nil || got.Tensor.First[0] != want || got.Fake == nil || got.Fake.Dtype != "float32" || len(got.Fake.First) != 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if k := local(t, s, 0, "k"); k.Text != "3" || !k.Arg {
		t.Errorf("%+v", k)
	}
	if items := local(t, s, 0, "items"); items.Text != "[1, 2]" {
		t.Errorf("%+v", items)
	}
	if d := s.Deciding; d == nil || d.Tensor == nil || d.Tensor.Dtype != "bool" || d.Tensor.First[0] != "False" {
		t.Errorf("%+v", d)
	}
	if n := s.Nodes; len(n) < 4 || !strings.Contains(n[0], "input L['x']") || !strings.HasPrefix(n[len(n)-1], "gt: bool[] = gt(") {
		t.Errorf("%q", n)
	}
	if a := v.ask(s, "(y * k).sum().item()", 0); a.Value.Text != "18.0" {
		t.Errorf("%+v", a)
	}
	v.goOn(s)

	s = v.stop() // the second call, which compiled code would serve
	if s.Point != 3 || s.Kind != logs.StopLine || s.Compile != "" || !strings.Contains(s.Why, "this call of bar runs eagerly") {
		t.Errorf("%+v", s)
	}
	v.goOn(s)

	s = v.stop() // of bar; the rest of it misses later, where k is no local
	if s.Point != 2 || s.Kind != logs.StopRecompile || s.Compiled != "bar" ||
		!slices.Equal(local(t, s, 0, "x").Tensor.Shape, []string{"4"}) {
		t.Fatalf("%+v", s)
	}
	failing := map[string]bool{}
	for _, g := range s.Guards {
		if g.Result != "holds" && g.Result != "unknown" {
			failing[g.Source] = true
			if g.Expected == "" || g.Actual == "" || g.Expected == g.Actual {
				t.Errorf("%+v", g)
			}
		}
	}
	if s.Guards[0].Result != "failed" || !failing["x"] || !failing["k"] || failing["items"] { // the break comes before items is read
		t.Errorf("%+v", s.Guards)
	}
	v.goOn(s)

	s = v.stop()
	if s.Point != 4 || s.Kind != logs.StopFrame || s.Compile != "0/1" || local(t, s, 0, "k").Text != "5" {
		t.Errorf("%+v", s)
	}
	v.goOn(s)
	if s = v.stop(); s.Point != 2 || !strings.Contains(s.Why, "k is not among the variables that Dynamo keeps") { // for the rest of bar
		t.Errorf("%+v", s)
	}
	v.goOn(s)
	want := "tensor([0., 0., 0.])\ntensor([0., 0., 0.])\ntensor([-1., -1., -1., -1.], dtype=torch.float64)\n"
	if out := v.end(0); out != want {
		t.Errorf("printed %q", out)
	}
}

// Codes of breaks and compiled calls, where the release has them; refused where it has not.
func TestCodesAndCalls(t *testing.T) {
	p := python(t, "torch")
	old := release(t, p) < "02.07"
	v := start(t, p, torchProgram, brk(1, "GB0170"), brk(2, "GB0001"), brk(3, "call if len(items) == 2"))
	if old {
		v.end(0)
		refused := map[int]string{}
		for _, p := range v.points {
			refused[p.ID] = p.Error
		}
		if !strings.Contains(refused[1], "registry") || !strings.Contains(refused[3], "guard-complete hook") {
			t.Errorf("%+v", v.points)
		}
		return
	}
	if s := v.stop(); s.Point != 1 || s.Compile != "0/0" {
		t.Errorf("%+v", s)
	} else {
		v.goOn(s)
	}
	// The first call has no entry to find, the third finds none: the second is the one that runs
	// compiled.
	s := v.stop()
	if s.Kind != logs.StopCall || s.Point != 3 || s.Compiled != "bar" || local(t, s, 0, "items").Text != "[1, 2]" {
		t.Errorf("%+v", s)
	}
	for _, l := range s.Stack[0].Locals {
		if strings.HasPrefix(l.Name, "tmp_") || strings.HasPrefix(l.Name, "graph_out") {
			t.Errorf("a local of generated code: %+v", l)
		}
	}
	v.goOn(s)
	s = v.stop() // the rest of bar has no items: the condition's error is said
	if s.Point != 3 || s.Where.Line != 9 && s.Where.Line != 11 {
		t.Errorf("%+v", s)
	}
	v.goOn(s)
	if s = v.stop(); s.Point != 1 || s.Compile != "0/1" {
		t.Errorf("%+v", s)
	}
	v.send(ctl.Command{Verb: ctl.Leave})
	v.end(0)
}

// The first NaN is found where it is made, not in what is computed of it.
func TestFirstNaN(t *testing.T) {
	p := python(t, "torch")
	v := start(t, p, `import torch
@torch.compile(backend="eager")
def first(x):
    return x.log(), x + 1
@torch.compile(backend="eager")
def second(y):
    return y * 2
for x in (torch.ones(3), torch.tensor([1.0, -1.0, 2.0])):
    a, b = first(x)
    c = second(a)
print(c)
`, brk(1, "nan"))
	s := v.stop()
	if s.Kind != logs.StopNaN || s.Compiled != "first" || !strings.Contains(s.Reason, "result 0 of compiled_fn") {
		t.Errorf("%+v", s)
	}
	if d := s.Deciding; d == nil || d.Tensor.NaN != 1 || d.Tensor.First[1] != "nan" || d.Tensor.Min != "0" {
		t.Errorf("%+v", d)
	}
	if x := local(t, s, 0, "x"); x.Tensor == nil || x.Tensor.Min != "-1" {
		t.Errorf("%+v", x)
	}
	v.goOn(s)
	if out := v.end(0); !strings.Contains(out, "nan") {
		t.Errorf("printed %q", out)
	}
}

// What must not be computed is not: random numbers, and nothing of the program is written.
func TestImpureNodes(t *testing.T) {
	p := python(t, "torch")
	v := start(t, p, `import torch
@torch.compile(backend="eager")
def f(x, n):
    r = torch.rand(3)
    u = r + 1
    v = x + 1
    v.add_(1)
    w = v * 1
    if n.sum() > 0:
        n.add_(1)
    else:
        print("no")
    n.add_(1)
    w = n * 2
    if w.sum() > 0:
        return u
    return w
torch.manual_seed(3)
n = torch.ones(3)
print(f(torch.ones(3), n), n)
torch.manual_seed(3)
print(torch.rand(3) + 1)
`, brk(1, "break"))
	s := v.stop()
	if u := local(t, s, 0, "u"); u.Tensor != nil || !strings.Contains(u.Unknown, "random") {
		t.Errorf("%+v", u)
	}
	if w := local(t, s, 0, "w"); w.Tensor == nil || w.Tensor.First[0] != "3" {
		t.Errorf("a write to a value of the graph: %+v", w)
	}
	if s.Deciding == nil || s.Deciding.Tensor == nil || s.Deciding.Tensor.First[0] != "True" {
		t.Errorf("%+v", s.Deciding)
	}
	if a := v.ask(s, "u", 0); !strings.Contains(a.Error, "random") {
		t.Errorf("%+v", a)
	}
	v.goOn(s)
	s = v.stop()
	if w := local(t, s, 0, "w"); w.Tensor == nil || w.Tensor.First[0] != "6" {
		t.Errorf("a write to an input: %+v", w)
	}
	v.goOn(s)
	lines := strings.Split(strings.TrimSpace(v.end(0)), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], lines[1]) || !strings.HasSuffix(lines[0], "tensor([3., 3., 3.])") {
		t.Errorf("%q", lines)
	}
}

// Two ranks stop on their own; while one stands, the stop says what that does to the other.
func TestRanks(t *testing.T) {
	p := python(t, "torch, torch.distributed as d; assert d.is_gloo_available()")
	program := filepath.Join(t.TempDir(), "program.py")
	writeFile(t, program, `import os, torch
import torch.distributed as dist
import torch.multiprocessing as mp

def work(rank, port):
    os.environ.update(RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
    dist.init_process_group("gloo")
    x = torch.full((2,), float(rank + 1))
    dist.all_reduce(x)
    y = x + rank
    print("rank", rank, y.tolist(), flush=True)
    dist.destroy_process_group()

if __name__ == "__main__":
    import socket
    s = socket.socket(); s.bind(("127.0.0.1", 0)); port = str(s.getsockname()[1]); s.close()
    mp.spawn(work, args=(port,), nprocs=2)
`)
	v := startCommand(t, nil, []ctl.Command{brk(1, "program.py:10 if rank == 1"), brk(2, "program.py:8 if rank == 0")}, p, program)
	a := v.stop() // 1 waits in the collective for 0
	if a.Rank == nil || *a.Rank != 0 || a.Where.Line != 8 || !strings.Contains(strings.Join(a.Missing, "\n"), "rank 0 of 2 stands still") {
		t.Errorf("%+v", a)
	}
	v.goOn(a)
	b := v.stop()
	if b.Rank == nil || *b.Rank != 1 || b.Process == a.Process || local(t, b, 0, "x").Tensor.First[0] != "3" {
		t.Errorf("%+v", b)
	}
	v.goOn(b)
	if out := v.end(0); !strings.Contains(out, "rank 0 [3.0, 3.0]") || !strings.Contains(out, "rank 1 [4.0, 4.0]") {
		t.Errorf("printed %q", out)
	}
}

// Stopping at everything changes neither what a program computes nor what is compiled: the
// guards, graphs and breaks of its trace are those of a run without us.
func TestStopsChangeNothing(t *testing.T) {
	p := python(t, "torch")
	kinds := func(trace string) []string {
		var out []string
		for _, name := range []string{"dynamo_cpp_guards_str", "dynamo_output_graph", "recompile_reasons"} {
			for _, text := range records(t, trace, name) {
				out = append(out, name+": "+stable(text))
			}
		}
		return out
	}
	_, trace := folders(t)
	file := filepath.Join(t.TempDir(), "program.py")
	writeFile(t, file, torchProgram)
	want := runPython(t, p, env(trace, "OMP_NUM_THREADS=1"), file)

	v := startCommand(t, nil, []ctl.Command{
		brk(1, "break"), brk(2, "recompile"), brk(3, "frame"), brk(4, "program.py:8"), brk(5, "program.py:9"), brk(6, "call"),
		brk(7, "nan"),
	}, p, file)
	for {
		select {
		case <-v.ended:
		default:
			v.read()
			for v.taken < len(v.stops) {
				s := v.stop()
				v.ask(s, "[x, y, z, k, items]", 0)
				v.goOn(s)
			}
			continue
		}
		break
	}
	if got := v.end(0); got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
	if len(v.stops) < 8 {
		t.Errorf("%d stops", len(v.stops))
	}
	got, expected := kinds(v.trace), kinds(trace)
	if len(expected) < 5 {
		t.Errorf("%d records to compare", len(expected))
	}
	if !slices.Equal(got, expected) {
		t.Errorf("the trace differs:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(expected, "\n"))
	}
}

// stable is a record's text without what differs from one process to the next: ids of
// objects, times.
func stable(text string) string {
	return regexp.MustCompile(`\d{9,}|0x[0-9a-f]+|Guard latency = \S+`).ReplaceAllString(text, "N")
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Of a function's rest after a break the locals are the user's own, not what Dynamo adds.
func TestLocalsOfTheRest(t *testing.T) {
	p := python(t, "torch")
	v := start(t, p, `import torch
@torch.compile(backend="eager")
def f(x, items):
    a = x + 1
    print("break")
    b = a + len(items)
    return b
f(torch.ones(2), [1])
`, brk(1, "program.py:7"))
	s := v.stop()
	var names []string
	for _, list := range [][]logs.Value{s.Stack[0].Locals, s.Symbolic} {
		for _, l := range list {
			names = append(names, l.Name)
		}
	}
	if want := []string{"a", "b", "a", "b"}; !slices.Equal(slices.DeleteFunc(names, func(n string) bool { return n == "items" }), want) {
		t.Errorf("%q", names)
	}
	v.goOn(s)
	v.end(0)
}

// A step from a line that Dynamo traces goes to the next one that it traces, and out of the function,
// not into what the compiler itself calls: code that a library has written, or the user's backend.
func TestStepsOfATrace(t *testing.T) {
	p := python(t, "torch")
	v := start(t, p, `import torch
def backend(gm, inputs):
    n = len(inputs)
    return gm.forward
@torch.compile(backend=backend)
def f(x, net):
    a = net(x)
    b = a.squeeze(1) - x.sum()
    return b
net = torch.nn.Linear(2, 1)
y = f(torch.ones(3, 2), net)
print("done")
`, brk(1, "program.py:7"))
	s := v.stop()
	for _, line := range []int{8, 9} {
		if s = v.step(s, "line"); s.Where.Line != line || s.Compile != "0/0" {
			t.Errorf("%+v, want line %d of the trace", s, line)
		}
	}
	if s = v.step(s, "line"); s.Where.Line != 12 {
		t.Errorf("%+v", s)
	}
	v.goOn(s)
	if got := v.end(0); got != "done\n" {
		t.Errorf("printed %q", got)
	}
}

// The first Inf of a backward graph, which the forward one does not have, is found where backward is
// called; gradients that were given an Inf are not blamed.
func TestFirstInfOfABackward(t *testing.T) {
	p := python(t, "torch")
	v := start(t, p, `import torch
@torch.compile(backend="aot_eager")
def root(x):
    return x.sqrt()
@torch.compile(backend="aot_eager")
def twice(x):
    return x * 2
for x in (torch.ones(3), torch.tensor([1.0, 0.0, 4.0])):
    w = x.clone().requires_grad_()
    loss = root(twice(w)).sum()
    loss.backward()
print(w.grad)
`, brk(1, "nan"))
	s := v.stop()
	if s.Kind != logs.StopNaN || s.Where.Line != 11 || !strings.Contains(s.Reason, "gradient 0 of the backward graph of compiled_fn") ||
		!strings.Contains(s.Reason, "has Inf, and no gradient that it was given has") {
		t.Errorf("%+v", s)
	}
	if d := s.Deciding; d == nil || d.Tensor.Inf != 1 || d.Tensor.First[1] != "inf" {
		t.Errorf("%+v", d)
	}
	v.goOn(s)
	if out := v.end(0); !strings.Contains(out, "inf") {
		t.Errorf("printed %q", out)
	}
}

// A callable without code of the program's own, as nn.Sequential, is compiled in a wrapper of PyTorch's: the stops before it
// and at its miss stand at the program's line, and name what it calls.
func TestStopsAtAWrapper(t *testing.T) {
	v := start(t, python(t, "torch"), `import torch
net = torch.compile(torch.nn.Sequential(torch.nn.Linear(4, 4)), backend="eager")
for n in (2, 3):
    net(torch.ones(n, 4))
`, brk(1, "frame"), brk(2, "recompile"))
	for _, kind := range []logs.StopKind{logs.StopFrame, logs.StopRecompile, logs.StopFrame} {
		s := v.stop()
		if s.Kind != kind || s.Compiled != "Sequential" || s.Where.Line != 4 || filepath.Base(s.Where.File) != "program.py" {
			t.Errorf("%s of %s at %+v, want %s", s.Kind, s.Compiled, s.Where, kind)
		}
		if len(s.Stack) != 1 || !strings.Contains(s.Reason, "PyTorch's own: inner of external_utils.py") {
			t.Errorf("%q, %+v", s.Reason, s.Stack)
		}
		if a := v.ask(s, "n", 0); a.Value.Text == "" {
			t.Errorf("%+v", a)
		}
		if kind == logs.StopRecompile && (len(s.Guards) == 0 || s.Guards[0].Result == "") {
			t.Errorf("%+v", s.Guards)
		}
		v.goOn(s)
	}
	v.end(0)
}
