package pyhook

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"tcdbg/internal/test"
	"tcdbg/logs/ctl"
)

// This file measures what the module pause costs a program that stops nowhere.

// costProgram trains with steps of processor time that its argument tells, and prints how many
// microseconds of it a steady step took at least, over rounds.
const costProgram = `import sys, time, torch
torch.set_num_threads(1)
torch.manual_seed(0)
size, hidden, steps = map(int, sys.argv[1:4])
net = torch.nn.Sequential(torch.nn.Linear(size, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, 1))
opt = torch.optim.SGD(net.parameters(), lr=1e-4)
@torch.compile(backend="aot_eager")
def loss(x, y):
    return ((net(x) - y) ** 2).mean()
@torch.compile(backend="eager")
def scaled(x):
    return x * 0.5
x, y = torch.randn(size, size), torch.randn(size, 1)
def step():
    opt.zero_grad()
    l = loss(scaled(scaled(scaled(x))), y)
    l.backward()
    opt.step()
for _ in range(5):
    step()
best = 1e9
for _ in range(12):
    begin = time.process_time()
    for _ in range(steps):
        step()
    best = min(best, (time.process_time() - begin) / steps)
print("%.2f" % (best * 1e6))
`

// TestPauseCosts reports the processor time of a step with and without us, in turns: the least of each
// process, and over the processes their mean. A process keeps what its layout in memory gives it, so the
// environment, which moves the stack, is of another length each turn. It asserts nothing:
// TestPauseCallsNothing does.
func TestPauseCosts(t *testing.T) {
	test.Long(t, "it measures for minutes")
	p := python(t, "torch")
	file := filepath.Join(t.TempDir(), "program.py")
	writeFile(t, file, costProgram)
	const turns = 15
	for _, size := range []struct{ name, args string }{{"short calls", "16 16 300"}, {"larger steps", "128 1024 20"}} {
		var without, with, shares []float64
		for turn := range turns {
			padding := "TCDBG_TEST_PADDING=" + strings.Repeat("x", 16*turn)
			var us [3]float64
			for i, modules := range []string{"", "pause", ""} { // the second time without us is what differs by itself
				argv := append([]string{p, file}, strings.Fields(size.args)...)
				v := startModules(t, strings.Fields(modules), []string{padding}, nil, argv...)
				var err error
				if us[i], err = strconv.ParseFloat(strings.TrimSpace(v.end(0)), 64); err != nil {
					t.Fatal(err)
				}
			}
			without, with = append(without, us[0], us[2]), append(with, us[1])
			shares = append(shares, us[1]/((us[0]+us[2])/2))
		}
		share, off := meanOf(shares)
		plain, apart := meanOf(without)
		paused, _ := meanOf(with)
		t.Logf("%s: %.1f us a step without us, %.1f with pause, of %d processes each: %.4f, standard error %.4f; without us %.4f",
			size.name, plain, paused, turns, share, off, apart/plain)
	}
}

// meanOf is the mean of some numbers, and its standard error.
func meanOf(xs []float64) (mean, off float64) {
	n := float64(len(xs))
	for _, x := range xs {
		mean += x / n
	}
	for _, x := range xs {
		off += (x - mean) * (x - mean)
	}
	return mean, math.Sqrt(off / (n - 1) / n)
}

// TestDiffersCosts reports the processor time of a step of a program under pause without a breakpoint and with
// "differs", in turns, the least of all rounds. It asserts that nothing differs.
func TestDiffersCosts(t *testing.T) {
	test.Long(t, "it measures for minutes")
	p := python(t, "torch")
	file := filepath.Join(t.TempDir(), "program.py")
	writeFile(t, file, costProgram)
	for _, size := range []struct{ name, args string }{{"short calls", "16 16 20"}, {"larger steps", "128 1024 5"}} {
		least := [2]float64{}
		for range 3 {
			for i, standing := range [][]ctl.Command{nil, {brk(1, "differs")}} {
				v := startModules(t, []string{"pause"}, nil, standing, append([]string{p, file}, strings.Fields(size.args)...)...)
				us, err := strconv.ParseFloat(strings.TrimSpace(v.end(0)), 64)
				if err != nil {
					t.Fatal(err)
				}
				if had := least[i]; had == 0 || us < had {
					least[i] = us
				}
			}
		}
		t.Logf("%s: %.1f us a step under pause, %.1f with differs: %.1f times", size.name, least[0], least[1], least[1]/least[0])
	}
}

// A call that compiled code serves calls nothing of ours while no breakpoint, step or pause asks for
// calls, before such a breakpoint and after it.
func TestPauseCallsNothing(t *testing.T) {
	p := python(t, "torch")
	file := filepath.Join(t.TempDir(), "program.py")
	writeFile(t, file, `import os, sys, time, torch
@torch.compile(backend="eager")
def f(x):
    return x + 1
x = torch.ones(2)
def phase(name):
    open(os.path.join(sys.argv[1], name), "w").close()
    while not os.path.exists(os.path.join(sys.argv[1], name + "-answered")):
        time.sleep(0.01)
    ours = []
    def profile(frame, event, arg):
        if event == "call" and "tcdbg_hooks" in frame.f_code.co_filename:
            ours.append(frame.f_code.co_name)
    f(x)
    sys.setprofile(profile)
    for _ in range(10):
        f(x)
    sys.setprofile(None)
    tracer = sys.gettrace()
    print(name, len(ours) if len(ours) < 10 else "many", tracer is not None, flush=True)
f(x)
for name in ("nothing", "others", "call", "removed"):
    phase(name)
`)
	dir := t.TempDir()
	v := startCommand(t, nil, nil, p, file, dir)
	point := 0
	for _, phase := range []struct{ name, set string }{
		{"nothing", ""}, {"others", "break,recompile,frame,raised,guard x,id 0/9"}, {"call", "call if False"}, {"removed", ""},
	} {
		v.until(phase.name, func() bool { _, err := os.Stat(filepath.Join(dir, phase.name)); return err == nil })
		want := len(v.points)
		for _, set := range v.points[want-point:] {
			if set.Error == "" {
				want++
				v.send(ctl.Command{Verb: ctl.Clear, Point: set.ID})
			}
		}
		point = 0
		if phase.set != "" {
			for _, spec := range strings.Split(phase.set, ",") {
				point++
				want++
				v.send(brk(point, spec))
			}
		}
		v.until("the breakpoints", func() bool { return len(v.points) == want })
		time.Sleep(20 * time.Millisecond)
		writeFile(t, filepath.Join(dir, phase.name+"-answered"), "")
	}
	many := "many"
	if release(t, p) < "02.07" {
		many = "0" // it is refused
	}
	if got, want := v.end(0), "nothing 0 False\nothers 0 False\ncall "+many+" False\nremoved 0 False\n"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
}
