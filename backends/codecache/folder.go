package codecache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// This file is what is trusted of a folder. Who can write into it can have code of theirs
// executed: so it is the user's own, nobody else may write, and it is no link to elsewhere.

// DefaultDir is $XDG_CACHE_HOME/tcdbg, else ~/.cache/tcdbg. There is no other place: a
// folder that all users share is no place for code.
func DefaultDir() (string, error) {
	if d := os.Getenv("XDG_CACHE_HOME"); d != "" {
		if !filepath.IsAbs(d) {
			return "", fmt.Errorf("XDG_CACHE_HOME is %q, which is no absolute path", d)
		}
		return filepath.Join(d, "tcdbg"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("no folder for compiled code: neither XDG_CACHE_HOME nor HOME is set")
	}
	if !filepath.IsAbs(home) {
		return "", fmt.Errorf("HOME is %q, which is no absolute path", home)
	}
	return filepath.Join(home, ".cache", "tcdbg"), nil
}

// openFolder opens a folder for code, which it makes where there is none.
func openFolder(dir string) (*os.Root, error) {
	if !filepath.IsAbs(dir) {
		return nil, fmt.Errorf("the cache folder %q is no absolute path", dir)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	root, err := openTrusted(dir)
	if err != nil {
		return nil, err
	}
	// Whether the folder can be written is asked with a file that stays there anyway.
	f, err := root.OpenFile(lockPrefix+"00", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		_ = root.Close()
		return nil, err
	}
	f.Close()
	return root, nil
}

// openTrusted opens a folder that is there.
func openTrusted(dir string) (*os.Root, error) {
	st, err := os.Lstat(dir)
	if err != nil {
		return nil, err
	}
	if !st.IsDir() {
		return nil, fmt.Errorf("%s is no folder", dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	if err := trusted(root, dir, st); err != nil {
		_ = root.Close()
		return nil, err
	}
	return root, nil
}

// trusted sees that the folder that was opened is the one that was looked at, belongs to
// the user and can be written by nobody else; wider modes of the user's own are narrowed.
func trusted(root *os.Root, dir string, seen fs.FileInfo) error {
	st, err := root.Stat(".")
	if err != nil {
		return err
	}
	if !os.SameFile(st, seen) {
		return fmt.Errorf("%s was replaced while it was opened", dir)
	}
	if !mine(st) {
		return fmt.Errorf("%s belongs to another user", dir)
	}
	if st.Mode().Perm() != 0o700 {
		return root.Chmod(".", 0o700)
	}
	return nil
}

// mine reports whether a file belongs to the user whom this process acts for.
func mine(st fs.FileInfo) bool {
	s, ok := st.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}
