package app

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/logs/ctl"
)

// needPython is a Python that the hooks run in; without one the test is skipped aloud.
func needPython(t *testing.T) string {
	t.Helper()
	p := os.Getenv("TCDBG_PYTHON")
	if p == "" {
		p = "python3"
	}
	if out, err := exec.Command(p, "-c", "import sys; assert sys.version_info >= (3, 9)").CombinedOutput(); err != nil {
		t.Skipf("no Python 3.9 or later: %s: %v: %.200s (set TCDBG_PYTHON)", p, err, out)
	}
	return p
}

// pausedFeed starts a Python program as exec --pause does.
func pausedFeed(t *testing.T, text string) (*feed, *Run) {
	t.Helper()
	p := needPython(t)
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	file := filepath.Join(t.TempDir(), "train.py")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := newRun("exec", []string{p}, []string{file}, Options{Pause: true})
	if err != nil {
		t.Fatal(err)
	}
	f := &feed{title: "train.py", exportDir: r.Path}
	if err := f.startForeign(r, []string{p, file}, traceEnv(r, os.Environ(), false)); err != nil {
		t.Fatal(err)
	}
	return f, r
}

const twoProcesses = `import os, sys
def work(n):
    m = n * 2
    return m
if os.fork() == 0:
    work(21)
    os._exit(0)
os.wait()
print(work(1))
`

// A program under exec --pause stands before its first line, then at a breakpoint in each
// of its processes; what was made for it is gone at its end, and the records are not.
func TestPausedProgram(t *testing.T) {
	f, r := pausedFeed(t, twoProcesses)
	stands := func(kind logs.StopKind) *explain.Stop {
		var found *explain.Stop
		until(t, f, "a stop: "+string(kind), func(r *explain.Report) bool {
			for _, s := range r.Session.Standing() {
				if s.Kind == kind {
					found = s
				}
			}
			return found != nil
		})
		return found
	}
	send := func(c ctl.Command) {
		t.Helper()
		if err := f.Send(c); err != nil {
			t.Fatal(err)
		}
	}
	first := stands(logs.StopStart)
	if run := f.Run(); !run.Paused || !run.Control || run.Where != "train.py:1" {
		t.Errorf("%+v", run)
	}
	send(ctl.Command{Verb: ctl.Break, Point: 1, Arg: "train.py:4"})
	send(ctl.Command{Verb: ctl.Continue, Process: first.Process, Thread: first.Thread})
	child := stands(logs.StopLine)
	if child.Process == first.Process {
		t.Errorf("%+v", child)
	}
	if s := child.Load(); len(s.Stack) == 0 || len(s.Stack[0].Locals) != 2 || s.Stack[0].Locals[1].Text != "42" {
		t.Errorf("%+v", s)
	}
	send(ctl.Command{Verb: ctl.Evaluate, Arg: "m - n", Process: child.Process})
	until(t, f, "the answer", func(r *explain.Report) bool {
		return len(r.Session.Answers) == 1 && r.Session.Answers[0].Value.Text == "21"
	})
	send(ctl.Command{Verb: ctl.Continue, Process: child.Process})
	until(t, f, "the parent's stop", func(r *explain.Report) bool {
		s := r.Session.Standing()
		return len(s) == 1 && s[0].Process == first.Process && s[0].Kind == logs.StopLine
	})
	st := f.now()
	socket := st.child.pauser.dir
	send(ctl.Command{Verb: ctl.Continue})
	<-st.exited
	<-st.done
	if e := f.Run(); e.Ended != "exit 0" || e.Paused || e.Control {
		t.Errorf("%+v", e)
	}
	for _, gone := range []string{socket, r.file("hooks")} {
		if _, err := os.Stat(gone); !os.IsNotExist(err) {
			t.Errorf("%s is left behind: %v", gone, err)
		}
	}
	if n := len(f.Snapshot().Session.Stops); n != 3 {
		t.Errorf("%d stops in the records", n)
	}
}

// A process that has just ended, which the viewer has not seen yet, is no error for those
// that run on.
func TestProcessJustEnded(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	process := func(pid int) (*pausable, net.Conn) {
		theirs, err := net.Dial("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		ours, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = ours.Close(), theirs.Close() })
		return &pausable{ours, pid}, theirs
	}
	runs, out := process(1)
	ended, gone := process(2)
	_ = gone.Close()
	p := &pauser{conns: []*pausable{ended, runs}}
	if err := p.send(ctl.Command{Verb: ctl.Continue}); err != nil {
		t.Error(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.Contains(line, "continue") {
		t.Errorf("%q %v", line, err)
	}
	for _, c := range []struct {
		command ctl.Command
		want    string
	}{
		{ctl.Command{Verb: ctl.Continue, Process: 2}, "continue: process 2 has ended"},
		{ctl.Command{Verb: ctl.Pause}, "pause: no Python process listens any more"},
	} {
		p.conns = []*pausable{ended}
		if err := p.send(c.command); err == nil || err.Error() != c.want {
			t.Errorf("%v, wanted %q", err, c.want)
		}
	}
}

// Quitting ends a program that stands, as it ends one that runs.
func TestQuitWhilePaused(t *testing.T) {
	f, r := pausedFeed(t, twoProcesses)
	until(t, f, "the first stop", func(r *explain.Report) bool { return len(r.Session.Standing()) == 1 })
	f.now().close()
	saved, err := loadRun(r.Path)
	if err != nil || saved.Info.State != Killed || saved.Info.Signal != "SIGTERM" {
		t.Errorf("%+v %v", saved, err)
	}
	if err := f.Send(ctl.Command{Verb: ctl.Pause}); err == nil {
		t.Error("a program that has ended was paused")
	}
}

// Left running, a program that stands goes on.
func TestLeaveWhilePaused(t *testing.T) {
	f, _ := pausedFeed(t, twoProcesses)
	until(t, f, "the first stop", func(r *explain.Report) bool { return len(r.Session.Standing()) == 1 })
	st := f.now()
	if err := f.Leave(); err != nil {
		t.Fatal(err)
	}
	<-st.exited
	<-st.done
	if e := f.Run(); e.Ended != "exit 0" {
		t.Errorf("%+v", e)
	}
}

// Without a terminal nobody could say when to go on.
func TestPauseNeedsATerminal(t *testing.T) {
	r := run(t, tcdbg(t, t.TempDir(), "exec", "--pause", "--plain", "--", "true"))
	if r.code != ExitUsage || !strings.Contains(r.stderr, "needs a terminal") {
		t.Errorf("code %d: %s", r.code, r.stderr)
	}
}
