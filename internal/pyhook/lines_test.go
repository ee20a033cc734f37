package pyhook

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"tcdbg/logs"
	"tcdbg/logs/ctl"
)

// This file tests stops in plain Python: lines, steps, threads, forks, errors.

const plainProgram = `import time
def inner(a, b=2, *rest, key=None):
    c = a + b
    return c

def outer(n):
    total = 0
    for i in range(n):
        total += inner(i, key={"k": [1, 2.5, "s"]})
    return total

print(outer(3))
print("done")
`

func TestLinesAndSteps(t *testing.T) {
	p := python(t, "sys")
	v := start(
		t, p, plainProgram, ctl.Command{Verb: ctl.Start}, brk(1, "program.py:3 if a == 1"), brk(2, "program.py:5"),
		brk(3, "kernel"), brk(4, "nonsense"), brk(5, "program.py:4 if )"), brk(6, "func outer"), brk(7, "elsewhere.py:1"),
	)
	s := v.stop()
	if s.Kind != logs.StopStart || s.Where == nil || s.Where.Line != 1 || s.Thread != "MainThread" {
		t.Fatalf("%+v", s)
	}
	for i, want := range []struct {
		places int
		err    string
	}{
		{1, ""},
		{0, "no code begins on this line; the next line that has is 6"},
		{0, "inside compiled code"},
		{0, "not a breakpoint"},
		{0, "the condition is no expression"},
		{0, ""},
		{0, ""},
	} {
		p := v.points[i]
		if p.ID != i+1 || p.Places != want.places || !strings.Contains(p.Error, want.err) || (want.err == "") != (p.Error == "") {
			t.Errorf("%+v", p)
		}
	}
	v.goOn(s)
	if s = v.stop(); s.Point != 6 || s.Where.Func != "outer" || local(t, s, 0, "n").Text != "3" || !local(t, s, 0, "n").Arg {
		t.Errorf("%+v", s)
	}
	v.goOn(s)
	s = v.stop()
	if s.Point != 1 || s.Kind != logs.StopLine || s.Where.Line != 3 || s.Where.Code != "    c = a + b" || len(s.Stack) != 3 {
		t.Errorf("%+v", s)
	}
	if k := local(t, s, 0, "key"); k.Text != "1 item" || k.Items[0].Name != "k" || k.Items[0].Text != "[1, 2.5, 's']" {
		t.Errorf("%+v", k)
	}
	if local(t, s, 1, "total").Text != "2" || local(t, s, 0, "rest").Arg != true {
		t.Errorf("%+v", s.Stack)
	}
	for _, c := range []struct {
		expr  string
		level int
		text  string
		err   string
	}{
		{"a + b", 0, "3", ""},
		{"[x for x in range(5) if x > a]", 0, "[2, 3, 4]", ""},
		{"total", 1, "2", ""},
		{"total", 0, "", "NameError"},
		{"total", 9, "", "3 levels"},
		{"x = 1", 0, "", "no expression"},
		{"1/0", 0, "", "ZeroDivisionError"},
	} {
		if a := v.ask(s, c.expr, c.level); a.Value.Text != c.text || !strings.Contains(a.Error, c.err) || (a.Error == "") != (c.err == "") {
			t.Errorf("%s: %+v", c.expr, a)
		}
	}
	v.send(ctl.Command{Verb: ctl.Watch, Arg: "c"})
	for _, step := range []struct {
		kind string
		line int
	}{{"line", 4}, {"line", 8}, {"line", 9}, {"into", 3}, {"out", 8}, {"program.py:13", 13}} {
		s = v.step(s, step.kind)
		if s.Kind != logs.StopLine || s.Where.Line != step.line || s.Point != 0 || s.Command != v.next {
			t.Errorf("step %s: %+v, want line %d", step.kind, s, step.line)
		}
		if len(s.Watches) != 1 || (s.Where.Func == "inner" && step.line == 4) != (s.Watches[0].Value.Text == "3") {
			t.Errorf("watches: %+v", s.Watches)
		}
	}
	v.goOn(s)
	if out := v.end(0); out != "9\ndone\n" {
		t.Errorf("printed %q", out)
	}
	last := v.states[len(v.states)-1]
	if last.State != "running" || last.Process != s.Process || last.Thread != s.Thread || last.Command != v.next {
		t.Errorf("%+v", last)
	}
}

// A running loop is stopped by pause, again after continue, and not once more after clear.
func TestPauseOfALoop(t *testing.T) {
	p := python(t, "sys")
	v := start(t, p, `
import time
def loop():
    n = 0
    while n >= 0:
        n += 1
        time.sleep(0.001)
        if stop: break
stop = []
loop()
print("left")
`)
	v.until("the connection", func() bool { v.mu.Lock(); defer v.mu.Unlock(); return len(v.conns) > 0 })
	for range 3 {
		id := v.send(ctl.Command{Verb: ctl.Pause})
		s := v.stop()
		if s.Kind != logs.StopPause || s.Command != id || s.Where == nil {
			t.Errorf("%+v", s)
		}
		v.goOn(s)
	}
	v.send(brk(1, "program.py:7 if n > 20"))
	s := v.stop()
	v.send(ctl.Command{Verb: ctl.Clear, Point: 1})
	v.until("the clearing", func() bool { return v.points[len(v.points)-1].Cleared })
	if a := v.ask(s, "stop.append(1)", 0); a.Error != "" {
		t.Error(a.Error)
	}
	v.goOn(s)
	if out := v.end(0); out != "left\n" {
		t.Errorf("printed %q", out)
	}
}

// Threads have stops of their own, and one of them goes on while the others stand.
func TestThreads(t *testing.T) {
	p := python(t, "sys")
	v := start(t, p, `
import threading
def work(i):
    x = i * 10
    return x
ts = [threading.Thread(target=work, args=(i,), name="worker-%d" % i) for i in (1, 2)]
for t in ts: t.start()
for t in ts: t.join()
print("joined")
`, brk(1, "program.py:5"))
	a, b := v.stop(), v.stop()
	if a.Thread == b.Thread || !strings.HasPrefix(a.Thread, "worker-") || local(t, a, 0, "x").Text != a.Thread[len("worker-"):]+"0" {
		t.Errorf("%+v %+v", a, b)
	}
	v.goOn(a)
	v.until("the first to go on", func() bool {
		l := v.states[len(v.states)-1]
		return l.State == "running" && l.Thread == a.Thread
	})
	if got := v.ask(b, "x", 0); got.Value.Text != b.Thread[len("worker-"):]+"0" {
		t.Errorf("%+v", got)
	}
	v.goOn(b)
	v.end(0)
}

// A forked child has a connection and stops of its own; breakpoints hold in it, too.
func TestForks(t *testing.T) {
	p := python(t, "sys")
	v := start(t, p, `
import os, sys, warnings
warnings.simplefilter("error")
def child(x):
    y = x + 1
    return y
pid = os.fork()
if pid == 0:
    child(41)
    os._exit(0)
print(os.waitpid(pid, 0)[1])
child(1)
`, brk(1, "program.py:6"))
	s := v.stop()
	if s.Process == v.cmd.Process.Pid || local(t, s, 0, "y").Text != "42" {
		t.Errorf("%+v", s)
	}
	v.goOn(s)
	parent := v.stop()
	if parent.Process != v.cmd.Process.Pid || local(t, parent, 0, "y").Text != "2" {
		t.Errorf("%+v", parent)
	}
	v.goOn(parent)
	if out := v.end(0); out != "0\n" {
		t.Errorf("printed %q", out)
	}
}

// An interrupt that comes while a fork is followed reaches both processes: Python ignores what is raised in
// callbacks of a fork. One of a handler that the program has set is called once.
func TestInterruptAtFork(t *testing.T) {
	p := python(t, "sys")
	for handler, want := range map[string]string{
		"": "interrupted\ninterrupted\n", "signal.signal(signal.SIGINT, note)": "noted\nnoted\nslept\nslept\n",
	} {
		v := start(t, p, `
import os, signal, time
import tcdbg_hooks.pause as pause
def note(*_):
    print("noted", flush=True)
`+handler+`
def amid(fn):
    def run(self):
        os.kill(os.getpid(), signal.SIGINT)
        return fn(self)
    return run
pause.Channel.in_parent = amid(pause.Channel.in_parent)
pause.Channel.in_child = amid(pause.Channel.in_child)
main = os.getpid()
try:
    os.fork()
    end = time.monotonic() + 1
    while time.monotonic() < end:
        time.sleep(0.01)
    print("slept", flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
if os.getpid() == main:
    os.wait()
`)
		if out := v.end(0); out != want {
			t.Errorf("%q printed %q, want %q", handler, out, want)
		}
	}
}

// An error that nobody catches is a stop with the frames that it came through; one that is
// caught is none.
func TestRaised(t *testing.T) {
	p := python(t, "sys")
	v := start(t, p, `
def f(x):
    return 1 / x
try:
    f(0)
except ZeroDivisionError:
    print("caught")
f(0)
`, brk(1, "raised"))
	s := v.stop()
	if s.Kind != logs.StopRaised || s.Reason != "ZeroDivisionError: division by zero" || s.Where.Line != 3 {
		t.Errorf("%+v", s)
	}
	if local(t, s, 0, "x").Text != "0" {
		t.Errorf("%+v", s)
	}
	v.goOn(s)
	if out := v.end(1); !strings.Contains(out, "ZeroDivisionError") || !strings.HasPrefix(out, "caught\n") {
		t.Errorf("printed %q", out)
	}
}

// Without a viewer, with one that dies while the program stands, and with one that leaves, the
// program runs to its end; killed at a stop it leaves whole records.
func TestViewersEnd(t *testing.T) {
	p := python(t, "sys")
	t.Run("none", func(t *testing.T) {
		hooks, trace := folders(t)
		e, err := Install(hooks, env(trace), "pause")
		if err != nil {
			t.Fatal(err)
		}
		if out := runPython(t, p, append(e, PauseVar+"=/nowhere/s"), "-c", "print('runs')"); out != "runs\n" {
			t.Errorf("printed %q", out)
		}
		if files, _ := os.ReadDir(trace); len(files) != 0 {
			t.Errorf("%v", files)
		}
	})
	stopped := func(t *testing.T) *viewer {
		v := start(t, p, plainProgram, brk(1, "program.py:4"))
		v.stop()
		return v
	}
	t.Run("dies", func(t *testing.T) {
		v := stopped(t)
		v.mu.Lock()
		for _, c := range v.conns {
			_ = c.Close()
		}
		v.mu.Unlock()
		if out := v.end(0); out != "9\ndone\n" {
			t.Errorf("printed %q", out)
		}
	})
	t.Run("leaves", func(t *testing.T) {
		v := stopped(t)
		v.send(ctl.Command{Verb: ctl.Leave})
		if out := v.end(0); out != "9\ndone\n" {
			t.Errorf("printed %q", out)
		}
	})
	t.Run("killed", func(t *testing.T) {
		v := stopped(t)
		_ = v.cmd.Process.Signal(syscall.SIGKILL)
		v.end(-1)
		if got := records(t, v.trace, "tcdbg_stop"); len(got) != 1 {
			t.Errorf("%d stops", len(got))
		}
	})
	t.Run("interrupted", func(t *testing.T) {
		v := stopped(t)
		time.Sleep(10 * time.Millisecond)
		_ = v.cmd.Process.Signal(syscall.SIGINT)
		<-v.ended
		if out := v.out.String(); !strings.Contains(out, "KeyboardInterrupt") {
			t.Errorf("printed %q", out)
		}
	})
}

// The user's __repr__ may raise, print for ever or return a megabyte.
func TestReprs(t *testing.T) {
	p := python(t, "sys")
	v := start(t, p, `
class Raises:
    def __repr__(self): raise ValueError("no")
class Loops:
    def __repr__(self):
        n = 0
        while True: n += 1
class Long:
    def __repr__(self): return "x" * 1000000
def f(raises, loops, long, many, deep):
    text = "y" * 100000
    return text
deep = []
for i in range(20): deep = [deep]
print(len(f(Raises(), Loops(), Long(), list(range(1000)), deep)))
`, brk(1, "program.py:12"))
	s := v.stop()
	if u := local(t, s, 0, "raises").Unknown; !strings.Contains(u, "ValueError") {
		t.Errorf("%q", u)
	}
	if u := local(t, s, 0, "loops").Unknown; !strings.Contains(u, "took more than") {
		t.Errorf("%q", u)
	}
	for _, name := range []string{"long", "text"} {
		if n := len([]rune(local(t, s, 0, name).Text)); n != 400 {
			t.Errorf("%s: %d characters", name, n)
		}
	}
	if m := local(t, s, 0, "many"); len(m.Items) != 50 || m.More != 950 {
		t.Errorf("%d items, %d more", len(m.Items), m.More)
	}
	depth := 0
	for d := local(t, s, 0, "deep"); len(d.Items) > 0; d = d.Items[0] {
		depth++
	}
	if depth != 4 {
		t.Errorf("%d levels", depth)
	}
	v.goOn(s)
	if out := v.end(0); out != "100000\n" {
		t.Errorf("printed %q", out)
	}
}

// A step over a call of much code is not stopped in it, and not held up at each of its lines: a frame
// that only the step asks for is not looked at line by line.
func TestStepsPassCalls(t *testing.T) {
	p := python(t, "sys")
	v := start(t, p, `import sys
def back(n):
    return 0 if n == 0 else back(n - 1)
def watched():
    return "watched" if "local" in repr(sys._getframe(1).f_trace) else "not watched"
def much():
    seen = watched()
    total = back(20)
    return seen
def outer():
    a = much()
    b = 2
    return a
print(outer())
print(outer())
`, brk(1, "program.py:14"))
	s := v.stop()
	v.send(ctl.Command{Verb: ctl.Clear, Point: 1})
	s = v.step(s, "into")
	if s.Where.Line != 11 {
		t.Fatalf("%+v", s)
	}
	if s = v.step(s, "line"); s.Where.Line != 12 || local(t, s, 0, "a").Text != "'not watched'" {
		t.Errorf("%+v", s)
	}
	if s = v.step(s, "out"); s.Where.Line != 14 && s.Where.Line != 15 {
		t.Errorf("%+v", s)
	}
	v.goOn(s)
	v.end(0)
}
