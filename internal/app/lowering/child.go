package lowering

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"tcdbg/backends"
	"tcdbg/logs"
	"tcdbg/logs/fx"
	"tcdbg/torch/export"
)

// This file is the process that lowers a graph, and how it is asked.

// Command is the hidden subcommand under which our own binary is that process.
const Command = "lowering"

// What such a process may take.
const (
	maxMemory = 4 << 30
	maxTime   = 60 * time.Second
	maxTask   = 256 << 20 // bytes of a task or an answer
)

// Answer is what the process says.
type Answer struct {
	Error   string
	Missing map[string]int // operators without one of ours, with their calls
	Lowered logs.Lowered
	Trace   []byte // of the compile
}

// ChildMain is `tcdbg lowering`: a task on standard input, an answer on standard output.
func ChildMain(in io.Reader, out io.Writer) int {
	limit := syscall.Rlimit{Cur: maxMemory, Max: maxMemory}
	_ = syscall.Setrlimit(syscall.RLIMIT_DATA, &limit) // where there is none, time bounds it
	var t Task
	if err := json.NewDecoder(io.LimitReader(in, maxTask)).Decode(&t); err != nil {
		return 1
	}
	if json.NewEncoder(out).Encode(answer(&t)) != nil {
		return 1
	}
	return 0
}

func answer(t *Task) *Answer {
	var trace bytes.Buffer
	w := logs.NewWriter(&trace, logs.WriterOptions{})
	w.Emit(logs.Artifact(logs.NoCompile, logs.RunInfo{Tcdbg: t.Tcdbg, Program: t.Trace + " " + t.Of}))
	g := fx.Parse(t.Text)
	done, err := backends.LowerText(&backends.TextRequest{Graph: g, Name: t.Name, Hints: t.Hints, ID: t.ID, Log: w})
	if missing := new(export.Missing); errors.As(err, &missing) {
		return &Answer{Error: err.Error(), Missing: missing.Counts}
	}
	if err != nil {
		return &Answer{Error: err.Error()}
	}
	a := &Answer{Lowered: compare(t, g, done)}
	w.Emit(logs.Artifact(t.ID, a.Lowered))
	w.Emit(logs.Artifact(logs.NoCompile, logs.State{State: "exited"}))
	if err := w.Close(); err != nil {
		return &Answer{Error: err.Error()}
	}
	a.Trace = trace.Bytes()
	return a
}

// Refused is the error of a graph that is not lowered.
type Refused struct {
	Of      string
	Text    string
	Missing map[string]int
}

func (e *Refused) Error() string { return e.Of + " is not lowered: " + e.Text }

// Run lowers a graph in a process of its own.
func Run(ctx context.Context, t *Task) (*Answer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("cannot find the program's own file: %w", err)
	}
	text, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	if len(text) > maxTask {
		return nil, &Refused{Of: t.Of, Text: fmt.Sprintf("its text has %d MB", len(text)>>20)}
	}
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, Command)
	var out, errs limited
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text), &out, &errs
	err = cmd.Run()
	switch {
	case ctx.Err() != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, &Refused{Of: t.Of, Text: fmt.Sprintf("it took more than %s", maxTime)}
	case err != nil:
		return nil, &Refused{Of: t.Of, Text: died(err, errs.String())}
	}
	var a Answer
	if err := json.Unmarshal(out.Bytes(), &a); err != nil {
		return nil, &Refused{Of: t.Of, Text: "the process that lowers it gave no answer"}
	}
	if a.Error != "" {
		return nil, &Refused{Of: t.Of, Text: a.Error, Missing: a.Missing}
	}
	return &a, nil
}

// died says how the process ended without an answer.
func died(err error, text string) string {
	if bytes.Contains([]byte(text), []byte("out of memory")) || bytes.Contains([]byte(text), []byte("cannot allocate memory")) {
		return fmt.Sprintf("it took more than %d GB of memory", maxMemory>>30)
	}
	return "the process that lowers it ended without an answer: " + err.Error()
}

// limited is a buffer that takes so much.
type limited struct{ bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > maxTask {
		return 0, errors.New("too much output")
	}
	return l.Buffer.Write(p)
}
