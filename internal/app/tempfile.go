package app

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// This file makes the files that take the place of others. Who is killed while it writes one leaves it;
// whoever writes the same file next removes it.

// tempMark is in the names of these files, after a dot and the name that they are to get.
const tempMark = ".tcdbg-"

// tempFile is a file beside the one whose place it takes. It is locked as long as its
// process lives and has not named it.
type tempFile struct {
	*os.File
	lock *os.File // the same open file: closing one of the two keeps the lock
}

// tempBeside makes a file beside path.
func tempBeside(path string, mode fs.FileMode) (*tempFile, error) {
	prefix := tempPrefix(path)
	sweepTemps(path)
	for {
		name := prefix + salt()
		file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, mode)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		t := &tempFile{File: file}
		if fd, err := syscall.Dup(int(file.Fd())); err == nil {
			syscall.CloseOnExec(fd)
			t.lock = os.NewFile(uintptr(fd), name)
			_ = syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB) // where there are no locks nothing is swept either
		}
		if st, err := os.Lstat(name); err == nil && same(file, st) {
			return t, nil
		}
		t.drop() // somebody has swept it before it was locked
	}
}

func same(file *os.File, st fs.FileInfo) bool {
	own, err := file.Stat()
	return err == nil && os.SameFile(own, st)
}

// name gives the file, which was closed, its name.
func (t *tempFile) name(path string) error {
	err := os.Rename(t.Name(), path)
	if err != nil {
		_ = os.Remove(t.Name())
	}
	t.unlock()
	return err
}

// drop removes the file.
func (t *tempFile) drop() {
	_ = os.Remove(t.Name())
	_ = t.Close() // it may be closed already
	t.unlock()
}

func (t *tempFile) unlock() {
	if t.lock != nil {
		_ = t.lock.Close()
	}
}

func tempPrefix(path string) string {
	dir, base := filepath.Split(path)
	return dir + "." + base[:min(len(base), 200)] + tempMark
}

// sweepTemps removes what processes have left that were killed while they wrote the file at
// path: regular files of ours that nobody has locked.
func sweepTemps(path string) {
	prefix := tempPrefix(path)
	dir := filepath.Dir(prefix)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), filepath.Base(prefix)) && e.Type().IsRegular() {
			sweepTemp(filepath.Join(dir, e.Name()))
		}
	}
}

func sweepTemp(name string) {
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	defer file.Close()
	st, err := file.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok || int(sys.Uid) != os.Geteuid() || syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return
	}
	_ = os.Remove(name)
}
