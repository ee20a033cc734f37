package pyhook

import (
	"fmt"
	"strings"
	"testing"

	"tcdbg/logs"
	"tcdbg/logs/ctl"
)

// This file tests the breakpoint differs.

// planted is a program whose backend computes sin where cos was written, adds another random number,
// writes another number to an input, and another gradient, each in one function.
const planted = `import torch

def wrong(old, new):
    def compiler(gm, inputs):
        for n in gm.graph.nodes:
            if n.op in ("call_function", "call_method") and n.target == old:
                n.target = new
        gm.recompile()
        return gm
    return compiler

class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, g):
        return g * 3

def tripled(gm, inputs):
    return lambda *args: [Double.apply(*args)]

@torch.compile(backend="eager")
def right(x, noise):
    y = torch.cos(x) + torch.rand(3)
    noise.add_(y)
    return torch.nn.functional.dropout(y, 0.5)

@torch.compile(backend=wrong(torch.cos, torch.sin))
def cosine(x):
    return torch.cos(x), x + 1

@torch.compile(backend=wrong("mul_", "add_"))
def writes(x):
    x.mul_(3)
    return x.sum() * 0

@torch.compile(backend=tripled)
def double(x):
    return x * 2

x = torch.tensor([0.0, 1.0, 2.0])
torch.manual_seed(1)
BEFORE
noise = torch.zeros(3)
r = right(x, noise)
c, d = cosine(x)
w = x.clone()
writes(w)
p = x.clone().requires_grad_()
double(p).sum().backward()
print(r.tolist(), noise.tolist(), c.tolist(), w.tolist(), p.grad.tolist(), torch.rand(1).item())
`

// The breakpoint differs stops where a graph computes, writes or differentiates otherwise than eager execution, shows
// both values, and leaves what the program computes as it is. What is right does not stop.
func TestDiffers(t *testing.T) {
	p := python(t, "torch")
	program := strings.Replace(planted, "BEFORE", "", 1)
	want := runPython(t, p, nil, "-c", program)
	v := start(t, p, program, brk(1, "differs"))
	for _, stop := range []struct {
		compiled, reason, got, eager string
	}{
		{"cosine", "output 0 of compiled_fn", "0", "1"},
		{"writes", "input ", "3", "0"},
		{"double", "gradient of ", "3", "2"},
	} {
		s := v.stop()
		if s.Kind != logs.StopDiffers || s.Point != 1 || s.Compiled != stop.compiled ||
			!strings.HasPrefix(s.Reason, stop.reason) || !strings.Contains(s.Reason, "differs from eager: ") ||
			!strings.Contains(s.Reason, "of 3 elements by more than float32 allows") {
			t.Errorf("%s: %+v", stop.compiled, s)
		}
		if len(s.Symbolic) != 2 || s.Symbolic[0].Name != "compiled" || s.Symbolic[1].Name != "eager" || len(s.Nodes) == 0 {
			t.Fatalf("%s: %+v", stop.compiled, s.Symbolic)
		}
		a, b := s.Symbolic[0].Tensor, s.Symbolic[1].Tensor
		if a == nil || b == nil || stop.compiled != "double" && (a.First[0] != stop.got || b.First[0] != stop.eager) {
			t.Errorf("%s: compiled %+v, eager %+v", stop.compiled, a, b)
		}
		v.goOn(s)
	}
	if got := v.end(0); got != want {
		t.Errorf("printed %q, without us %q", got, want)
	}
	if len(v.stops) != 3 {
		t.Errorf("%d stops", len(v.stops))
	}
}

// Graphs that were compiled before the breakpoint was set are compared as well, and are left alone when it is
// removed; a graph that cannot be compared is said.
func TestDiffersOfWhatWasCompiled(t *testing.T) {
	p := python(t, "torch")
	program := strings.Replace(planted, "BEFORE", `cosine(x)
@torch.compile(backend="eager")
def conjugate(x):
    return x + x`, 1) + `
conjugate(torch.ones(2, dtype=torch.complex64).conj())
print("last")
cosine(x)
`
	line := func(text string) int {
		before, _, _ := strings.Cut(program, text)
		return 1 + strings.Count(before, "\n")
	}
	at := func(text string) string { return fmt.Sprintf("program.py:%d", line(text)) }
	v := start(t, p, program, brk(1, at("noise = ")), brk(3, at(`print("last")`)))
	s := v.stop()
	if s.Point != 1 {
		t.Errorf("%+v", s)
	}
	v.send(brk(2, "differs"))
	for _, compiled := range []string{"cosine", "writes", "double"} {
		v.goOn(s)
		if s = v.stop(); s.Kind != logs.StopDiffers || s.Compiled != compiled {
			t.Errorf("%s: %+v", compiled, s)
		}
	}
	v.goOn(s)
	if s = v.stop(); s.Point != 3 {
		t.Errorf("%+v", s)
	}
	note := ""
	for _, point := range v.points {
		if point.ID == 2 {
			note = point.Note
		}
	}
	if !strings.HasPrefix(note, "not compared: compiled_fn") || !strings.HasSuffix(note, ": input 0 is a conjugate or negative view") {
		t.Errorf("note %q", note)
	}
	v.send(ctl.Command{Verb: ctl.Clear, Point: 2})
	v.goOn(s)
	v.end(0)
	if len(v.stops) != 5 {
		t.Errorf("%d stops", len(v.stops))
	}
}
