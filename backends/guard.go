package backends

import (
	"io"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"

	"tcdbg/backends/codecache"
	"tcdbg/backends/procgroup"
)

// This file sees that no compiler and no build folder outlive the process that wanted
// them, however that ends. A C compiler starts further processes, which nobody is told
// of; so all of them belong to one process group, led by a guard: a process that waits for
// the end of a pipe whose other end this one holds, and then ends its group.

// guard is this process's end.
type guard struct {
	command []string // empty: there is none, and compilers have groups of their own

	mu   sync.Mutex
	cmd  *exec.Cmd
	pipe io.Closer
}

// attributes puts a compiler that is about to start into the guard's group.
func (g *guard) attributes() *syscall.SysProcAttr {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.command) > 0 && g.cmd == nil {
		g.start()
	}
	if g.cmd == nil {
		return &syscall.SysProcAttr{Setpgid: true}
	}
	return &syscall.SysProcAttr{Setpgid: true, Pgid: g.cmd.Process.Pid}
}

// start starts the guard. Where that fails compilers have groups of their own.
func (g *guard) start() {
	cmd := exec.Command(g.command[0], g.command[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return
	}
	if err := cmd.Start(); err != nil {
		pipe.Close()
		return
	}
	g.cmd, g.pipe = cmd, pipe
}

// kill ends a compiler and all that it has started; with a guard, other compilers, too.
func (g *guard) kill(compiler *os.Process) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cmd == nil {
		_ = syscall.Kill(-compiler.Pid, syscall.SIGKILL)
		return
	}
	g.endLocked()
}

// end ends the guard with its group; the next compiler gets another one.
func (g *guard) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cmd != nil {
		g.endLocked()
	}
}

func (g *guard) endLocked() {
	_ = syscall.Kill(-g.cmd.Process.Pid, syscall.SIGKILL)
	g.pipe.Close()
	_ = g.cmd.Wait()
	g.cmd = nil
}

// Guard is the guard's own process: it waits for the end of r, ends all other processes
// of its group and removes what they have left in the cache folder.
func Guard(r io.Reader, dir string) {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	_, _ = io.Copy(io.Discard, r)
	procgroup.Kill()
	codecache.Sweep(dir)
}
