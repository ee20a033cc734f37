package app

import (
	"os/exec"
	"runtime"
	"syscall"
)

// startTied starts a command that is told to end (SIGTERM) when this process ends before
// it, however that ends.
func startTied(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // what the system watches is the thread that starts it
		started <- cmd.Start()
		select {} // so that it lasts as long as the process
	}()
	return <-started
}
