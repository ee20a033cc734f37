//go:build !linux

package app

import "os/exec"

// startTied starts a command. Here the system tells nobody of the end of a process: a
// command runs on when this one is killed.
func startTied(cmd *exec.Cmd) error { return cmd.Start() }
