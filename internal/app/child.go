package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"

	"tcdbg/logs/ctl"
	"tcdbg/logs/printable"
)

// This file is the process model: the viewer starts the engine (the same
// binary) or a foreign program as its child, and says how it ended.

// controlFD is the engine's end of the control channel.
const controlFD = 3

// child is a started engine or foreign program.
type child struct {
	cmd     *exec.Cmd
	control *os.File // viewer's end; nil for a foreign program
	pauser  *pauser  // of a Python program that can be paused; nil: it cannot
	run     *Run
	group   int     // its process group; 0: ours
	leader  *leader // of that group, for a foreign program
	nextID  atomic.Int64
}

// ending is how a child ended.
type ending struct {
	State  State
	Code   int    // exit code for our caller
	Signal string // name
	Crash  string // one line, "" for an ordinary end
}

// startEngine starts the engine on a run folder with the given standard
// streams. A process group of its own keeps the keys of a terminal in raw
// mode from reaching it; without the screens it stays in ours.
func startEngine(r *Run, stdin, stdout, stderr *os.File, group bool) (*child, error) {
	return startEngineIn(r, "", nil, stdin, stdout, stderr, group)
}

// startEngineIn starts the engine in a folder, with an environment; "" and nil are ours.
func startEngineIn(r *Run, dir string, env []string, stdin, stdout, stderr *os.File, group bool) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, failf(ExitEngine, "cannot find the program's own file: %v", err)
	}
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, failf(ExitEngine, "cannot make the control channel: %v", err)
	}
	folder := r.Path
	if r.unrecorded() {
		folder = unrecorded
	}
	cmd := exec.Command(self, engineCommand, folder)
	cmd.Dir, cmd.Env = dir, env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	cmd.ExtraFiles = append([]*os.File{theirs}, r.shared(group)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: group}
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		ours.Close()
		return nil, failf(ExitEngine, "cannot start the engine: %v", err)
	}
	c := &child{cmd: cmd, control: ours, run: r}
	if group {
		c.group = cmd.Process.Pid
	}
	// An engine that is dead already says so by how it ended.
	_ = json.NewEncoder(ours).Encode(task{Program: r.Info.Program, Args: r.Info.Args, Options: r.Info.Engine, Screens: group})
	return c, nil
}

// startForeign starts any command with the given environment. With screens it is in a group
// that ends with us; without it is in ours, as a command of the shell, and is told to end
// where we end before it.
func startForeign(r *Run, argv, env []string, stdin, stdout, stderr *os.File, group bool) (*child, error) {
	return startForeignIn(r, "", argv, env, [3]*os.File{stdin, stdout, stderr}, group)
}

// startForeignIn does it in a folder; "" is ours.
func startForeignIn(r *Run, dir string, argv, env []string, std [3]*os.File, group bool) (*child, error) {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return nil, failf(ExitNoFile, "cannot run %s: %s; is it installed and on PATH?", argv[0], reason(errors.Unwrap(err)))
	}
	cmd := exec.Command(path, argv[1:]...)
	cmd.Args[0] = argv[0]
	cmd.Dir, cmd.Env = dir, env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = std[0], std[1], std[2]
	cmd.ExtraFiles = r.shared(group)
	c := &child{cmd: cmd, run: r}
	start := startTied
	if group {
		if c.leader, err = startLeader(r); err != nil {
			return nil, err
		}
		c.group = c.leader.pid()
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: c.group}
		start = (*exec.Cmd).Start
	}
	if err := start(cmd); err != nil {
		c.leader.release()
		return nil, failf(ExitNoFile, "cannot run %s: %s", argv[0], reason(err))
	}
	return c, nil
}

// shared is what a program under the screens inherits of its run: the lock, which
// says that the run is alive after the viewer has gone.
func (r *Run) shared(screens bool) []*os.File {
	if !screens {
		return nil
	}
	return []*os.File{r.lock}
}

// leave makes the child run on when the viewer ends, and notes that in its run.
func (c *child) leave() error {
	if c.controlled() {
		if _, err := c.send(ctl.Command{Verb: ctl.Leave}); err != nil {
			return err
		}
	}
	if c.pauser != nil {
		c.pauser.close()
	}
	c.leader.release()
	c.run.removeHooks()
	return c.run.leave(c.cmd.Process.Pid)
}

// socketPair makes the control channel; the child's end survives exec only as
// an extra file.
func socketPair() (ours, theirs *os.File, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, err
	}
	syscall.CloseOnExec(fds[0])
	syscall.CloseOnExec(fds[1])
	return os.NewFile(uintptr(fds[0]), "control"), os.NewFile(uintptr(fds[1]), "control"), nil
}

// controlled reports whether the program takes commands.
func (c *child) controlled() bool { return c.control != nil || c.pauser != nil }

// send writes a command to the engine and returns its id.
func (c *child) send(command ctl.Command) (int, error) {
	if !c.controlled() {
		return 0, fmt.Errorf("%s: only programs under tcdbg run and tcdbg exec --pause can be controlled", command.Verb)
	}
	command.ID = int(c.nextID.Add(1))
	if c.pauser != nil {
		return command.ID, c.pauser.send(command)
	}
	return command.ID, ctl.Send(c.control, command)
}

// signal sends a signal to the child, and to its group where that is not ours.
func (c *child) signal(s syscall.Signal) {
	pid := c.cmd.Process.Pid
	if c.group != 0 {
		_ = syscall.Kill(-c.group, s) // a child that is gone needs none
		if group, err := syscall.Getpgid(pid); err != nil || group == c.group {
			return
		}
	}
	_ = syscall.Kill(pid, s)
}

// wait waits for the child's end, writes run.json and returns how it ended.
func (c *child) wait() (ending, error) {
	err := c.cmd.Wait()
	c.leader.release() // what a command leaves running when it ends by itself is its own
	if c.control != nil {
		c.control.Close()
	}
	if c.pauser != nil {
		c.pauser.close()
	}
	c.run.removeHooks()
	e := endingOf(c.cmd.ProcessState, err)
	if f := c.run.fault(); f != nil {
		e = ending{State: Crashed, Code: ExitKernel, Signal: signalName(f.Signal), Crash: f.String()}
	}
	return e, c.run.finish(e)
}

// waitForwarding is wait in a viewer without screens: the keys of the terminal
// reach the child directly, signals sent to us are passed on.
func (c *child) waitForwarding() (ending, error) {
	sigs := make(chan os.Signal, 4)
	signal.Notify(sigs, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case s := <-sigs:
				// A terminal sends SIGINT and SIGQUIT to the whole group.
				if s == syscall.SIGTERM || s == syscall.SIGHUP || c.group != 0 {
					c.signal(s.(syscall.Signal))
				}
			}
		}
	}()
	e, err := c.wait()
	signal.Stop(sigs)
	close(done)
	return e, err
}

// endingOf reads how a process ended.
func endingOf(ps *os.ProcessState, err error) ending {
	if ps == nil {
		return ending{State: Crashed, Code: ExitEngine, Crash: fmt.Sprintf("cannot tell how the program ended: %v", err)}
	}
	ws, ok := ps.Sys().(syscall.WaitStatus)
	if ok && ws.Signaled() {
		name := signalName(ws.Signal())
		return ending{State: Killed, Code: exitSignal + int(ws.Signal()), Signal: name, Crash: "the program was ended by " + name}
	}
	switch code := ps.ExitCode(); code {
	case exitHangup: // it ended with its viewer
		return ending{State: Killed, Code: code, Signal: signalName(syscall.SIGHUP)}
	case ExitEngine:
		return ending{State: Crashed, Code: code, Crash: "the engine failed; its message is on standard error"}
	}
	return ending{State: Exited, Code: ps.ExitCode()}
}

// signalName is SIGSEGV and the like.
func signalName(s syscall.Signal) string {
	names := map[syscall.Signal]string{
		syscall.SIGHUP: "SIGHUP", syscall.SIGINT: "SIGINT", syscall.SIGQUIT: "SIGQUIT",
		syscall.SIGILL: "SIGILL", syscall.SIGTRAP: "SIGTRAP", syscall.SIGABRT: "SIGABRT", syscall.SIGBUS: "SIGBUS",
		syscall.SIGFPE: "SIGFPE", syscall.SIGKILL: "SIGKILL", syscall.SIGSEGV: "SIGSEGV",
		syscall.SIGPIPE: "SIGPIPE", syscall.SIGTERM: "SIGTERM",
	}
	if n := names[s]; n != "" {
		return n
	}
	return fmt.Sprintf("signal %d", int(s))
}

// shownLines is shown of each line.
func shownLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = shown(l)
	}
	return strings.Join(lines, "\n")
}

// shown is text of one line in which what could act on a terminal is escaped.
func shown(s string) string {
	return printable.Map(s, func(r rune, raw string) string {
		if r == '\t' {
			return raw
		}
		return printable.Spell(r, raw)
	})
}
