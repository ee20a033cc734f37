package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tcdbg/internal/test/pty"
)

// This file ends tcdbg in every way and at any moment, and looks for what is left.

// loops is a program that calls a compiled function for a while and prints a result.
var loops = strings.Replace(sinProgram, "fmt.Println(f(torch.Ones(2)))",
	"x := torch.Ones(2)\n\tfor range 100000 {\n\t\tx = f(x)\n\t}\n\tfmt.Println(x)", 1)

// endless is a program that calls a compiled function for ever.
const endless = `package main

import "tcdbg/torch"

func main() {
	f := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return x.Sin().Add(1) })
	for x := torch.Ones(2); ; {
		x = f(x)
	}
}
`

// victim is a tcdbg that is about to be killed.
type victim struct {
	s       *session
	tmp     string // its folder for temporary files
	cmd     *exec.Cmd
	tt      *pty.Terminal // nil: it runs without screens
	engine  string        // what the command line of its engine holds; "": it has none
	longest int           // within how many milliseconds it is killed
	marks   []string      // what command lines hold that must be gone, besides ours
	after   func()        // waits for what is to go on, and looks at it
}

// plainly starts tcdbg without a terminal.
func plainly(t *testing.T, s *session, args ...string) *victim {
	t.Helper()
	v := &victim{s: s, tmp: t.TempDir(), cmd: s.command(args...)}
	v.cmd.Env = append(v.cmd.Env, "TMPDIR="+v.tmp)
	if err := v.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return v
}

// onScreens starts tcdbg on a terminal.
func onScreens(t *testing.T, s *session, args ...string) *victim {
	t.Helper()
	v := &victim{s: s, tmp: t.TempDir(), cmd: s.onTerminal("xterm-256color", args...)}
	v.cmd.Env = append(v.cmd.Env, "TMPDIR="+v.tmp)
	v.tt = pty.Start(t, v.cmd, pty.Size(120, 40))
	return v
}

// phases are what tcdbg may be doing when it is killed.
var phases = []struct {
	name string
	// warm has compiled what there is to compile.
	start func(t *testing.T, warm *session, file string) *victim
}{
	{"cold build", func(t *testing.T, _ *session, file string) *victim {
		v := plainly(t, coldSession(t), "run", "--plain", file)
		v.engine, v.longest = v.s.bin+"\x00engine\x00"+v.s.state, 1500
		return v
	}},
	{"warm run", func(t *testing.T, warm *session, file string) *victim {
		v := plainly(t, sharing(t, warm), "run", "--plain", file)
		v.engine, v.longest = v.s.bin+"\x00engine\x00"+v.s.state, 300
		return v
	}},
	{"paused", func(t *testing.T, warm *session, file string) *victim {
		v := onScreens(t, sharing(t, warm), "run", strings.Replace(file, "model.go", "endless.go", 1))
		v.tt.Wait(promptly, "graph", 0, func(s string) bool { return strings.Contains(s, "1 graph") })
		v.tt.Type(" ")
		v.tt.Wait(promptly, "pause", 0, func(s string) bool { return strings.Contains(s, "paused") })
		v.engine, v.longest = v.s.bin+"\x00engine\x00"+v.s.state, 100
		return v
	}},
	{"replay", func(t *testing.T, warm *session, _ string) *victim {
		s := sharing(t, warm)
		s.state = warm.state
		v := onScreens(t, s, "replay", "last")
		v.longest = 400
		return v
	}},
	{"replay of a run that grows", replayGrowing},
	{"exec", func(t *testing.T, warm *session, _ string) *victim {
		s, mark := sharing(t, warm), marker(t)
		v := onScreens(t, s, "exec", "--", "sh", "-c", `tail -f "$0" & wait`, mark)
		v.longest, v.marks = 400, []string{mark}
		return v
	}},
	{"exec --plain", func(t *testing.T, warm *session, _ string) *victim {
		s, mark := sharing(t, warm), marker(t)
		v := plainly(t, s, "exec", "--plain", "--", "tail", "-f", mark)
		v.longest, v.marks = 200, []string{mark}
		return v
	}},
	{"exec of PyTorch", func(t *testing.T, warm *session, _ string) *victim {
		s, mark := sharing(t, warm), marker(t)
		s.env = append(s.env, "TORCHINDUCTOR_CACHE_DIR="+filepath.Join(warm.cache, "torch"))
		v := onScreens(t, s, "exec", "--", os.Getenv("TCDBG_PYTHON"), "-c", torchProgram, mark)
		v.tmp = filepath.Join(v.tmp, "none") // what PyTorch leaves there is its own
		v.longest, v.marks = 8000, []string{mark}
		return v
	}},
}

// torchProgram compiles a function with a C++ compiler or with whatever its PyTorch has.
const torchProgram = `
import time, torch
f = torch.compile(lambda x: x.sin() + 1)
while True:
    print(f(torch.ones(4)))
    time.sleep(0.1)
`

// sharing is a session with the cache of another.
func sharing(t *testing.T, with *session) *session {
	s := newSession(t)
	s.cache = with.cache
	return s
}

// marker is a file whose name no other process has in its command line.
func marker(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "marker")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// replayGrowing shows a run while another tcdbg makes it; that one must go on as if
// nobody looked.
func replayGrowing(t *testing.T, warm *session, file string) *victim {
	s := sharing(t, warm)
	running := s.command("run", "--plain", file)
	var out strings.Builder
	running.Stdout = &out
	if err := running.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "the run", func() bool {
		found, _ := filepath.Glob(filepath.Join(s.state, "tcdbg/runs/*/run.json"))
		return len(found) > 0
	})
	v := onScreens(t, s, "replay", "last")
	v.longest = 400
	v.after = func() {
		if err := running.Wait(); err != nil || !strings.HasPrefix(out.String(), "tensor(") {
			t.Errorf("the program that was looked at ended with %v and printed %q", err, out.String())
		}
	}
	return v
}

// TestKills kills the viewer or the engine, or closes the terminal, at any moment of every
// phase. $TCDBG_KILLS is how often each, twice where it is not set (make kill: 100).
// Nothing that was started is left, no build folder, no temporary file, and runs can be read.
func TestKills(t *testing.T) {
	if _, err := os.Stat("/proc/self/cmdline"); err != nil {
		t.Skip("no /proc: processes are not found")
	}
	rounds := 2
	if n, err := strconv.Atoi(os.Getenv("TCDBG_KILLS")); err == nil {
		rounds = n
	}
	file := program(t, loops)
	if err := os.WriteFile(strings.Replace(file, "model.go", "endless.go", 1), []byte(endless), 0o600); err != nil {
		t.Fatal(err)
	}
	warm := newSession(t)
	if _, errs, code := warm.run(t, "run", "--plain", file); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	for _, p := range phases {
		t.Run(p.name, func(t *testing.T) {
			if strings.Contains(p.name, "PyTorch") {
				needTorch(t)
			}
			t.Parallel()
			first := rand.IntN(100)
			for i := range rounds {
				v := p.start(t, warm, file)
				when := time.Duration(rand.IntN(v.longest)) * time.Millisecond
				time.Sleep(when)
				ways := v.ways()
				w := ways[(first+i)%len(ways)]
				v.end(t, w)
				v.nothingLeft(t, fmt.Sprintf("%v after %v of %s", w, when, p.name))
				if t.Failed() {
					return
				}
			}
		})
	}
}

// needTorch skips aloud where no Python with PyTorch is named.
func needTorch(t *testing.T) {
	t.Helper()
	python := os.Getenv("TCDBG_PYTHON")
	if python == "" {
		t.Skip("set TCDBG_PYTHON to a Python with torch to run this test")
	}
}

// way is how tcdbg is ended: a signal to one of its processes, or no signal: the terminal
// is closed.
type way struct {
	who string
	how syscall.Signal
}

// ways are those in which this victim can be ended.
func (v *victim) ways() []way {
	var all []way
	for _, how := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGHUP} {
		if signal.Ignored(how) { // this runs under nohup, which programs heed
			continue
		}
		all = append(all, way{"viewer", how})
		if v.engine != "" {
			all = append(all, way{"engine", how})
		}
	}
	if v.tt != nil {
		all = append(all, way{"terminal", 0})
	}
	return all
}

func (w way) String() string {
	if w.how == 0 {
		return "the end of the terminal"
	}
	return w.how.String() + " to the " + w.who
}

// end ends the victim and waits until it has ended. Where the screens show that their
// engine has ended, q quits.
func (v *victim) end(t *testing.T, w way) {
	t.Helper()
	var from int
	if v.tt != nil {
		from = len(v.tt.Written())
	}
	switch w.who {
	case "viewer":
		_ = v.cmd.Process.Signal(w.how)
	case "terminal":
		v.tt.HangUp()
	case "engine":
		for _, pid := range naming(v.engine) {
			_ = syscall.Kill(pid, w.how)
		}
		if v.tt != nil {
			v.tt.Wait(promptly, "end of the engine", from, func(s string) bool { return strings.Contains(s, "SIG") })
			v.tt.Type("q")
		}
	}
	if v.tt == nil {
		_ = v.cmd.Wait()
	} else {
		v.tt.End(promptly)
	}
	if v.after != nil {
		v.after()
	}
}

// nothingLeft looks for processes, folders and files, and reads the run.
func (v *victim) nothingLeft(t *testing.T, what string) {
	t.Helper()
	for _, mark := range append(v.marks, v.s.state, v.s.cache) {
		until(t, "the end of what names "+mark+", after "+what, func() bool { return len(naming(mark)) == 0 })
	}
	until(t, "the end of build folders after "+what, func() bool {
		left, _ := filepath.Glob(filepath.Join(v.s.cache, "tcdbg/build-*"))
		return len(left) == 0
	})
	// A file that was half made when its viewer was killed goes when somebody looks at the runs.
	if _, errs, code := v.s.run(t, "runs"); code != 0 {
		t.Errorf("the list of runs after %s ends with %d: %s", what, code, errs)
	}
	for _, pattern := range []string{filepath.Join(v.s.state, "tcdbg/runs/*/*.new"), filepath.Join(v.tmp, "*")} {
		if left, _ := filepath.Glob(pattern); len(left) > 0 {
			t.Errorf("left after %s: %q", what, left)
		}
	}
	if runs, _ := filepath.Glob(filepath.Join(v.s.state, "tcdbg/runs/*/run.json")); len(runs) == 0 {
		return // it was killed before it began
	}
	if _, errs, code := v.s.run(t, "report", "last"); code != 0 {
		t.Errorf("the report after %s ends with %d: %s", what, code, errs)
	}
}
