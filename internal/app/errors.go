package app

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// This file is the table of exit codes, and errors as people read them: one
// line that says what, where and what to do.

// The exit codes of tcdbg itself. run and exec end with the program's own
// code; a program that died of signal n gives 128+n.
const (
	ExitOK     = 0
	ExitFound  = 1  // check: over a limit; diff: something got worse; try, fix: nothing is proven
	ExitPanic  = 2  // the Go program panicked, as under go run
	ExitUsage  = 64 // the command line: unknown command, flag, option, artifact
	ExitData   = 65 // the program does not compile, or the file is not a trace
	ExitNoFile = 66 // no such file, run or command
	ExitKernel = 70 // a compiled kernel faulted
	ExitEngine = 71 // tcdbg itself failed
	ExitWrite  = 73 // a folder or file of ours cannot be written
	exitSignal = 128
	exitHangup = exitSignal + 1 // the engine outlived its viewer
)

// exitCodes documents the codes in the help.
func exitCodes() string {
	return `Exit codes:
  0    success
  1    check: over a limit; diff --exit-code: something got worse; try, fix: nothing is proven
  2    the Go program panicked (as under go run)
  64   command line: unknown command, flag, option or log name
  65   the program does not compile, or the file is not a trace
  66   no such file, run or command
  70   a compiled kernel faulted; one line names graph and kernel
  71   tcdbg itself failed
  73   a run folder or output file cannot be written
  128+n the program died of signal n
run and exec end with the program's own code.
`
}

// failure is an error with its exit code.
type failure struct {
	code int
	text string
	bare bool // printed without "tcdbg: ": compiler output
}

func (f *failure) Error() string { return f.text }

// failf makes a failure.
func failf(code int, format string, args ...any) error {
	return &failure{code: code, text: fmt.Sprintf(format, args...)}
}

// usageFailure is an error of the command line, dataFailure one of what a file holds, or that there is none.
func usageFailure(err error) error { return failf(ExitUsage, "%v", err) }

func dataFailure(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return failf(ExitNoFile, "%v", err)
	}
	return failf(ExitData, "%v", err)
}

// fileError words an error of the file system: what, where, what to do.
func fileError(what, path string, err error, remedy string) error {
	code := ExitWrite
	if errors.Is(err, fs.ErrNotExist) && (what == "cannot run" || what == "cannot read") {
		code = ExitNoFile
	}
	text := fmt.Sprintf("%s %s: %s", what, path, reason(err))
	if remedy != "" {
		text += "; " + remedy
	}
	return failf(code, "%s", text)
}

// asFailure gives an error that no command has worded its code: what could not
// be written to a stream of ours, else a command line that cobra refused.
func asFailure(err error) *failure {
	var f *failure
	if errors.As(err, &f) {
		return f
	}
	var pe *fs.PathError
	if errors.As(err, &pe) && pe.Op == "write" {
		path := pe.Path
		if name, ok := map[string]string{"/dev/stdout": "standard output", "/dev/stderr": "standard error"}[path]; ok {
			path = name
		}
		return &failure{code: ExitWrite, text: "cannot write " + path + ": " + reason(err)}
	}
	return &failure{code: ExitUsage, text: usageText(err)}
}

// reason is the cause of a file error without its path, which the line has
// already.
func reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno.Error()
	}
	return err.Error()
}
