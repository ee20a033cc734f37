package torch

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// This file writes the files that a program saves: whole or not at all.

// saveFile writes the file at path. What was there stays until the new one is complete,
// whatever ends the writing; a link leads to the file that is written, as in Python. Neither
// is synced: what a computer that loses its power keeps is up to the file system, as there.
func saveFile(path string, write func(io.Writer) error) error {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		path = to
	}
	mode := fs.FileMode(0o666) // less what the umask takes
	old, err := os.Stat(path)
	switch {
	case err == nil && !old.Mode().IsRegular(), errors.Is(err, fs.ErrNotExist) && isLink(path):
		return saveInPlace(path, write) // a device, a pipe; a link to what is not there yet
	case err == nil:
		mode = old.Mode().Perm()
		if f, err := os.OpenFile(path, os.O_WRONLY, 0); err != nil {
			return err // it is write-protected
		} else if err := f.Close(); err != nil {
			return err
		}
	}
	f, err := createBeside(path, mode)
	if errors.Is(err, fs.ErrPermission) && old != nil { // a file that is ours in a folder that is not
		return saveInPlace(path, write)
	}
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil && old != nil {
		err = f.Chmod(mode)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// createBeside makes a file in the folder of path.
func createBeside(path string, mode fs.FileMode) (*os.File, error) {
	dir, base := filepath.Split(path)
	for i := 0; ; i++ {
		name := filepath.Join(dir, "."+base[:min(len(base), 200)]+".saving-"+strconv.Itoa(os.Getpid())+"-"+strconv.Itoa(i))
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if !errors.Is(err, fs.ErrExist) || i > 1000 {
			return f, err
		}
	}
}

func saveInPlace(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	err = write(f)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}
