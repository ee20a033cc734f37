package app

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"tcdbg/internal/pyhook"
	"tcdbg/logs/ctl"
)

// This file is the viewer's end of the channels to a Python program under exec
// --pause: a unix socket in a folder of the user's alone, to which each process of
// the program connects (internal/pyhook has the other end).

// pauser listens for the processes of one program and keeps what they are to be told when
// they connect: the breakpoints and watches that are set.
type pauser struct {
	dir      string // of the socket
	listener net.Listener

	mu       sync.Mutex
	conns    []*pausable
	standing []ctl.Command
	started  bool // somebody said to go on: later processes do not stop before their first line
	closed   bool
}

// pausable is one process that is connected.
type pausable struct {
	conn net.Conn
	pid  int
}

// hello is what a process says first.
type hello struct {
	PID  int      `json:"pid"`
	Rank *int     `json:"rank"`
	Argv []string `json:"argv"`
}

// longestSocket is how long the name of a unix socket may be on every system.
const longestSocket = 100

// newPauser starts to listen for a program, and gives back its environment. The commands are
// those that stood in the run before.
func newPauser(env []string, standing []ctl.Command) (*pauser, []string, error) {
	p := &pauser{standing: standing}
	var err error
	if p.dir, err = socketFolder(); err == nil {
		p.listener, err = net.Listen("unix", p.socket())
	}
	if err != nil {
		p.close()
		return nil, nil, failf(ExitEngine, "cannot listen for the program: %v", err)
	}
	go p.accept()
	return p, append(env, pyhook.PauseVar+"="+p.socket()), nil
}

// socketFolder is a new folder of mode 0700 whose name is short enough for a socket.
func socketFolder() (string, error) {
	sweepSockets(os.TempDir())
	dir, err := os.MkdirTemp("", "tcdbg-")
	if err != nil || len(dir)+2 <= longestSocket {
		return dir, err
	}
	_ = os.Remove(dir) // it is empty
	return os.MkdirTemp("/tmp", "tcdbg-")
}

// sweepSockets removes the folders of viewers that were killed: ours, with a socket alone in
// each, on which nobody listens.
func sweepSockets(dir string) {
	found, _ := filepath.Glob(filepath.Join(dir, "tcdbg-*"))
	for _, folder := range found {
		st, err := os.Lstat(folder)
		if err != nil || !st.IsDir() || st.Mode().Perm() != 0o700 {
			continue
		}
		if sys, ok := st.Sys().(*syscall.Stat_t); !ok || int(sys.Uid) != os.Getuid() {
			continue
		}
		entries, err := os.ReadDir(folder)
		if err != nil || len(entries) != 1 || entries[0].Name() != socketName || entries[0].Type() != os.ModeSocket {
			continue
		}
		socket := filepath.Join(folder, socketName)
		conn, err := net.Dial("unix", socket)
		if err == nil {
			_ = conn.Close()
			continue
		}
		if errors.Is(err, syscall.ECONNREFUSED) && os.Remove(socket) == nil {
			_ = os.Remove(folder)
		}
	}
}

// socketName is that of the socket in its folder.
const socketName = "s"

func (p *pauser) socket() string { return filepath.Join(p.dir, socketName) }

func (p *pauser) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.serve(conn)
	}
}

// serve greets a process with what stands, and waits for its end.
func (p *pauser) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	in := bufio.NewReader(conn)
	_ = conn.SetReadDeadline(time.Now().Add(patience)) // it says hello at once or is none of ours
	line, err := in.ReadSlice('\n')
	var h hello
	if err != nil || json.Unmarshal(line, &h) != nil {
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	c := &pausable{conn, h.PID}
	if !p.greet(c) {
		return
	}
	_, _ = in.ReadByte() // it says no more
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns = slices.DeleteFunc(p.conns, func(o *pausable) bool { return o == c })
}

func (p *pauser) greet(c *pausable) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := slices.Clone(p.standing)
	if !p.started {
		first = append(first, ctl.Command{Verb: ctl.Start})
	}
	for _, command := range append(first, ctl.Command{Verb: ctl.Ready}) {
		if c.send(command) != nil {
			return false
		}
	}
	if p.closed {
		return false
	}
	p.conns = append(p.conns, c)
	return true
}

func (c *pausable) send(command ctl.Command) error {
	_ = c.conn.SetWriteDeadline(time.Now().Add(patience)) // a process that is suspended reads nothing
	return ctl.Send(c.conn, command)
}

// send gives a command to the processes that it is for.
func (p *pauser) send(command ctl.Command) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keep(command)
	sent, ended := 0, 0
	var errs []error
	for _, c := range p.conns {
		if command.Process != 0 && command.Process != c.pid {
			continue
		}
		err := c.send(command)
		if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
			ended++ // just now: serve is about to see it
			continue
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: process %d does not listen: %w", command.Verb, c.pid, err))
			continue
		}
		sent++
	}
	if sent > 0 || len(errs) > 0 {
		return errors.Join(errs...)
	}
	switch command.Verb {
	case ctl.Break, ctl.Clear, ctl.Watch, ctl.Unwatch, ctl.Leave:
		return nil // it is told to the processes that come
	}
	if command.Process != 0 {
		return fmt.Errorf("%s: process %d has ended", command.Verb, command.Process)
	}
	if ended > 0 {
		return fmt.Errorf("%s: no Python process listens any more", command.Verb)
	}
	return fmt.Errorf("%s: no Python process listens: none has started yet, or it was started with -I, -E or -S", command.Verb)
}

// keep notes what later processes have to know. The caller holds p.mu.
func (p *pauser) keep(command ctl.Command) {
	gone := func(verb ctl.Verb, same func(ctl.Command) bool) {
		p.standing = slices.DeleteFunc(slices.Clone(p.standing), func(s ctl.Command) bool { return s.Verb == verb && same(s) })
	}
	switch command.Verb {
	case ctl.Break:
		gone(ctl.Break, func(s ctl.Command) bool { return s.Point == command.Point })
		p.standing = append(p.standing, told(command))
	case ctl.Clear:
		gone(ctl.Break, func(s ctl.Command) bool {
			return command.Point != 0 && s.Point == command.Point || command.Point == 0 && s.Arg == command.Arg
		})
	case ctl.Watch:
		gone(ctl.Watch, func(s ctl.Command) bool { return s.Arg == command.Arg })
		p.standing = append(p.standing, told(command))
	case ctl.Unwatch:
		gone(ctl.Watch, func(s ctl.Command) bool { return s.Arg == command.Arg })
	case ctl.Continue, ctl.Step:
		p.started = true
	case ctl.Leave:
		p.started, p.standing = true, nil
	}
}

// told is a command as a process gets it that was not there when it was given.
func told(c ctl.Command) ctl.Command {
	c.ID, c.Process, c.Thread = 0, 0, ""
	return c
}

// commands are those that stand, for the next run.
func (p *pauser) commands() []ctl.Command {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.standing)
}

// close ends the channels, which lets what stands still run on.
func (p *pauser) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.closed = true
	if p.listener != nil {
		_ = p.listener.Close()
	}
	for _, c := range p.conns {
		_ = c.conn.Close()
	}
	if p.dir != "" {
		_ = os.RemoveAll(p.dir)
	}
}
