package pyhook

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tcdbg/logs"
	"tcdbg/logs/ctl"
)

// This file is a viewer for the tests of the module pause.

// viewer runs one program and talks to its processes.
type viewer struct {
	t        *testing.T
	cmd      *exec.Cmd
	out      bytes.Buffer
	trace    string
	standing []ctl.Command
	ended    chan struct{}
	seen     map[string]int // lines of a file that were looked at

	mu    sync.Mutex
	conns map[int]net.Conn // by process
	next  int

	stops   []logs.Stop
	states  []logs.State
	points  []logs.Point
	answers []logs.Answer
	calls   string
	taken   int // stops that the test has seen
}

// start runs Python on a program's text, with commands that stand before it begins.
func start(t *testing.T, python, program string, standing ...ctl.Command) *viewer {
	t.Helper()
	file := filepath.Join(t.TempDir(), "program.py")
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	return startCommand(t, nil, standing, python, file)
}

func startCommand(t *testing.T, more []string, standing []ctl.Command, argv ...string) *viewer {
	t.Helper()
	return startModules(t, []string{"pause"}, more, standing, argv...)
}

// startModules is startCommand with other modules of ours beside pause.
func startModules(t *testing.T, modules, more []string, standing []ctl.Command, argv ...string) *viewer {
	t.Helper()
	hooks, trace := folders(t)
	e, err := Install(hooks, env(trace, append(more, "OMP_NUM_THREADS=1")...), modules...)
	if err != nil {
		t.Fatal(err)
	}
	socket, err := os.MkdirTemp("", "tcdbg")
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", filepath.Join(socket, "s"))
	if err != nil {
		t.Fatal(err)
	}
	v := &viewer{
		t: t, trace: trace, standing: standing, ended: make(chan struct{}), seen: map[string]int{},
		conns: map[int]net.Conn{}, next: 1000,
	}
	v.cmd = exec.Command(argv[0], argv[1:]...)
	v.cmd.Env = append(e, PauseVar+"="+filepath.Join(socket, "s"))
	v.cmd.Stdout, v.cmd.Stderr = &v.out, &v.out
	v.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	v.cmd.WaitDelay = time.Second
	go v.accept(listener)
	if err := v.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = v.cmd.Wait()
		close(v.ended)
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-v.cmd.Process.Pid, syscall.SIGKILL)
		<-v.ended
		_ = listener.Close()
		_ = os.RemoveAll(socket)
	})
	return v
}

func (v *viewer) accept(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		line, _ := bufio.NewReader(conn).ReadBytes('\n')
		var hello struct{ PID int }
		_ = json.Unmarshal(line, &hello)
		v.mu.Lock()
		for _, c := range append(v.standing, ctl.Command{Verb: ctl.Ready}) {
			_ = ctl.Send(conn, c)
		}
		v.conns[hello.PID] = conn
		v.mu.Unlock()
	}
}

// send gives a command to the process that it names, or to all, and returns its id.
func (v *viewer) send(c ctl.Command) int {
	v.t.Helper()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.next++
	c.ID = v.next
	for pid, conn := range v.conns {
		if c.Process == 0 || c.Process == pid {
			_ = ctl.Send(conn, c) // one that has ended does not mind
		}
	}
	return v.next
}

// read takes the records that came since.
func (v *viewer) read() {
	files, _ := filepath.Glob(filepath.Join(v.trace, "tcdbg_hooks*"))
	for _, file := range files {
		text, _ := os.ReadFile(file)
		lines := strings.Split(string(text), "\n")
		for i := v.seen[file]; i+2 < len(lines); i += 2 {
			v.take(lines[i], lines[i+1])
			v.seen[file] = i + 2
		}
	}
}

func (v *viewer) take(header, payload string) {
	into := func(to any) {
		if err := json.Unmarshal([]byte(payload), &struct{ Data any }{to}); err != nil {
			v.t.Errorf("%s: %v", payload, err)
		}
	}
	switch {
	case strings.Contains(header, `"tcdbg_stop"`):
		into(grow(&v.stops))
	case strings.Contains(header, `"tcdbg_state"`):
		into(grow(&v.states))
	case strings.Contains(header, `"tcdbg_point"`):
		into(grow(&v.points))
	case strings.Contains(header, `"tcdbg_answer"`):
		into(grow(&v.answers))
	case strings.Contains(header, `"tcdbg_calls"`):
		v.calls += payload
	default:
		v.t.Errorf("%s: %s", header, payload)
	}
}

func grow[T any](to *[]T) *T {
	*to = append(*to, *new(T))
	return &(*to)[len(*to)-1]
}

// until waits for what the records say.
func (v *viewer) until(what string, ok func() bool) {
	v.t.Helper()
	for {
		over := false
		select {
		case <-v.ended:
			over = true
		case <-v.t.Context().Done():
			v.t.Fatalf("never came: %s", what)
		case <-time.After(5 * time.Millisecond):
		}
		if v.read(); ok() {
			return
		}
		if over {
			v.t.Fatalf("the program ended before %s: %s", what, v.out.String())
		}
	}
}

// stop waits for the next stop.
func (v *viewer) stop() *logs.Stop {
	v.t.Helper()
	v.until("a stop", func() bool { return len(v.stops) > v.taken })
	v.taken++
	return &v.stops[v.taken-1]
}

// goOn lets a stopped thread continue.
func (v *viewer) goOn(s *logs.Stop) {
	v.t.Helper()
	v.send(ctl.Command{Verb: ctl.Continue, Process: s.Process, Thread: s.Thread})
}

// step lets a stopped thread make a step, and waits for its stop.
func (v *viewer) step(s *logs.Stop, kind string) *logs.Stop {
	v.t.Helper()
	v.send(ctl.Command{Verb: ctl.Step, Arg: kind, Process: s.Process, Thread: s.Thread})
	return v.stop()
}

// ask evaluates an expression at a stop.
func (v *viewer) ask(s *logs.Stop, expr string, level int) logs.Answer {
	v.t.Helper()
	id := v.send(ctl.Command{Verb: ctl.Evaluate, Arg: expr, Level: level, Process: s.Process, Thread: s.Thread})
	var found logs.Answer
	v.until("an answer", func() bool {
		for _, a := range v.answers {
			if a.Command == id {
				found = a
				return true
			}
		}
		return false
	})
	return found
}

// end waits for the program's end, and gives back what it printed.
func (v *viewer) end(code int) string {
	v.t.Helper()
	select {
	case <-v.ended:
	case <-v.t.Context().Done():
		v.t.Fatal("the program does not end")
	}
	v.read()
	if got := v.cmd.ProcessState.ExitCode(); got != code {
		v.t.Errorf("exit %d, want %d: %s", got, code, v.out.String())
	}
	if v.taken < len(v.stops) {
		v.t.Errorf("it stopped once more: %+v", v.stops[v.taken])
	}
	return v.out.String()
}

// local is a value of a level of the stack.
func local(t *testing.T, s *logs.Stop, level int, name string) logs.Value {
	t.Helper()
	if level >= len(s.Stack) {
		t.Fatalf("the stack has %d levels: %+v", len(s.Stack), s.Stack)
	}
	for _, v := range s.Stack[level].Locals {
		if v.Name == name {
			return v
		}
	}
	t.Errorf("no local %s at level %d: %+v", name, level, s.Stack[level])
	return logs.Value{}
}

// brk sets a breakpoint.
func brk(point int, spec string) ctl.Command {
	return ctl.Command{Verb: ctl.Break, Point: point, Arg: spec}
}
