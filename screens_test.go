//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tcdbg/internal/test/pty"
)

// This file is the screens on a terminal: whatever ends or stops them, the terminal is
// given back as it was.

// waits is a program that compiles a function and then waits.
const waits = `package main

import (
	"time"

	"tcdbg/torch"
)

func f(x *torch.Tensor) *torch.Tensor { return x.Sin().Mul(2) }

func main() {
	torch.Compile(f)(torch.Ones(4))
	time.Sleep(time.Hour)
}
`

// What Bubble Tea writes to take the terminal, and to give it back.
var (
	takes = []string{"\x1b[?1049h", "\x1b[?25l", "\x1b[?1002h", "\x1b[?2004h"}
	gives = []string{"\x1b[?1049l", "\x1b[?25h", "\x1b[?1002l", "\x1b[?2004l"}
)

// held says which modes of the screens the terminal is in after it has got out.
func held(out string) (modes []string) {
	for i, on := range takes {
		if strings.LastIndex(out, on) > strings.LastIndex(out, gives[i]) {
			modes = append(modes, fmt.Sprintf("%q", on))
		}
	}
	return modes
}

// checkGivenBack wants no mode of the screens, and the settings from before.
func checkGivenBack(t *testing.T, tt *pty.Terminal, before pty.Settings) {
	t.Helper()
	if modes := held(tt.Written()); modes != nil {
		t.Errorf("the terminal keeps %v", modes)
	}
	if after := tt.Settings(); after != before {
		t.Errorf("settings were\n%+v\nand are\n%+v", before, after)
	}
}

// shown is when the Overview screen is there whole.
func shown(out string) bool {
	return strings.Contains(out, "Overview") && strings.Contains(out, "model.go") && strings.Contains(out, "quit")
}

// showScreens starts the screens and waits for them.
func showScreens(t *testing.T, cmd *exec.Cmd, opts ...pty.Option) (tt *pty.Terminal, before pty.Settings) {
	t.Helper()
	opts = append(opts, func(tt *pty.Terminal) { before = tt.Settings() })
	tt = pty.Start(t, cmd, opts...)
	tt.Wait(promptly, "screens", 0, shown)
	return tt, before
}

// TestSuspend: Ctrl-Z gives the shell its terminal, and fg draws the screens again; so it
// does after a stop from another process.
func TestSuspend(t *testing.T) {
	s := warmSession(t)
	model := program(t, waits)
	for _, by := range []string{"key", "signal"} {
		t.Run(by, func(t *testing.T) {
			cmd := s.onTerminal("xterm-256color", "run", model)
			script := `set -m; "$@"; echo back in the shell; read line; fg; echo ended with $?`
			cmd.Args = append([]string{"sh", "-c", script, "sh"}, cmd.Args...)
			cmd.Path = lookPath(t, "sh")
			tt, before := showScreens(t, cmd)
			from := len(tt.Written())
			if by == "key" {
				tt.Type("\x1a")
			} else if err := syscall.Kill(-tt.Foreground(), syscall.SIGTSTP); err != nil {
				t.Fatal(err)
			}
			tt.Wait(promptly, "shell", from, func(s string) bool { return strings.Contains(s, "back in the shell") })
			checkGivenBack(t, tt, before)
			tt.Set(before) // as shells do
			from = len(tt.Written())
			tt.Type("\n")
			tt.Wait(promptly, "screens", from, shown)
			if modes := held(tt.Written()); len(modes) != len(takes) {
				t.Errorf("after fg the terminal has %v of %q", modes, takes)
			}
			if now := tt.Settings(); now.Lflag&(syscall.ECHO|syscall.ICANON|syscall.ISIG) != 0 {
				t.Errorf("the terminal is not in raw mode after fg")
			}
			tt.Type("q")
			tt.Type("s")
			tt.Wait(promptly, "end", 0, func(s string) bool { return strings.Contains(s, "ended with ") })
			tt.End(promptly)
			checkGivenBack(t, tt, before)
		})
	}
}

// TestSuspendWithoutAShell: where the system does not stop a process, because no shell
// could continue it, Ctrl-Z says so and the screens stay.
func TestSuspendWithoutAShell(t *testing.T) {
	s := warmSession(t)
	tt, before := showScreens(t, s.onTerminal("xterm-256color", "run", program(t, waits)), pty.Size(120, 40))
	tt.Type("\x1a")
	tt.Wait(promptly, "notice", 0, func(s string) bool { return strings.Contains(s, "cannot suspend") })
	tt.Type("q")
	tt.Type("s")
	tt.End(promptly)
	checkGivenBack(t, tt, before)
}

// inEditor starts the screens and an editor that waits for a line, below a shell or alone.
func inEditor(t *testing.T, shell string) (tt *pty.Terminal, before pty.Settings) {
	t.Helper()
	s := newSession(t)
	editor := filepath.Join(t.TempDir(), "editor")
	if err := os.WriteFile(editor, []byte("#!/bin/sh\necho in the editor\nread line\necho line is $line\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := s.onTerminal("xterm-256color", "run", program(t, waits))
	cmd.Env = append(cmd.Env, "VISUAL=", "EDITOR="+editor)
	if shell != "" {
		cmd.Args = append([]string{"sh", "-c", shell, "sh"}, cmd.Args...)
		cmd.Path = lookPath(t, "sh")
	}
	tt, before = showScreens(t, cmd, pty.Size(120, 40))
	tt.Wait(promptly, "graph", 0, func(s string) bool { return strings.Contains(s, "1 graph") })
	tt.Type("2")
	for range 20 { // until the lines of the screen are there
		tt.Type("e")
		time.Sleep(time.Second)
		if strings.Contains(tt.Written(), "in the editor") {
			return tt, before
		}
	}
	t.Fatal("no editor")
	return tt, before
}

// TestSuspendInEditor: a Ctrl-Z that the terminal sends while an editor has it stops tcdbg
// and the editor, and fg continues both.
func TestSuspendInEditor(t *testing.T) {
	tt, before := inEditor(t, `set -m; "$@"; echo back in the shell; read line; fg; echo ended with $?`)
	from := len(tt.Written())
	tt.Type("\x1a")
	tt.Wait(promptly, "shell", from, func(s string) bool { return strings.Contains(s, "back in the shell") })
	checkGivenBack(t, tt, before)
	tt.Type("\n")
	time.Sleep(200 * time.Millisecond)
	from = len(tt.Written())
	tt.Type("typed\n")
	tt.Wait(promptly, "end of the editor", from, func(s string) bool { return regexp.MustCompile(`line is e*typed`).MatchString(s) })
	tt.Wait(promptly, "screens", from, func(s string) bool { return strings.Contains(s, takes[0]) })
	tt.Type("q")
	tt.Type("s")
	tt.Wait(promptly, "end", 0, func(s string) bool { return strings.Contains(s, "ended with ") })
	tt.End(promptly)
	checkGivenBack(t, tt, before)
}

// TestQuitSignal: SIGQUIT gives the terminal back and then ends tcdbg as it ends programs in
// Go, with its goroutines and exit code 2; also where the screens do not answer, as while an
// editor runs.
func TestQuitSignal(t *testing.T) {
	quits := func(t *testing.T, tt *pty.Terminal, before pty.Settings) {
		t.Helper()
		from := len(tt.Written())
		if err := syscall.Kill(tt.Cmd.Process.Pid, syscall.SIGQUIT); err != nil {
			t.Fatal(err)
		}
		if code := tt.End(promptly); code != 2 {
			t.Errorf("exit %d", code)
		}
		if out := tt.Written()[from:]; !strings.Contains(out, "SIGQUIT: quit") || !strings.Contains(out, "goroutine ") {
			t.Errorf("the terminal got %.2000q", out)
		}
		checkGivenBack(t, tt, before)
	}
	t.Run("screens", func(t *testing.T) {
		tt, before := showScreens(t, warmSession(t).onTerminal("xterm-256color", "run", program(t, waits)))
		quits(t, tt, before)
	})
	t.Run("editor", func(t *testing.T) {
		tt, before := inEditor(t, "")
		quits(t, tt, before)
	})
}

// TestHugeWindow: a terminal that says it has 65535 columns or rows costs neither
// gigabytes nor hangs.
func TestHugeWindow(t *testing.T) {
	s := warmSession(t)
	model := program(t, strings.Replace(waits, "time.Sleep(time.Hour)", "time.Sleep(1)", 1))
	if _, errs, code := s.run(t, "run", "--plain", model); code != 0 {
		t.Fatalf("exit %d\n%s", code, errs)
	}
	for _, size := range []struct{ cols, rows int }{{65535, 24}, {80, 65535}, {65535, 65535}} {
		t.Run(fmt.Sprintf("%dx%d", size.cols, size.rows), func(t *testing.T) {
			start := time.Now()
			tt, before := showScreens(t, s.onTerminal("xterm-256color", "replay", "last"), pty.Size(size.cols, size.rows))
			tt.Type("?")
			tt.Wait(promptly, "help", 0, func(s string) bool { return strings.Contains(s, "Navigation") })
			for _, k := range "x1234567890-1q" { // x closes the help; the next one opens where this one was left
				tt.Type(string(k))
				time.Sleep(50 * time.Millisecond)
			}
			tt.End(promptly)
			checkGivenBack(t, tt, before)
			use := tt.Cmd.ProcessState.SysUsage().(*syscall.Rusage)
			t.Logf("%d MB, %v, %d KB written", use.Maxrss>>10, time.Since(start).Round(time.Millisecond), len(tt.Written())>>10)
			if use.Maxrss>>10 > 600 {
				t.Errorf("it took %d MB", use.Maxrss>>10)
			}
			if cpu := tt.Cmd.ProcessState.UserTime(); cpu > 20*time.Second {
				t.Errorf("it took %v of processor time", cpu)
			}
		})
	}
}

// TestSignalsGiveTheTerminalBack: a signal that ends the screens, at any moment of their
// start and after, leaves the terminal as it was.
func TestSignalsGiveTheTerminalBack(t *testing.T) {
	s := warmSession(t)
	model := program(t, waits)
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT} {
		for _, after := range []time.Duration{2, 5, 10, 20, 30, 50, 100, 400, 0} {
			t.Run(fmt.Sprintf("%v/%d ms", sig, after), func(t *testing.T) {
				cmd := s.onTerminal("xterm-256color", "run", model)
				var before pty.Settings
				var tt *pty.Terminal
				if after == 0 {
					tt, before = showScreens(t, cmd)
				} else {
					tt = pty.Start(t, cmd, func(tt *pty.Terminal) { before = tt.Settings() })
					time.Sleep(after * time.Millisecond)
				}
				if err := syscall.Kill(cmd.Process.Pid, sig); err != nil {
					t.Fatal(err)
				}
				if code := tt.End(promptly); code != 128+int(sig) {
					t.Errorf("exit %d", code)
				}
				checkGivenBack(t, tt, before)
			})
		}
	}
}

func lookPath(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("no %s here", name)
	}
	return path
}

// TestEngineDies: an engine or a foreign program that is killed is shown as ended within a
// second, whatever is on the screen and whatever it was doing, and q quits then.
func TestEngineDies(t *testing.T) {
	s := warmSession(t)
	model, endless, mark := program(t, waits), program(t, endless), marker(t)
	run, engine := []string{"run", model}, s.bin+"\x00engine\x00"+s.state
	exec := []string{"exec", "--", "tail", "-f", mark}
	for _, c := range []struct {
		name   string
		args   []string
		engine string
		begun  string
		keys   string
		answer string
	}{
		{"overview", run, engine, "1 graph", "", ""},
		{"pausing", run, engine, "1 graph", " ", "safe point"},
		{"paused", []string{"run", endless}, engine, "1 graph", " ", "paused"},
		{"asked whether to stop it", run, engine, "1 graph", "q", "running"},
		{"output", run, engine, "1 graph", "-", "Output"},
		{"exec", exec, mark, "tail", "", ""},
		{"exec, asked whether to stop it", exec, mark, "tail", "q", "running"},
		{"exec, output", exec, mark, "tail", "-", "Output"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := s.onTerminal("xterm-256color", c.args...)
			var before pty.Settings
			tt := pty.Start(t, cmd, pty.Size(120, 40), func(tt *pty.Terminal) { before = tt.Settings() })
			tt.Wait(promptly, "screens", 0, func(s string) bool {
				return strings.Contains(s, "quit") && strings.Contains(s, c.begun)
			})
			if c.keys != "" {
				from := len(tt.Written())
				tt.Type(c.keys)
				tt.Wait(promptly, "answer", from, func(s string) bool { return strings.Contains(s, c.answer) })
			}
			var pids []int
			until(t, "one engine", func() bool { // it may be about to start a process, which has its name at first
				pids = slices.DeleteFunc(naming(c.engine), func(pid int) bool { return pid == cmd.Process.Pid })
				return len(pids) == 1
			})
			from, killed := len(tt.Written()), time.Now()
			if err := syscall.Kill(pids[0], syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			tt.Wait(promptly, "end of the engine", from, func(s string) bool { return strings.Contains(s, "SIGKILL") })
			took := time.Since(killed)
			t.Logf("shown after %v", took)
			if took > time.Second {
				t.Errorf("the end was shown after %v", took)
			}
			tt.Type("q")
			if code := tt.End(5 * time.Second); code != 128+int(syscall.SIGKILL) {
				t.Errorf("exit %d", code)
			}
			checkGivenBack(t, tt, before)
		})
	}
}

// TestQuitAsTheEngineDies: q quits also before anything shows that the engine is dead.
func TestQuitAsTheEngineDies(t *testing.T) {
	s := warmSession(t)
	model := program(t, waits)
	for _, ms := range []time.Duration{20, 40, 60, 80, 120} {
		t.Run(fmt.Sprintf("%d ms", ms), func(t *testing.T) {
			tt, before := showScreens(t, s.onTerminal("xterm-256color", "run", model))
			if err := syscall.Kill(childOf(t, tt.Cmd.Process.Pid), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			time.Sleep(ms * time.Millisecond)
			tt.Type("q")
			tt.End(5 * time.Second)
			checkGivenBack(t, tt, before)
		})
	}
}

// TestScreensNeedARecord: the screens show the record of a run, and do not begin without.
func TestScreensNeedARecord(t *testing.T) {
	s := newSession(t)
	s.state = filepath.Join(s.state, "file")
	if err := os.WriteFile(s.state, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"run", program(t, waits)}, {"exec", "--", "sleep", "60"}} {
		cmd := s.onTerminal("xterm-256color", args...)
		tt := pty.Start(t, cmd)
		if code := tt.End(promptly); code != 73 || !strings.HasPrefix(tt.Written(), "tcdbg: cannot make the run folder ") {
			t.Errorf("%q: exit %d: %q", args, code, tt.Written())
		}
	}
}

// childOf is the one child of a process.
func childOf(t *testing.T, pid int) int {
	t.Helper()
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range tasks {
		text, _ := os.ReadFile(file)
		if ids := strings.Fields(string(text)); len(ids) > 0 {
			child, err := strconv.Atoi(ids[0])
			if err != nil {
				t.Fatal(err)
			}
			return child
		}
	}
	t.Fatalf("process %d has no child", pid)
	return 0
}

// TestKernelFaultOnScreens: a kernel that faults ends the engine, not the screens: they say
// so and quit on q, and the terminal is given back.
func TestKernelFaultOnScreens(t *testing.T) {
	needCompiler(t)
	s := warmSession(t, "TCDBG_TRAP_KERNEL=fused_sin_cos_add_0")
	model := program(t, `package main

import "tcdbg/torch"

func foo(x, y *torch.Tensor) *torch.Tensor { return x.Sin().Add(y.Cos()) }

func main() { torch.Compile(foo)(torch.Ones(64), torch.Ones(64)) }
`)
	tt, before := showScreens(t, s.onTerminal("xterm-256color", "run", model), pty.Size(120, 40))
	tt.Wait(promptly, "fault", 0, func(s string) bool { return strings.Contains(s, "kernel fault") })
	tt.Type("q")
	if code := tt.End(promptly); code != 70 {
		t.Errorf("exit %d", code)
	}
	checkGivenBack(t, tt, before)
	if out := tt.Written(); !strings.Contains(out, "fused_sin_cos_add_0") {
		t.Error("the kernel is not named")
	}
}
