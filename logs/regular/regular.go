// Package regular opens files that somebody else may have put there: only regular ones, so
// that a named pipe does not hang, a device does not run on for ever, and neither is touched.
//
// It imports nothing of ours. There is one file.
package regular

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Error says what a file is that is not regular, or that it is too large.
type Error struct{ Path, Reason string }

func (e *Error) Error() string { return e.Path + ": " + e.Reason }

// Open opens a regular file to be read.
func Open(path string) (*os.File, error) {
	f, _, err := open(path, func(fs.FileMode) bool { return false })
	return f, err
}

// OpenNamed is Open for a path that the user has given: it may also be a pipe that is open in
// this process, as <(command) names one.
func OpenNamed(path string) (*os.File, error) {
	f, _, err := open(path, func(m fs.FileMode) bool { return m&fs.ModeNamedPipe != 0 && inherited(path) })
	return f, err
}

// Pipe reports whether a path leads to a named pipe.
func Pipe(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&fs.ModeNamedPipe != 0
}

// inherited reports whether a path is that of an open descriptor.
func inherited(path string) bool {
	path = filepath.Clean(path)
	return path == "/dev/stdin" || strings.HasPrefix(path, "/dev/fd/") || strings.HasPrefix(path, "/proc/self/fd/")
}

func open(path string, also func(fs.FileMode) bool) (*os.File, fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	flag := os.O_RDONLY | syscall.O_NONBLOCK // it may have become a pipe since
	if also(info.Mode()) {
		flag = os.O_RDONLY
	} else if err := refuse(path, info.Mode()); err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(path, flag, 0)
	if err != nil {
		return nil, nil, err
	}
	if info, err = f.Stat(); err == nil && !also(info.Mode()) {
		err = refuse(path, info.Mode())
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// refuse is the error of a file that is not regular.
func refuse(path string, m fs.FileMode) error {
	var what string
	switch {
	case m.IsRegular():
		return nil
	case m.IsDir():
		what = "a folder"
	case m&fs.ModeNamedPipe != 0:
		what = "a named pipe"
	case m&fs.ModeSocket != 0:
		what = "a socket"
	case m&fs.ModeDevice != 0:
		what = "a device"
	default:
		what = "a special file"
	}
	return &Error{path, "is " + what + ", not a regular file"}
}

// Read reads a regular file of at most limit bytes.
func Read(path string, limit int64) ([]byte, error) {
	f, info, err := open(path, func(fs.FileMode) bool { return false })
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if info.Size() > limit {
		return nil, tooLarge(path, limit)
	}
	text, err := io.ReadAll(io.LimitReader(f, limit+1)) // files of /proc say that they are empty
	if err == nil && int64(len(text)) > limit {
		err = tooLarge(path, limit)
	}
	if err != nil {
		return nil, err
	}
	return text, nil
}

func tooLarge(path string, limit int64) error {
	return &Error{path, fmt.Sprintf("is larger than %d MB", max(1, limit>>20))}
}
