package pyhook

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tcdbg/logs/ctl"
)

// This file tests the real values of a graph that is being captured.

const writingProgram = `import torch
from torch import nn

bn = nn.BatchNorm1d(3)
norm = nn.InstanceNorm1d(2, track_running_stats=True)
torch.manual_seed(0)

def f(x, base, tail, z):
    y = bn(x)
    mean = bn.running_mean + 0
    seven = norm(x.unsqueeze(0).expand(2, 2, 3)).sum() * 0 + 7
    spread = norm.running_mean + 0
    old = base * 1
    base.mul_(2)
    tail.add_(1)
    both = base * 1
    base[0] = -1
    z.sub_(1)
    noise = torch.rand(6)
    safe = old + 1
    safe.add_(noise)
    view = safe.view(2, 3)
    print("break")
    return y.sum() + mean + view.sum() + both.sum() + spread.sum() + seven

store = torch.arange(6.0)
cell = store[4:]
x = torch.tensor([[1.0, 2.0, 3.0], [3.0, 6.0, 9.0]])
z = x.clone()
versions = [b._version for b in bn.buffers()]
seed = torch.get_rng_state()
out = torch.compile(f, backend="aot_eager")(x, store, cell, z)
print(out.tolist(), store.tolist(), cell.tolist(), z.tolist())
print([b.tolist() for m in (bn, norm) for b in m.buffers()], [b._version for m in (bn, norm) for b in m.buffers()])
print(store._version, cell._version, z._version, torch.get_rng_state().sum().item(), torch.rand(2).tolist())
`

// What the captured nodes write is shown as they leave it: running statistics, inputs, and views of one
// storage. The program's own tensors, their versions and its random numbers are as before, at the stop
// and at the end. What a node writes that is not run is unknown, in all views of it.
func TestCapturedWrites(t *testing.T) {
	p := python(t, "torch")
	_, trace := folders(t)
	file := filepath.Join(t.TempDir(), "program.py")
	writeFile(t, file, writingProgram)
	want := runPython(t, p, env(trace, "OMP_NUM_THREADS=1"), file)

	v := start(t, p, writingProgram, brk(1, "break"))
	s := v.stop()
	for name, first := range map[string][]string{
		"mean":   {"0.2", "0.4", "0.6"}, // a tenth of the batch's mean
		"spread": {"0.2", "0.6"},        // written once, though it is the second buffer that is met
		"seven":  {"7"},
		"old":    {"0", "1", "2", "3", "4", "5"},
		"both":   {"0", "2", "4", "6", "9", "11"},
		"base":   {"-1", "2", "4", "6", "9", "11"},
		"tail":   {"9", "11"},
		"z":      {"0", "1", "2", "2", "5", "8"},
	} {
		if got := local(t, s, 0, name); got.Tensor == nil || !closeTo(got.Tensor.First, first) {
			t.Errorf("%s: %+v, want %v", name, got, first)
		}
	}
	for _, name := range []string{"noise", "safe", "view"} {
		if got := local(t, s, 0, name); got.Tensor != nil || !strings.Contains(got.Unknown, "random") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for question, answer := range map[string]string{
		"bn.running_mean.tolist()":                       "[0.0, 0.0, 0.0]",
		"bn.num_batches_tracked.item()":                  "0",
		"norm.running_mean.tolist()":                     "[0.0, 0.0]",
		"[b._version for b in bn.buffers()] == versions": "True",
		"store.tolist()":                                 "[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]",
		"[store._version, cell._version]":                "[0, 0]",
		"tail.tolist()":                                  "[9.0, 11.0]",
		"tail.data_ptr() - base.data_ptr()":              "16",
		"torch.equal(torch.get_rng_state(), seed)":       "True",
	} {
		if a := v.ask(s, question, 0); a.Value.Text != answer {
			t.Errorf("%s: %+v, want %s", question, a, answer)
		}
	}
	v.goOn(s)
	if got := v.end(0); got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
}

// The graphs of an autograd.Function and of a checkpoint are run, too.
func TestCapturedBodies(t *testing.T) {
	p := python(t, "torch")
	v := start(t, p, `import torch
from torch.utils.checkpoint import checkpoint
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, by):
        ctx.save_for_backward(x)
        return x * by
    @staticmethod
    def backward(ctx, g):
        return g, None
bn = torch.nn.BatchNorm1d(2)
noisy = torch.nn.Dropout(0.5)
@torch.compile(backend="eager")
def f(x):
    a = Twice.apply(x, 2)
    b = checkpoint(bn, a, use_reentrant=False) * 0 + 3
    mean = bn.running_mean + 0
    c = checkpoint(noisy, a, use_reentrant=False)
    print("break")
    return a.sum() + b.sum()
print(f(torch.ones(2, 2, requires_grad=True)).item(), bn.running_mean.tolist(), bn.num_batches_tracked.item())
`, brk(1, "break"))
	s := v.stop()
	for name, first := range map[string]string{"a": "2", "b": "3", "mean": "0.2"} {
		if got := local(t, s, 0, name); got.Tensor == nil || !closeTo(got.Tensor.First[:1], []string{first}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if c := local(t, s, 0, "c"); c.Tensor != nil || !strings.Contains(c.Unknown, "random") {
		t.Errorf("%+v", c)
	}
	if nodes := strings.Join(s.Nodes, "\n"); strings.Contains(nodes, "FakeTensor") {
		t.Errorf("%s", nodes)
	}
	v.goOn(s)
	if out := v.end(0); !strings.Contains(out, "20.0 [0.2") || !strings.HasSuffix(out, " 1\n") {
		t.Errorf("printed %q", out)
	}
}

// Variables that an inner function uses have their values; frames of PyTorch's own modules are counted.
func TestCapturedClosures(t *testing.T) {
	p := python(t, "torch")
	v := start(t, p, `import torch
class Net(torch.nn.Module):
    def forward(self, x):
        k, y = 3, x * 2
        def scaled(z):
            return z * k + y.sum()
        k = 4
        w = scaled(x)
        print("break")
        return w
net = Net()
net.register_forward_hook(lambda m, i, o: None)
outer = torch.nn.Sequential(net)
print(torch.compile(outer, backend="eager")(torch.ones(2)))
`, brk(1, "break"))
	s := v.stop()
	if y := local(t, s, 0, "y"); y.Tensor == nil || y.Tensor.First[0] != "2" {
		t.Errorf("%+v", y)
	}
	if k := local(t, s, 0, "k"); k.Text != "4" {
		t.Errorf("%+v", k)
	}
	if a := v.ask(s, "y.sum().item() + k", 0); a.Value.Text != "8.0" {
		t.Errorf("%+v", a)
	}
	for _, l := range s.Stack {
		if strings.Contains(l.File, "/torch/nn/") {
			t.Errorf("a frame of PyTorch: %+v", l.Pos)
		}
	}
	if len(s.Stack) != 2 || !strings.Contains(strings.Join(s.Missing, "\n"), "of PyTorch or of Python's library left out") {
		t.Errorf("%+v", s)
	}
	v.send(ctl.Command{Verb: ctl.Leave}) // the function breaks again where it is called from eager code
	if out := v.end(0); out != "break\ntensor([8., 8.])\n" {
		t.Errorf("printed %q", out)
	}
}

// closeTo tells whether what is shown of numbers are these, but for rounding.
func closeTo(shown, want []string) bool {
	return slices.EqualFunc(shown, want, func(a, b string) bool { return a == b || strings.HasPrefix(a, b+"0000") })
}

// What cannot be copied is said: memory that two inputs share without sharing a storage.
func TestCapturedWritesRefused(t *testing.T) {
	p := python(t, "torch, numpy")
	v := start(t, p, `import torch, numpy
held = numpy.zeros(3, dtype=numpy.float32)
a, b = torch.from_numpy(held), torch.from_numpy(held)
@torch.compile(backend="eager")
def f(a, b, c):
    c.add_(1)
    a.add_(1)
    d = b + 0
    e = c * 2
    print("break")
    return d
print(f(a, b, torch.ones(3)))
`, brk(1, "break"))
	s := v.stop()
	for _, name := range []string{"a", "b", "d"} {
		if got := local(t, s, 0, name); got.Tensor != nil || !strings.Contains(got.Unknown, "whose memory is another input's as well") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if e := local(t, s, 0, "e"); e.Tensor == nil || e.Tensor.First[0] != "4" {
		t.Errorf("%+v", e)
	}
	v.goOn(s)
	if out := v.end(0); out != "break\ntensor([1., 1., 1.])\n" {
		t.Errorf("printed %q", out)
	}
}
