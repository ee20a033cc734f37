package stop_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tcdbg/logs"
	"tcdbg/logs/ctl"
	"tcdbg/torch"
	"tcdbg/torch/compiler/modes"
	"tcdbg/tracer"
	"tcdbg/tracer/host"
	"tcdbg/tracer/host/journal"
	"tcdbg/tracer/replay"
	"tcdbg/tracer/stop"
)

// This file is a debugging session with a program in the test process: commands go over a
// socket pair, answers are the records of the trace.

type session struct {
	t      *testing.T
	d      *stop.Debugger
	out    *os.File
	id     int
	file   string
	text   string
	stdout lockedBuffer
	stderr lockedBuffer
	exit   chan host.Exit

	mu     sync.Mutex
	more   *sync.Cond
	stops  []logs.Stop
	points []logs.Point
	answer []logs.Answer
	states []logs.State
	seen   int // stops that the test has taken
	over   bool
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// Emit keeps the records of stops.
func (s *session) Emit(o logs.Out) {
	meta, ok := o.Meta.(map[string]string)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch meta["name"] {
	case "tcdbg_stop":
		s.stops = append(s.stops, decode[logs.Stop](o))
	case "tcdbg_point":
		s.points = append(s.points, decode[logs.Point](o))
	case "tcdbg_answer":
		s.answer = append(s.answer, decode[logs.Answer](o))
	case "tcdbg_state":
		s.states = append(s.states, decode[logs.State](o))
	default:
		return
	}
	s.more.Broadcast()
}

func (s *session) Stack(f []logs.Frame) any { return f }

func decode[T any](o logs.Out) T {
	var body struct{ Data T }
	if err := json.Unmarshal(o.Payload, &body); err != nil {
		panic(err)
	}
	return body.Data
}

// complete adds package clause and imports to the text of a program.
func complete(body string) string {
	var sb strings.Builder
	sb.WriteString("package main; import (")
	for _, p := range []string{
		"errors", "fmt", "math", "os", "sort", "strings", "sync", "time", "tcdbg/torch", "tcdbg/torch/compiler",
		"tcdbg/torch/kw", "tcdbg/torch/nn",
	} {
		if strings.Contains(body, path.Base(p)+".") {
			fmt.Fprintf(&sb, "%q;", p)
		}
	}
	return sb.String() + ")" + body
}

// load begins a session with a program that waits before its first line. The text's first
// line is line 1 of the file.
func load(t *testing.T, body string) *session {
	t.Helper()
	file := filepath.Join(t.TempDir(), "model.go")
	text := complete(body)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, file)
	s.text = text
	return s
}

func open(t *testing.T, files ...string) *session {
	t.Helper()
	return openWith(t, nil, files...)
}

// openWith is open of a run that is kept, where tape is set.
func openWith(t *testing.T, tape *journal.Tape, files ...string) *session {
	t.Helper()
	prog, err := host.Load(host.LoadConfig{Paths: files, Source: os.DirFS("../../")})
	if err != nil {
		t.Fatal(err)
	}
	s := &session{t: t, file: files[0], exit: make(chan host.Exit, 1)}
	s.more = sync.NewCond(&s.mu)
	s.d = stop.New(stop.Config{Prog: prog, Sink: s, PID: 7, Paused: true, Operator: tracer.IsOperator, Journal: tape})
	cfg := host.Config{Journal: tape, Stdout: &s.stdout, Stderr: &s.stderr, Args: []string{"model"}}
	s.d.Install(&cfg)
	tr := tracer.New(prog, tracer.Config{Sink: s, Stops: s.d, Backend: func(name string) (tracer.Backend, error) {
		return backend, modes.CheckBackend(name)
	}})
	tr.Install(&cfg)
	in := host.New(prog, cfg)
	tr.Attach(in)
	s.d.Attach(in)
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	theirs := os.NewFile(uintptr(fds[1]), "engine")
	s.out = os.NewFile(uintptr(fds[0]), "viewer")
	go func() { _ = ctl.Receive(theirs, s.d.Command) }()
	torch.ManualSeed(1)
	go func() {
		s.d.Start()
		e := in.Run()
		s.exit <- e
		s.mu.Lock()
		defer s.mu.Unlock()
		s.over = true
		s.more.Broadcast()
	}()
	t.Cleanup(func() {
		s.d.Command(ctl.Command{Verb: ctl.Leave})
		s.out.Close()
		theirs.Close()
	})
	if first := s.next(); first.Kind != logs.StopStart {
		t.Fatalf("the first stop is %+v", first)
	}
	return s
}

// backend is that of the programs.
var backend tracer.Backend = eager{}

// eager interprets the captured graph.
type eager struct{}

func (eager) Name() string { return "eager" }

func (eager) Compile(r *tracer.Request) (replay.Runnable, error) { return r.Module.Run, nil }

// send sends a command and returns its id.
func (s *session) send(v ctl.Verb, arg string) int {
	s.id++
	if err := ctl.Send(s.out, ctl.Command{ID: s.id, Verb: v, Arg: arg, Point: map[bool]int{true: s.id}[v == ctl.Break]}); err != nil {
		s.t.Fatal(err)
	}
	return s.id
}

const patience = 20 * time.Second

// wait returns what get finds in the records, once it finds it.
func wait[T any](s *session, what string, get func() (T, bool)) T {
	s.t.Helper()
	late := time.AfterFunc(patience, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.more.Broadcast()
	})
	defer late.Stop()
	begin := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if v, ok := get(); ok {
			return v
		}
		if time.Since(begin) > patience {
			s.t.Fatalf("no %s; stdout %q, stderr %q", what, s.stdout.String(), s.stderr.String())
		}
		s.more.Wait()
	}
}

// next is the next stop.
func (s *session) next() logs.Stop {
	s.t.Helper()
	return wait(s, "further stop", func() (logs.Stop, bool) {
		if len(s.stops) <= s.seen {
			return logs.Stop{}, false
		}
		s.seen++
		return s.stops[s.seen-1], true
	})
}

// nextOrEnd is the next stop, unless the program ends before it.
func (s *session) nextOrEnd() (st logs.Stop, ok bool) {
	s.t.Helper()
	st = wait(s, "further stop", func() (logs.Stop, bool) {
		if len(s.stops) > s.seen {
			s.seen++
			ok = true
			return s.stops[s.seen-1], true
		}
		return logs.Stop{}, s.over
	})
	return st, ok
}

// point sets a breakpoint and returns the engine's answer.
func (s *session) point(spec string) logs.Point {
	s.t.Helper()
	id := s.send(ctl.Break, spec)
	return wait(s, "answer to "+spec, func() (logs.Point, bool) {
		for _, p := range s.points {
			if p.Command == id {
				return p, true
			}
		}
		return logs.Point{}, false
	})
}

// at is a line of the program that contains a text, as a breakpoint says it.
func (s *session) at(part string) string { return fmt.Sprintf("model.go:%d", s.line(part)) }

func (s *session) line(part string) int {
	s.t.Helper()
	for i, l := range strings.Split(s.text, "\n") {
		if strings.Contains(l, part) {
			return i + 1
		}
	}
	s.t.Fatalf("no line has %q", part)
	return 0
}

// run sets breakpoints and lets the program go on to the next stop.
func (s *session) run(specs ...string) logs.Stop {
	s.t.Helper()
	for _, spec := range specs {
		if p := s.point(spec); p.Error != "" {
			s.t.Fatalf("%s: %s", spec, p.Error)
		}
	}
	s.send(ctl.Continue, "")
	return s.next()
}

// step does one step.
func (s *session) step(kind string) logs.Stop {
	s.t.Helper()
	s.send(ctl.Step, kind)
	return s.next()
}

// eval evaluates an expression: its text, or "error: ...".
func (s *session) eval(expr string, level int) string {
	s.t.Helper()
	a := s.value(expr, level)
	if a.Error != "" {
		return "error: " + a.Error
	}
	return a.Value.Text
}

func (s *session) value(expr string, level int) logs.Answer {
	s.t.Helper()
	s.id++
	id := s.id
	if err := ctl.Send(s.out, ctl.Command{ID: id, Verb: ctl.Evaluate, Arg: expr, Level: level}); err != nil {
		s.t.Fatal(err)
	}
	return wait(s, "answer to "+expr, func() (logs.Answer, bool) {
		for _, a := range s.answer {
			if a.Command == id {
				return a, true
			}
		}
		return logs.Answer{}, false
	})
}

// finish clears everything and lets the program end.
func (s *session) finish() host.Exit {
	s.t.Helper()
	s.send(ctl.Leave, "")
	return s.ended()
}

func (s *session) ended() host.Exit {
	s.t.Helper()
	select {
	case e := <-s.exit:
		return e
	case <-time.After(patience):
		s.t.Fatalf("the program does not end; stdout %q, stderr %q", s.stdout.String(), s.stderr.String())
	}
	return host.Exit{}
}

// local is a variable of a level of a stop.
func local(t *testing.T, s logs.Stop, level int, name string) logs.Value {
	t.Helper()
	for _, v := range s.Stack[level].Locals {
		if v.Name == name {
			return v
		}
	}
	t.Fatalf("no variable %s at level %d: %+v", name, level, s.Stack)
	return logs.Value{}
}

// item is an item of a value by name.
func item(t *testing.T, v logs.Value, names ...string) logs.Value {
	t.Helper()
next:
	for _, name := range names {
		for _, i := range v.Items {
			if i.Name == name {
				v = i
				continue next
			}
		}
		t.Fatalf("no item %s in %+v", name, v)
	}
	return v
}
