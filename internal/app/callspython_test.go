package app

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/logs/calls"
)

// trackedPython has all that can become of a call: compiles, hits, a miss, a hit of an older
// entry, a break and the part after it, the recompile limit, sizes that change, a module, a reset, a
// function that is given up and one whose compile fails, and calls that never go alike twice.
const trackedPython = `import torch
import torch._dynamo as D

limit = "recompile_limit" if hasattr(D.config, "recompile_limit") else "cache_size_limit"
setattr(D.config, limit, 2)

def f(x, up, name):
    if up:
        x = x * 2
    if name == "c":
        x = -x
    y = x.sin()
    if y.sum() > 0:
        y = y * 3
    return y + 1

class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()

def grow(x):
    return x.exp().sum()

def skipped(x):
    for i in range(2):
        x = x + 1
        print("in a loop")
    return x

def bad(x):
    print("no")
    return x

def turns(x, k):
    return x + 1 if k else x - 1

x = torch.ones(2)
c = torch.compile(f, backend="eager")
for up in (True, True, False, True, False, False):
    c(x, up, "a")
c(x, True, "c")
c(x, True, "a")
c(x, True, "c")
g = torch.compile(grow, backend="eager")
for n in (2, 3, 4, 4, 5):
    g(torch.ones(n))
net = torch.compile(Net(), backend="eager")
for n in (1, 2, 3, 1):
    net(torch.ones([2] * n))
torch.compile(skipped, backend="eager")(x)
try:
    torch.compile(bad, backend="eager", fullgraph=True)(x)
except Exception as e:
    print(type(e).__name__)
D.reset()
c(x, True, "a")
c(x, True, "a")
t = torch.compile(turns, backend="eager")
for i in range(5000):
    t(x, i % 2)
`

// spelled writes the runs of a track: "C0 b2-3@0 e".
func spelled(k *explain.CallTrack) string {
	var out []string
	for i := range k.Runs {
		r := &k.Runs[i]
		s := string(k.Mark(r))
		if r.Outcome == calls.Hit && k.Break(r) != nil {
			s += fmt.Sprint(r.Entry)
		}
		if r.Count > 1 {
			s += fmt.Sprintf("x%d", r.Count)
		}
		if r.Why != "" {
			s += " " + r.Why
		}
		for _, x := range r.Sizes {
			if r.Outcome == calls.Hit {
				s += fmt.Sprintf(" %s=%d", x.Name, x.Min)
			}
		}
		out = append(out, s)
	}
	return k.Name + ": " + strings.Join(out, ", ")
}

// TestTracksOfPython: the calls of a PyTorch program are on its tracks, one by one; what this
// release cannot tell is said.
func TestTracksOfPython(t *testing.T) {
	p := pythonWithTorch(t)
	pythonProgram(t, map[string]string{"main.py": trackedPython})
	state := t.TempDir()
	plain := tcdbg(t, state, "exec", "--plain", "--", p, "main.py")
	if r := run(t, plain); r.code != 0 || !strings.Contains(r.stdout, "Unsupported") {
		t.Fatalf("%d %s %s", r.code, r.stdout, r.stderr)
	}
	r := foldLast(t, state, "main.py")
	c := &r.Calls
	hooked := len(c.Missing) == 0
	eager := func(text, without string) string {
		if hooked {
			return text
		}
		return without
	}
	want := []string{
		"f: C, b0, C, b0, b1x2" + eager(", e limit, b0, e limit", ", b0"),
		"f from line 13 on: C, 0x6",
		"grow: C, C, 1x2 L['x'].size()[0]=4, 1 L['x'].size()[0]=5",
		"forward: C, C" + eager(", e limit", "") + ", 0",
		"skipped: e skipped", "bad: !",
		"f: C, b0", "f from line 13 on: C, 0",
	}
	var got []string
	var turns *explain.CallTrack
	for _, k := range c.Tracks {
		if k.Name == "turns" {
			turns = k
			continue
		}
		got = append(got, spelled(k))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
	if !c.Recorded || !slices.Contains(c.Untold, calls.UntoldInner) || slices.Contains(c.Untold, "duration") {
		t.Errorf("recorded %v, untold %q", c.Recorded, c.Untold)
	}
	if !hooked && !strings.Contains(c.Missing[0], "guard-complete hook") {
		t.Errorf("missing %q", c.Missing)
	}
	if turns == nil || turns.Calls() != 5000 || len(turns.Runs) > calls.MaxRuns+1 {
		t.Fatalf("turns: %+v", turns)
	}
	for _, run := range turns.Runs[2:] {
		if run.Outcome != calls.Hit && run.Outcome != calls.Mixed {
			t.Errorf("turns: %+v", run)
		}
		if hooked && run.Timed != run.Count || run.Timed > run.Count || !turns.Whole {
			t.Errorf("turns: %d of %d calls timed", run.Timed, run.Count)
		}
	}
	dirs, _ := filepath.Glob(filepath.Join(state, "tcdbg", "runs", "*", hooksFolder))
	if len(dirs) > 0 {
		t.Errorf("our files are left: %q", dirs)
	}
}

// TestCallsOfPythonOff: with TCDBG_CALLS=0 a Python program has nothing of ours in it.
func TestCallsOfPythonOff(t *testing.T) {
	p := pythonWithTorch(t)
	pythonProgram(t, map[string]string{"main.py": "import os, torch\nprint(os.environ.get('TCDBG_HOOKS'))\n" +
		"f = torch.compile(lambda x: x + 1, backend='eager')\nf(torch.ones(2)); f(torch.ones(2))\n"})
	state := t.TempDir()
	cmd := tcdbg(t, state, "exec", "--plain", "--", p, "main.py")
	cmd.Env = append(cmd.Env, callsVar+"=0")
	if r := run(t, cmd); r.code != 0 || strings.TrimSpace(r.stdout) != "None" {
		t.Fatalf("%d %s %s", r.code, r.stdout, r.stderr)
	}
	if r := foldLast(t, state, "main.py"); r.Calls.Recorded || len(r.Calls.Tracks) != 1 || !r.Calls.Tracks[0].Derived {
		t.Errorf("%+v", r.Calls)
	}
}

// TestCallsOfForkedPython: a forked process has a track of its own, of its calls alone, with
// the entries that its parent compiled.
func TestCallsOfForkedPython(t *testing.T) {
	p := pythonWithTorch(t)
	pythonProgram(t, map[string]string{"main.py": `import multiprocessing, os, torch
torch.set_num_threads(1)

@torch.compile(backend="eager")
def f(x):
    return x.sin() + 1

x = torch.ones(2)

def work(n):
    for i in range(n):
        f(x)

work(3)
p = multiprocessing.get_context("fork").Process(target=work, args=(5,))
p.start()
p.join()
if os.fork() == 0:
    work(4)
    raise SystemExit(0)
os.wait()
work(1)
`})
	state := t.TempDir()
	if r := run(t, tcdbg(t, state, "exec", "--plain", "--", p, "main.py")); r.code != 0 {
		t.Fatalf("%d %s", r.code, r.stderr)
	}
	var got []string
	for _, k := range foldLast(t, state, "main.py").Calls.Tracks {
		if k.Frame == nil {
			t.Errorf("no compile: %+v", k)
		}
		got = append(got, spelled(k))
	}
	slices.Sort(got)
	if text := strings.Join(got, "; "); text != "f: 0x4; f: 0x5; f: C, 0x3" {
		t.Errorf("tracks: %s", text)
	}
}

// sleepingPython has calls that sleep: one that returns, one that raises, one that calls itself and another
// compiled function, one that is given up and whose callee is compiled, those of two threads and of coroutines, a module.
const sleepingPython = `import asyncio, threading, time, torch
import torch._dynamo as D

def sleeps(x, raises=False):
    y = x + 1
    D.graph_break()
    time.sleep(0.05)
    if raises:
        raise ValueError
    return y.sin()

def again(x, n):
    y = x + 1
    D.graph_break()
    time.sleep(0.02)
    return again(y, n - 1) if n else y

def inner(x):
    return x * 2

def callee(x):
    return x * 3

def given_up(x):
    for i in range(2):
        x = callee(x)
        print("in a loop")
    return x

@torch.compiler.disable
def eagerly(x):
    return fast(x)

def outer(x):
    y = x + 1
    D.graph_break()
    time.sleep(0.03)
    return eagerly(y)

class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()

def each(x):
    for i in range(3):
        yield x + i

x = torch.ones(2)
s, raising, a, fast, g, o, net, e = (
    torch.compile(f, backend="eager") for f in (sleeps, sleeps, again, inner, given_up, outer, Net(), each))
for i in range(3):
    s(x)
for i in range(3):
    try:
        raising(x, True)
    except ValueError:
        pass
for i in range(2):
    a(x, 2)
    g(x)
    o(x)
    net(x)
    list(e(x))

threads = [threading.Thread(target=lambda: [s(x) for i in range(3)]) for i in range(2)]
[t.start() for t in threads]
[t.join() for t in threads]

async def one():
    s(x)
    await asyncio.sleep(0)
    s(x)

async def both():
    await asyncio.gather(one(), one())

asyncio.run(both())
`

// TestHowLongPythonCallsTake: a call that torch.compile's wrapper makes is timed until it returns, however it
// ends; what comes from within compiled functions has no time, and no time is that of another call.
func TestHowLongPythonCallsTake(t *testing.T) {
	p := pythonWithTorch(t)
	pythonProgram(t, map[string]string{"main.py": sleepingPython})
	state := t.TempDir()
	if r := run(t, tcdbg(t, state, "exec", "--plain", "--", p, "main.py")); r.code != 0 ||
		!strings.Contains(r.stderr, " a hit until it returned, with all that it calls and compiles  Cb") {
		t.Fatalf("%d %s", r.code, r.stderr)
	}
	timed, least := map[string]int64{}, map[string]int64{}
	for _, k := range foldLast(t, state, "main.py").Calls.Tracks {
		if !k.Whole && !k.Derived {
			t.Errorf("%s: its times are those of whole calls", k.Name)
		}
		for _, run := range k.Runs {
			timed[k.Name] += run.Timed
			if run.Timed > 0 && (least[k.Name] == 0 || run.Min < least[k.Name]) {
				least[k.Name] = run.Min
			}
			if run.Timed > run.Count || run.Nanos < run.Min*run.Timed {
				t.Errorf("%s: %+v", k.Name, run)
			}
		}
	}
	// The call of again for which it was compiled is written before it has returned, or after it.
	if n := timed["again"]; n != 1 && n != 2 || least["again"] < 60e6 {
		t.Errorf("again: %d timed, at least %d ns", n, least["again"])
	}
	for name, want := range map[string]struct{ timed, least int64 }{
		"sleeps": {16, 50e6}, "outer": {2, 30e6}, "inner": {2, 1}, "forward": {2, 1}, "callee": {0, 0}, "given_up": {0, 0}, "each": {0, 0},
	} {
		if timed[name] != want.timed || least[name] < want.least {
			t.Errorf("%s: %d timed, at least %d ns; want %d, %d", name, timed[name], least[name], want.timed, want.least)
		}
	}
	for name, n := range timed {
		if strings.Contains(name, "from line") && n > 0 {
			t.Errorf("%s: %d calls have a time that nobody measured", name, n)
		}
	}
}
