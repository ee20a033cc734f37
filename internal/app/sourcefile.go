package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"tcdbg/explain"
	"tcdbg/explain/rewrite"
)

// This file writes a fix into the user's source file, and takes it back.

// written is a fix that was written.
type written struct {
	name          string // as the trace calls the file
	path          string
	before, after string
	of            *feedState     // the run whose lines the hunks count
	hunks         []explain.Hunk // those of them that were written
}

// fixesOf are the fixes of the shown run that were written into a file, the first first.
func (f *feed) fixesOf(name string) []written {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []written
	for _, w := range f.fixes {
		if w.of == f.state && w.name == name {
			out = append(out, w)
		}
	}
	return out
}

// sourceOfRun is a file as the shown run read it: without the fixes that were written
// since. Where somebody else changed it after them it is what it is.
func (f *feed) sourceOfRun(name string) ([]string, error) {
	lines, err := f.Source(name)
	fixes := f.fixesOf(name)
	if n := len(fixes); err == nil && n > 0 && strings.Join(lines, "\n") == fixes[n-1].after {
		return strings.Split(fixes[0].before, "\n"), nil
	}
	return lines, err
}

// Apply implements tui.Feed. Several fixes of one run go into a file one after the other:
// each is moved by those before it, and goes where its lines are found.
func (f *feed) Apply(name string, hunks []explain.Hunk) error {
	if f.bundle != nil {
		return errors.New("a bundle has copies of the files: open the run itself")
	}
	var earlier []explain.Hunk
	for _, w := range f.fixesOf(name) {
		earlier = append(earlier, w.hunks...)
	}
	moved, err := rewrite.AfterFixes(hunks, earlier)
	if err != nil {
		return err
	}
	lines, err := f.Source(name)
	if err != nil {
		return err
	}
	after, err := rewrite.ApplyRewrite(lines, moved)
	if err != nil {
		return err
	}
	path, err := filepath.EvalSymlinks(f.Path(name)) // a link stays one: what it leads to is written
	if err != nil {
		return err
	}
	w := written{name, path, strings.Join(lines, "\n"), strings.Join(after, "\n"), f.now(), hunks}
	if err := backUp(path); err != nil {
		return err
	}
	if err := rewriteFile(path, w.after); err != nil {
		return err
	}
	f.mu.Lock()
	f.fixes = append(f.fixes, w)
	f.mu.Unlock()
	return nil
}

// Undo implements tui.Feed.
func (f *feed) Undo() (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := len(f.fixes)
	if n == 0 {
		return "", errors.New("no fix was written since tcdbg started")
	}
	w := f.fixes[n-1]
	now, err := os.ReadFile(w.path)
	if err != nil {
		return "", err
	}
	if string(now) != w.after {
		return "", fmt.Errorf("%s has changed since the fix was written", filepath.Base(w.name))
	}
	if err := rewriteFile(w.path, w.before); err != nil {
		return "", err
	}
	f.fixes = f.fixes[:n-1]
	return filepath.Base(w.name), nil
}

// rewriteFile gives a file a new text. Owner, mode and links stay: a file that only
// one name leads to, and that is ours, is replaced at once, so that whoever reads it
// finds the old text or the new one whole; any other one is written in place.
func rewriteFile(path, text string) error {
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	if replaceable(path, st) {
		err = replaceFile(path, text, st)
	} else {
		err = overwriteFile(path, text)
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %s", path, reason(err))
	}
	return nil
}

// replaceable says whether a new file in the place of this one is the same to all: one
// name, our user and group, no special bits, no extended attributes (access lists),
// in a folder where we can make files.
func replaceable(path string, st os.FileInfo) bool {
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok || sys.Nlink != 1 || int(sys.Uid) != os.Geteuid() || int(sys.Gid) != os.Getegid() || st.Mode() != st.Mode().Perm() {
		return false
	}
	if n, err := unix.Listxattr(path, nil); err == nil && n > 0 {
		return false
	}
	dir, err := os.Stat(filepath.Dir(path))
	return err == nil && dir.Mode()&os.ModeSetgid == 0 && syscall.Access(filepath.Dir(path), 2 /* W_OK */) == nil
}

func replaceFile(path, text string, st os.FileInfo) error {
	tmp, err := tempBeside(path, 0o600)
	if err != nil {
		return err
	}
	_, err = tmp.WriteString(text)
	if err == nil {
		err = tmp.Chmod(st.Mode().Perm())
	}
	if err == nil {
		err = tmp.Sync()
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		tmp.drop()
		return err
	}
	if err = tmp.name(path); err == nil {
		syncFolder(filepath.Dir(path))
	}
	return err
}

// syncFolder has the names in a folder written to the disk. Where that fails the new file
// is there all the same, and what a crash would leave is it or the old one, whole.
func syncFolder(path string) {
	dir, err := os.Open(path)
	if err != nil {
		return
	}
	defer dir.Close()
	_ = dir.Sync()
}

// overwriteFile writes into the file itself. The new text goes over the old one before
// the file is cut to its length: at no moment is the file empty. Where that fails, the old
// text is put back, which needs no room that the file did not have.
func overwriteFile(path, text string) error {
	before, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	err = put(file, text)
	if err != nil {
		if back := put(file, string(before)); back != nil {
			err = fmt.Errorf("%w; what it held before is in %s", err, backupsOf(path))
		}
	}
	return errors.Join(err, file.Close())
}

// put makes text all that a file holds.
func put(file *os.File, text string) error {
	_, err := file.WriteAt([]byte(text), 0)
	if err == nil {
		err = file.Truncate(int64(len(text)))
	}
	if err == nil {
		err = file.Sync()
	}
	return err
}
