// Package procgroup is this process's process group: who is in it, and its end.
//
// It imports nothing of ours.
package procgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Others are the processes of this process's group but itself, those left out that have
// ended and nobody has waited for. Where there is no /proc there are none to see.
func Others() []int {
	var pids []int
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range stats {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		// PID (NAME) STATE PARENT GROUP ...; the name may hold anything.
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil || len(fields) < 3 || fields[0] == "Z" || fields[2] != fmt.Sprint(syscall.Getpgrp()) || pid == os.Getpid() {
			continue
		}
		pids = append(pids, pid)
	}
	return pids
}

// Kill kills the others, and those that they start meanwhile.
func Kill() {
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		pids := Others()
		if len(pids) == 0 {
			return
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
