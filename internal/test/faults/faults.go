//go:build linux && amd64

// Package faults runs a program in which one system call fails: the n-th write, read,
// rename or such of it and of all that it starts, to files below given folders. It does so
// as a debugger, so the program is the real one and needs nothing for it.
//
// It imports nothing of ours. Open faults.go.
package faults

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Fault is which call fails, and with what.
type Fault struct {
	Call  string   // one of Kinds; "": none fails
	N     int      // which of them, from 1 on
	Errno error    // a syscall.Errno
	Under []string // folders whose files count
}

// Kinds are the kinds of calls.
func Kinds() []string { return slices.Sorted(maps.Keys(calls)) }

// calls are the kinds of calls, and where in their arguments the file is: a descriptor, or
// the number of a path's argument, whose folder's descriptor is before it (at) or is not.
var calls = map[string]map[uint64]file{
	"write":  {syscall.SYS_WRITE: {}, syscall.SYS_PWRITE64: {}, syscall.SYS_WRITEV: {}},
	"read":   {syscall.SYS_READ: {}, syscall.SYS_PREAD64: {}, syscall.SYS_READV: {}},
	"fsync":  {syscall.SYS_FSYNC: {}, syscall.SYS_FDATASYNC: {}},
	"rename": {syscall.SYS_RENAME: {named: true}, syscall.SYS_RENAMEAT: {named: true, at: true}, renameat2: {named: true, at: true}},
	"mkdir":  {syscall.SYS_MKDIR: {named: true}, syscall.SYS_MKDIRAT: {named: true, at: true}},
	"open":   {syscall.SYS_OPEN: {named: true}, syscall.SYS_OPENAT: {named: true, at: true}},
	"remove": {syscall.SYS_UNLINK: {named: true}, syscall.SYS_UNLINKAT: {named: true, at: true}, syscall.SYS_RMDIR: {named: true}},
}

const renameat2 = 316

type file struct{ named, at bool }

// Result is how a program ended.
type Result struct {
	Counts         map[string]int // how many calls of each kind could fail
	Failed         string         // the call that did, "" where there were not so many
	Code           int            // exit code; of a signal: 128 and its number
	Stdout, Stderr string
	Hung           bool // it was killed for taking too long
}

// limit is how long a program may take.
const limit = 2 * time.Minute

// Run runs a command line with an environment and the fault. It skips the test aloud where
// processes cannot be traced.
func Run(t *testing.T, args, env []string, f Fault) Result {
	t.Helper()
	done := make(chan Result)
	go func() {
		runtime.LockOSThread() // a tracer is a thread; this one ends with the goroutine
		defer close(done)
		if r, ok := trace(t, args, env, f); ok {
			done <- r
		}
	}()
	r, ok := <-done
	if !ok {
		t.Skip("processes cannot be traced here: errors of the disk are not tested")
	}
	return r
}

// tracer is one run.
type tracer struct {
	Fault
	seen  map[int]bool // threads
	fails map[int]bool // threads in the call that fails
	Result
}

func trace(t *testing.T, args, env []string, f Fault) (Result, bool) {
	tr := &tracer{Fault: f, seen: map[int]bool{}, fails: map[int]bool{}}
	tr.Counts = map[string]int{}
	var out [2]*os.File
	for i := range out {
		file, err := os.CreateTemp(t.TempDir(), "out")
		if err != nil {
			t.Error(err)
			return Result{}, false
		}
		defer file.Close()
		out[i] = file
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Error(err)
		return Result{}, false
	}
	defer null.Close()
	p, err := os.StartProcess(args[0], args, &os.ProcAttr{
		Env: lastOnes(env), Files: []*os.File{null, out[0], out[1]}, Sys: &syscall.SysProcAttr{Ptrace: true},
	})
	if err != nil {
		t.Log(err)
		return Result{}, false
	}
	watch := time.AfterFunc(limit, func() { _ = p.Kill() })
	ok := tr.follow(p.Pid)
	tr.Hung = !watch.Stop()
	_ = p.Release()
	for i, to := range []*string{&tr.Stdout, &tr.Stderr} {
		text, _ := os.ReadFile(out[i].Name())
		*to = string(text)
	}
	return tr.Result, ok
}

// lastOnes leaves out what an environment says again later.
func lastOnes(env []string) []string {
	last := map[string]int{}
	for i, e := range env {
		name, _, _ := strings.Cut(e, "=")
		last[name] = i
	}
	var out []string
	for i, e := range env {
		if name, _, _ := strings.Cut(e, "="); last[name] == i {
			out = append(out, e)
		}
	}
	return out
}

// options of the tracer: all that the program starts is followed, and ends with us.
const options = syscall.PTRACE_O_TRACESYSGOOD | syscall.PTRACE_O_TRACECLONE | syscall.PTRACE_O_TRACEFORK |
	syscall.PTRACE_O_TRACEVFORK | syscall.PTRACE_O_TRACEEXEC | exitKill

const (
	exitKill     = 0x100000
	ownChildren  = 0x20000000 // __WNOTHREAD: no process that another goroutine waits for
	syscallStop  = syscall.SIGTRAP | 0x80
	beforeReturn = ^uint64(syscall.ENOSYS) + 1 // in rax when a call begins
)

// follow waits for the ends of the program and of all that it has started.
func (tr *tracer) follow(first int) bool {
	begun := false
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, syscall.WALL|ownChildren, nil)
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil: // none is left
			return begun
		}
		if ws.Exited() || ws.Signaled() {
			if pid == first {
				tr.Code = ws.ExitStatus()
				if ws.Signaled() {
					tr.Code = 128 + int(ws.Signal())
				}
			}
			continue
		}
		if !ws.Stopped() {
			continue
		}
		if !begun {
			if syscall.PtraceSetOptions(pid, options) != nil {
				return false
			}
			begun = true
		}
		_ = syscall.PtraceSyscall(pid, tr.stopped(pid, ws))
	}
}

// stopped looks at a thread that has stopped, and returns the signal that it is to get.
func (tr *tracer) stopped(pid int, ws syscall.WaitStatus) int {
	first := !tr.seen[pid]
	tr.seen[pid] = true
	switch sig := ws.StopSignal(); {
	case sig == syscallStop:
		tr.call(pid)
	case sig == syscall.SIGTRAP, first && sig == syscall.SIGSTOP: // the tracer's own
	default:
		return int(sig)
	}
	return 0
}

// call looks at a thread that begins or ends a call.
func (tr *tracer) call(pid int) {
	var regs syscall.PtraceRegs
	if syscall.PtraceGetRegs(pid, &regs) != nil {
		return
	}
	if tr.fails[pid] {
		delete(tr.fails, pid)
		regs.Rax = -uint64(tr.Errno.(syscall.Errno))
		_ = syscall.PtraceSetRegs(pid, &regs)
		return
	}
	if regs.Rax != beforeReturn {
		return
	}
	for kind, numbers := range calls {
		if which, ok := numbers[regs.Orig_rax]; ok {
			tr.begins(pid, &regs, kind, which.path(pid, &regs))
		}
	}
}

// begins looks at a call of one of the kinds.
func (tr *tracer) begins(pid int, regs *syscall.PtraceRegs, kind, path string) {
	if !tr.counts(path) {
		return
	}
	if tr.Counts[kind]++; kind != tr.Call || tr.Counts[kind] != tr.N {
		return
	}
	tr.Failed = fmt.Sprintf("%s of %s", kind, path)
	regs.Orig_rax = ^uint64(0) // no such call
	tr.fails[pid] = syscall.PtraceSetRegs(pid, regs) == nil
}

func (tr *tracer) counts(path string) bool {
	for _, dir := range tr.Under {
		if path == dir || strings.HasPrefix(path, dir+"/") {
			return true
		}
	}
	return false
}

// path is the file of a call.
func (f file) path(pid int, regs *syscall.PtraceRegs) string {
	if !f.named {
		return descriptor(pid, regs.Rdi)
	}
	if !f.at {
		return text(pid, regs.Rdi)
	}
	path := text(pid, regs.Rsi)
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(descriptor(pid, regs.Rdi), path)
}

// descriptor is what a process has open. The working folder is none that counts.
func descriptor(pid int, fd uint64) string {
	path, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, int32(fd)))
	return path
}

// text is a C string of a process.
func text(pid int, addr uint64) string {
	var b [4096]byte
	n, _ := syscall.PtracePeekData(pid, uintptr(addr), b[:])
	if i := bytes.IndexByte(b[:n], 0); i >= 0 {
		return string(b[:i])
	}
	return ""
}
