package app

import (
	"io"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"tcdbg/backends/procgroup"
)

// This file sees that a foreign program under the screens ends with them, also where they
// are killed. The program is put into the process group of a leader, a process of ours that
// waits for the end of a pipe whose other end the viewer holds, and then ends its group.

// leader is the viewer's end. A nil one leads nothing.
type leader struct {
	cmd  *exec.Cmd
	pipe io.WriteCloser
	once sync.Once
}

// startLeader starts the leader of a run's program.
func startLeader(r *Run) (*leader, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, failf(ExitEngine, "cannot find the program's own file: %v", err)
	}
	cmd := exec.Command(self, leaderCommand, r.Path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	pipe, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, failf(ExitEngine, "cannot start the leader of the program's process group: %v", err)
	}
	return &leader{cmd: cmd, pipe: pipe}, nil
}

func (l *leader) pid() int { return l.cmd.Process.Pid }

// release ends the leader and leaves the group running.
func (l *leader) release() {
	if l != nil {
		l.once.Do(func() {
			_ = l.cmd.Process.Kill()
			l.gone()
		})
	}
}

// end ends the leader with its group.
func (l *leader) end() {
	if l != nil {
		l.once.Do(l.gone)
	}
}

func (l *leader) gone() {
	l.pipe.Close()
	_ = l.cmd.Wait()
}

// leaderMain is `tcdbg leader RUNFOLDER`: it waits for the end of r, tells all other
// processes of its group to end, and ends those that do not.
func leaderMain(r io.Reader) {
	signal.Ignore(
		syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU,
	)
	_, _ = io.Copy(io.Discard, r)
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGCONT} { // a stopped one is to hear it
		_ = syscall.Kill(0, s)
	}
	for end := time.Now().Add(patience); len(procgroup.Others()) > 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			_ = syscall.Kill(0, syscall.SIGKILL) // this one, too
		}
	}
}
