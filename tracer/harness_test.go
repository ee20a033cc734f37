package tracer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"tcdbg/logs"
	"tcdbg/torch"
	"tcdbg/torch/compiler/modes"
	"tcdbg/tracer/eval"
	"tcdbg/tracer/host"
	"tcdbg/tracer/replay"
)

// This file runs programs in the test process: plainly in the host, and under
// the tracer with the graph interpreter as backend.

// memorySink keeps what the tracer writes.
type memorySink struct {
	mu  sync.Mutex
	out []logs.Out
}

func (s *memorySink) Emit(o logs.Out) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out = append(s.out, o)
}

func (s *memorySink) Stack(f []logs.Frame) any { return f }

// artifacts decodes the structured records of one kind.
func artifacts[T logs.Versioned](s *memorySink) []T {
	var zero T
	name, _ := zero.ArtifactName()
	var out []T
	for _, o := range s.out {
		meta, ok := o.Meta.(map[string]string)
		if !ok || meta["name"] != name {
			continue
		}
		var body struct{ Data T }
		if err := json.Unmarshal(o.Payload, &body); err != nil {
			panic(err)
		}
		out = append(out, body.Data)
	}
	return out
}

// eager is the backend of these tests: it checks the graph and interprets it.
type eager struct{ t *testing.T }

func (eager) Name() string { return "eager" }

func (e eager) Compile(r *Request) (replay.Runnable, error) {
	if err := r.Module.G.Check(); err != nil {
		e.t.Errorf("captured graph: %v\n%s", err, r.Module.Code())
	}
	return r.Module.Run, nil
}

// outcome is one run of a program.
type outcome struct {
	stdout, stderr string
	exit           host.Exit
	log            *memorySink
}

func (o *outcome) graphs() []logs.GraphCode { return artifacts[logs.GraphCode](o.log) }

func (o *outcome) breaks() []logs.Break { return artifacts[logs.Break](o.log) }

func (o *outcome) recompiles() []logs.GuardMiss { return artifacts[logs.GuardMiss](o.log) }

// ops are the operators of each graph: "sin cos | mul".
func (o *outcome) ops() string {
	var parts []string
	for _, g := range o.graphs() {
		parts = append(parts, strings.Join(g.Ops, " "))
	}
	return strings.Join(parts, " | ")
}

// codes are the break codes in order.
func (o *outcome) codes() string {
	var parts []string
	for _, b := range o.breaks() {
		parts = append(parts, b.Code)
	}
	return strings.Join(parts, " ")
}

// program completes the text of a program: package clause and the imports that
// it uses.
func program(body string) string {
	var sb strings.Builder
	sb.WriteString("package main\n\nimport (\n\t\"tcdbg/torch\"\n")
	for _, p := range []string{
		"errors", "fmt", "log", "math", "os", "slices", "strings", "tcdbg/torch/autograd", "tcdbg/torch/compiler",
		"tcdbg/torch/kw", "tcdbg/torch/nn", "tcdbg/torch/nn/functional", "tcdbg/torch/optim",
	} {
		if regexp.MustCompile(`\b` + path.Base(p) + `\.`).MatchString(body) {
			fmt.Fprintf(&sb, "\t%q\n", p)
		}
	}
	return sb.String() + ")\n" + body
}

// sourcePackages is the part of the tree that the host interprets.
type sourcePackages struct{ fs.FS }

func (s sourcePackages) Open(name string) (fs.File, error) {
	for _, p := range []string{"torch/nn", "torch/autograd", "torch/optim", "torch/models", "torch/data"} {
		if name == p || strings.HasPrefix(name, p+"/") {
			return s.FS.Open(name)
		}
	}
	return nil, fs.ErrNotExist
}

// load reads the text of a program (without package clause and imports).
func load(t *testing.T, body string) (*host.Program, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "model.go")
	if err := os.WriteFile(file, []byte(program(body)), 0o600); err != nil {
		t.Fatal(err)
	}
	return host.Load(host.LoadConfig{Paths: []string{file}, Source: sourcePackages{os.DirFS("../")}})
}

// runProgram runs the text of a program.
func runProgram(t *testing.T, body string, compiled bool) *outcome {
	t.Helper()
	prog, err := load(t, body)
	if err != nil {
		t.Fatal(err)
	}
	if compiled {
		return runLoaded(prog, eager{t})
	}
	return runLoaded(prog, nil)
}

// runLoaded runs a program plainly, or compiled where a backend is given.
func runLoaded(prog *host.Program, backend Backend) *outcome {
	return runStepped(prog, backend, eval.StepNone)
}

// runStepped is runLoaded with a single-step log.
func runStepped(prog *host.Program, backend Backend, steps eval.StepLog) *outcome {
	var out, errs bytes.Buffer
	o := &outcome{log: &memorySink{}}
	cfg := host.Config{Stdout: &out, Stderr: &errs, Args: []string{"model"}}
	var tr *Tracer
	if backend != nil {
		tr = New(prog, Config{Sink: o.log, Steps: steps, Calls: true, RecordSteps: true, Bytecode: true, Backend: func(name string) (
			Backend, error,
		) {
			return backend, modes.CheckBackend(name)
		}})
		tr.Install(&cfg)
	}
	in := host.New(prog, cfg)
	if tr != nil {
		tr.Attach(in)
		torch.ExportBy(tr.exportFunction)
		defer torch.ExportBy(nil)
	}
	torch.ManualSeed(1)
	o.exit = in.Run()
	if tr != nil {
		tr.writeTotals(true)
	}
	o.stdout, o.stderr = out.String(), errs.String()
	return o
}

// both runs a program plainly and compiled, compares what it prints and how it
// ends, and returns the compiled run.
func both(t *testing.T, body string) *outcome {
	t.Helper()
	want := runProgram(t, body, false)
	got := runProgram(t, body, true)
	if got.stdout != want.stdout || got.exit.Code != want.exit.Code {
		t.Errorf("compiled run differs\n--- plain (exit %d)\n%s%s\n--- compiled (exit %d)\n%s%s", want.exit.Code, want.stdout,
			want.stderr, got.exit.Code, got.stdout, got.stderr)
	}
	return got
}
