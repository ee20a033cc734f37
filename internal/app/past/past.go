// Package past starts the process that runs a program again, for going back.
//
// It knows how the two processes talk: commands go over the control channel that every
// engine has, messages come back over a pipe, one JSON value each.
package past

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"

	"tcdbg/logs/ctl"
	"tcdbg/tracer/stop"
)

// MessageFD is the second process's end of the pipe.
const MessageFD = 4

// Config is how a second process is started.
type Config struct {
	Command []string // the program's own file and its arguments
	Control func() (ours, theirs *os.File, err error)
	Scratch string // folder in which each gets one of its own; "": that for temporary files
	// Task is what it is told first, in JSON, for a folder for what the program writes.
	Task func(a *stop.Again, scratch string) any
}

// Starter remembers the folder and the environment of this process, before the program can
// change them.
func Starter(c Config) stop.Starter {
	dir, _ := os.Getwd()
	env := os.Environ()
	return func(a *stop.Again, said func(stop.Message), ended func()) (stop.Second, error) {
		return start(&c, dir, env, a, said, ended)
	}
}

// second is a process that runs a program again.
type second struct {
	cmd     *exec.Cmd
	control *os.File
	scratch string
	once    sync.Once
}

func start(c *Config, dir string, env []string, a *stop.Again, said func(stop.Message), ended func()) (*second, error) {
	scratch, err := os.MkdirTemp(c.Scratch, "again-")
	if err != nil {
		return nil, err
	}
	s := &second{scratch: scratch}
	messages, err := s.start(c, dir, env)
	if err != nil {
		_ = os.RemoveAll(scratch)
		return nil, err
	}
	go s.serve(messages, c.Task(a, scratch), said, ended)
	return s, nil
}

func (s *second) start(c *Config, dir string, env []string) (*os.File, error) {
	ours, theirs, err := c.Control()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	in, out, err := os.Pipe()
	if err != nil {
		ours.Close()
		return nil, err
	}
	defer out.Close()
	s.cmd = exec.Command(c.Command[0], c.Command[1:]...)
	s.cmd.Dir, s.cmd.Env = dir, env // no standard streams: what it prints was printed
	s.cmd.ExtraFiles = []*os.File{theirs, out}
	if err := s.cmd.Start(); err != nil {
		ours.Close()
		in.Close()
		return nil, fmt.Errorf("cannot start the engine: %w", err)
	}
	s.control = ours
	return in, nil
}

// serve sends the task and reads messages until the process has ended.
func (s *second) serve(messages *os.File, task any, said func(stop.Message), ended func()) {
	err := json.NewEncoder(s.control).Encode(task)
	in := json.NewDecoder(bufio.NewReader(messages))
	for err == nil {
		var m stop.Message
		if err = in.Decode(&m); err == nil {
			said(m)
		}
	}
	_ = messages.Close()
	_ = s.cmd.Wait() // how it ends says nothing: it is killed when it is not needed
	ended()
	_ = os.RemoveAll(s.scratch)
}

// Send gives it a command.
func (s *second) Send(c ctl.Command) error { return ctl.Send(s.control, c) }

// Close ends it.
func (s *second) Close() {
	s.once.Do(func() {
		_ = s.cmd.Process.Kill()
		_ = s.control.Close()
	})
}

// Say returns what writes messages to the first process.
func Say(w io.Writer) func(stop.Message) {
	var mu sync.Mutex
	out := json.NewEncoder(w)
	return func(m stop.Message) {
		mu.Lock()
		defer mu.Unlock()
		if err := out.Encode(m); errors.Is(err, os.ErrClosed) {
			os.Exit(1) // nobody listens any more
		}
	}
}
