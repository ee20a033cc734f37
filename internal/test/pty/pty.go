//go:build linux

// Package pty runs a program on a pseudo-terminal and is the person and the terminal at
// its other end: it types, answers what the program asks, changes the size, and sees each
// byte that the program writes and the settings that it leaves.
//
// It imports nothing of ours. Open pty.go.
package pty

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Terminal is a pseudo-terminal with a program on it.
type Terminal struct {
	Cmd *exec.Cmd

	t      *testing.T
	master *os.File
	slave  *os.File // kept open, so that the settings can be read after the program's end
	answer bool

	mu     sync.Mutex
	hungUp bool
	out    bytes.Buffer
	exited chan struct{}
	err    error
}

// Settings are what stty shows.
type Settings = unix.Termios

// Option changes a terminal before its program starts.
type Option func(*Terminal)

// Answering makes the terminal answer queries, as most real ones do.
func Answering(tt *Terminal) { tt.answer = true }

// Raw switches off all that the line discipline does to bytes in either direction, so that
// what the test reads is what the program wrote.
func Raw(tt *Terminal) {
	s := tt.Settings()
	s.Iflag, s.Oflag, s.Lflag = 0, 0, 0
	tt.Set(s)
}

// Uncooked leaves the line discipline as it is for input and switches off what it does to
// output (a newline stays one byte) and echo.
func Uncooked(tt *Terminal) {
	s := tt.Settings()
	s.Oflag &^= unix.OPOST
	s.Lflag &^= unix.ECHO
	tt.Set(s)
}

// Typed puts text into the terminal before the program starts.
func Typed(text string) Option {
	return func(tt *Terminal) { tt.Type(text) }
}

// Size sets the terminal's size before the program starts.
func Size(cols, rows int) Option {
	return func(tt *Terminal) { tt.Resize(cols, rows) }
}

// Start runs cmd as the foreground session of a new terminal, with its standard error there
// as well unless the caller keeps it.
func Start(t *testing.T, cmd *exec.Cmd, opts ...Option) *Terminal {
	t.Helper()
	master, slave := open(t)
	tt := &Terminal{t: t, Cmd: cmd, master: master, slave: slave, exited: make(chan struct{})}
	tt.Resize(80, 24)
	for _, o := range opts {
		o(tt)
	}
	cmd.Stdin, cmd.Stdout = slave, slave
	if cmd.Stderr == nil {
		cmd.Stderr = slave
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go tt.read()
	go func() {
		tt.err = cmd.Wait()
		close(tt.exited)
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // gone already in a test that passes
		<-tt.exited
		slave.Close()
		master.Close()
	})
	return tt
}

// open makes a pseudo-terminal.
func open(t *testing.T) (master, slave *os.File) {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	master = os.NewFile(uintptr(fd), "/dev/ptmx")
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return master, slave
}

// read keeps what the program writes until the terminal is closed.
func (tt *Terminal) read() {
	buf := make([]byte, 1<<16)
	for {
		n, err := tt.master.Read(buf)
		tt.mu.Lock()
		tt.out.Write(buf[:n])
		tt.mu.Unlock()
		if tt.answer {
			tt.reply(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

// answers are the queries that a terminal answers.
var answers = []struct{ query, reply string }{
	{"\x1b]11;?", "\x1b]11;rgb:0000/0000/0000\x1b\\"},
	{"\x1b]10;?", "\x1b]10;rgb:ffff/ffff/ffff\x1b\\"},
	{"\x1b[6n", "\x1b[1;1R"},
	{"\x1b[c", "\x1b[?62c"},
}

func (tt *Terminal) reply(out []byte) {
	for _, a := range answers {
		if bytes.Contains(out, []byte(a.query)) {
			tt.Type(a.reply)
		}
	}
}

// Type types text.
func (tt *Terminal) Type(text string) {
	tt.t.Helper()
	if _, err := tt.master.WriteString(text); err != nil {
		tt.t.Error(err)
	}
}

// Resize changes the size of the terminal.
func (tt *Terminal) Resize(cols, rows int) {
	tt.t.Helper()
	size := &unix.Winsize{Col: uint16(cols), Row: uint16(rows)}
	if err := unix.IoctlSetWinsize(int(tt.slave.Fd()), unix.TIOCSWINSZ, size); err != nil {
		tt.t.Fatal(err)
	}
}

// Foreground is the process group that the terminal's keys reach.
func (tt *Terminal) Foreground() int {
	tt.t.Helper()
	group, err := unix.IoctlGetInt(int(tt.master.Fd()), unix.TIOCGPGRP)
	if err != nil {
		tt.t.Fatal(err)
	}
	return group
}

// Settings are the terminal's settings now.
func (tt *Terminal) Settings() Settings {
	tt.t.Helper()
	s, err := unix.IoctlGetTermios(int(tt.slave.Fd()), unix.TCGETS)
	if err != nil {
		tt.t.Fatal(err)
	}
	return *s
}

// Set changes the terminal's settings.
func (tt *Terminal) Set(s Settings) {
	tt.t.Helper()
	if err := unix.IoctlSetTermios(int(tt.slave.Fd()), unix.TCSETS, &s); err != nil {
		tt.t.Fatal(err)
	}
}

// Written is what the program has written.
func (tt *Terminal) Written() string {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	return tt.out.String()
}

// Wait waits until ok holds of what the program has written since it had written from bytes.
func (tt *Terminal) Wait(within time.Duration, what string, from int, ok func(string) bool) {
	tt.t.Helper()
	for end := time.Now().Add(within); ; {
		if ok(tt.Written()[from:]) {
			return
		}
		if time.Now().After(end) {
			tt.t.Fatalf("no %s within %v; the terminal got %q", what, within, tail(tt.Written()[from:]))
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func tail(s string) string {
	const most = 3000
	if len(s) > most {
		return "..." + s[len(s)-most:]
	}
	return s
}

// HangUp closes the terminal, as the end of a terminal program or of a connection does.
func (tt *Terminal) HangUp() {
	tt.mu.Lock()
	tt.hungUp = true
	tt.mu.Unlock()
	tt.master.Close()
}

// End waits for the end of the program and of what it wrote, and returns its exit code (of
// a signal: 128 and its number).
func (tt *Terminal) End(within time.Duration) int {
	tt.t.Helper()
	select {
	case <-tt.exited:
	case <-time.After(within):
		tt.t.Fatalf("the program has not ended within %v; the terminal got %q", within, tail(tt.Written()))
	}
	tt.mu.Lock()
	open := !tt.hungUp
	tt.mu.Unlock()
	if open {
		tt.drain()
	}
	ws := tt.Cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return ws.ExitStatus()
}

// Unread takes what was typed in whole lines (in a raw terminal: all) and nobody has read.
func (tt *Terminal) Unread() string {
	tt.t.Helper()
	var all []byte
	for fd := int(tt.slave.Fd()); ; {
		ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		if n, err := unix.Poll(ready, 0); n == 0 || err != nil {
			return string(all)
		}
		b := make([]byte, 4096)
		n, err := unix.Read(fd, b)
		if n <= 0 || err != nil {
			return string(all)
		}
		all = append(all, b[:n]...)
	}
}

// mark is what drain writes after a program's end.
const mark = "\x00drained\x00"

// drain waits until what the program wrote has been read: a mark of our own comes after
// it. A Ctrl-C that was typed late takes the mark with it, as it takes all output that
// waits; then there is another.
func (tt *Terminal) drain() {
	tt.t.Helper()
	for range 50 {
		if _, err := tt.slave.WriteString(mark); err != nil {
			tt.t.Fatal(err)
		}
		for end := time.Now().Add(200 * time.Millisecond); time.Now().Before(end); time.Sleep(time.Millisecond) {
			if strings.HasSuffix(tt.Written(), mark) {
				tt.mu.Lock()
				kept := strings.ReplaceAll(tt.out.String(), mark, "")
				tt.out.Reset()
				tt.out.WriteString(kept)
				tt.mu.Unlock()
				return
			}
		}
	}
	tt.t.Fatalf("the terminal's output has no end: %q", tail(tt.Written()))
}
