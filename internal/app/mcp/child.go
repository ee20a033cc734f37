package mcp

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// This file runs a command line of tcdbg as a process of its own, whose output is not mixed
// with the protocol's.

// keptOutput is how much of the end of what a process prints is kept.
const keptOutput = 256 << 10

// tail keeps the end of what is written.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if over := len(t.text) - keptOutput; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(b), nil
}

// Command runs tcdbg with arguments. When ctx ends it is asked to stop, and then made to.
func Command(ctx context.Context, args ...string) (*Ran, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	out := &tail{}
	c := exec.CommandContext(ctx, self, args...)
	c.Stdout, c.Stderr = out, out // stdin: nothing
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = 10 * time.Second
	err = c.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) && ctx.Err() == nil {
		return nil, err
	}
	text := string(out.text)
	if ctx.Err() != nil {
		text += "\ntcdbg: it was ended: its time was over"
	}
	return &Ran{Code: c.ProcessState.ExitCode(), Output: text}, nil
}
