package app

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

// This file writes the files that commands and screens leave for the user. A folder may be
// one that somebody else packed, with links where we are about to write: what is new is made
// exclusively, what is replaced is replaced whole and at once, and no link is followed.

// outFile is a file while it is written. Nobody finds it under its name before keep.
type outFile struct {
	path string    // as the user named it
	file *os.File  // beside path, or path itself where that is a device or a pipe
	temp *tempFile // the file until keep; nil: path itself is written
	over bool      // another file goes
}

// createOut begins a file that is to be at path, in the place of what is there.
func createOut(path string) (*outFile, error) {
	st, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return besideOut(path, nil)
	case err != nil:
		return nil, err
	case st.Mode().IsRegular():
		return besideOut(path, st)
	case st.IsDir():
		return nil, syscall.EISDIR
	}
	if st.Mode()&fs.ModeSymlink != 0 && !ofSystem(path) {
		return nil, errors.New("is a link; name the file that it leads to")
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0) // a device, a pipe: what /dev/stdout is, or >(command)
	return &outFile{path: path, file: file}, err
}

// ofSystem reports whether a link is the system's, as /dev/stdout is.
func ofSystem(path string) bool {
	abs, err := filepath.Abs(path)
	return err == nil && (strings.HasPrefix(abs, "/dev/") || strings.HasPrefix(abs, "/proc/"))
}

// besideOut makes the file that will replace path; old is what is there, if anything.
func besideOut(path string, old fs.FileInfo) (*outFile, error) {
	mode := fs.FileMode(0o644)
	if old != nil {
		mode = old.Mode().Perm()
	}
	temp, err := tempBeside(path, mode)
	switch {
	case err == nil:
		return &outFile{path: path, file: temp.File, temp: temp, over: old != nil}, nil
	case errors.Is(err, fs.ErrPermission) && old != nil: // a file that is ours in a folder that is not
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC|syscall.O_NOFOLLOW, 0)
		return &outFile{path: path, file: file}, err
	}
	return nil, err
}

// Write implements io.Writer. Its errors name the file that the user knows.
func (o *outFile) Write(b []byte) (int, error) {
	n, err := o.file.Write(b)
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = &fs.PathError{Op: "write", Path: o.path, Err: pe.Err}
	}
	return n, err
}

// keep puts the file in its place where err, what writing it ended with, is nil; else
// nothing of it stays, and what was there before is there still.
func (o *outFile) keep(err error) error {
	if err == nil && o.over {
		err = o.worded(o.file.Sync())
	}
	if cerr := o.file.Close(); err == nil {
		err = o.worded(cerr)
	}
	switch {
	case o.temp == nil:
	case err == nil:
		err = o.worded(o.temp.name(o.path))
	default:
		o.temp.drop()
	}
	return err
}

func (o *outFile) worded(err error) error {
	if err == nil {
		return nil
	}
	return fileError("cannot write", o.path, err, "")
}

// writeOut writes what write writes to the file at path.
func writeOut(path string, write func(*outFile) error) error {
	o, err := createOut(path)
	if err != nil {
		return fileError("cannot write", path, err, "")
	}
	return o.keep(write(o))
}

// writeText writes a text to the file at path.
func writeText(path, text string) error {
	return writeOut(path, func(o *outFile) error {
		_, err := io.WriteString(o, text)
		return err
	})
}

// maxExports is how many files of one name are made: after screen.txt comes screen-2.txt.
const maxExports = 1000

// createNew writes a file of the name, or of that with a number, which was not there before,
// and returns its path. Nobody finds it before it is whole.
func createNew(dir, name, text string) (string, error) {
	whole, err := tempBeside(filepath.Join(dir, name), 0o644)
	if err == nil {
		defer whole.drop()
		_, err = whole.WriteString(text)
		if cerr := whole.Close(); err == nil {
			err = cerr
		}
	}
	if err != nil {
		return "", fileError("cannot write", filepath.Join(dir, name), err, "")
	}
	ext := filepath.Ext(name)
	for i := 1; i <= maxExports; i++ {
		path := filepath.Join(dir, name)
		if i > 1 {
			path = filepath.Join(dir, fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, ext), i, ext))
		}
		err := nameNew(whole.Name(), path, text)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", fileError("cannot write", path, err, "")
		}
		return path, nil
	}
	return "", failf(ExitWrite, "cannot write %s: there are %d of that name already", filepath.Join(dir, name), maxExports)
}

// nameNew gives a file a name that is free. Where the system has no links, the text is written
// to a file that is made for it.
func nameNew(whole, path, text string) error {
	err := os.Link(whole, path)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o644)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	if cerr := file.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		_ = os.Remove(path)
	}
	return err
}
