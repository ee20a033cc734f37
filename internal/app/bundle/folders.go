package bundle

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"
)

// This file keeps the temporary folders that bundles are unpacked to. Each is locked by its
// process: what a process that was killed has left is removed by the next that opens one.

// folderName is how they are called.
const folderName = "tcdbg-bundle-"

// settled is how old a folder is that its process has locked for certain, if it ever does.
const settled = time.Minute

// folders are those of this process.
type folders struct {
	sync.Mutex
	held []*os.File // locked
}

var opened folders

// make makes a folder that CleanUp removes.
func (f *folders) make() (string, error) {
	sweep(os.TempDir())
	dir, err := os.MkdirTemp("", folderName)
	if err != nil {
		return "", err
	}
	held, err := os.Open(dir)
	if err != nil {
		return "", err
	}
	_ = syscall.Flock(int(held.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) // without locks it is not swept while it is young
	f.Lock()
	defer f.Unlock()
	f.held = append(f.held, held)
	return dir, nil
}

// sweep removes the folders in temp whose processes are gone.
func sweep(temp string) {
	left, err := filepath.Glob(filepath.Join(temp, folderName+"*"))
	if err != nil {
		return
	}
	for _, dir := range left {
		st, err := os.Lstat(dir)
		if err != nil || !st.IsDir() || time.Since(st.ModTime()) < settled {
			continue
		}
		if sys, ok := st.Sys().(*syscall.Stat_t); !ok || int(sys.Uid) != os.Geteuid() {
			continue
		}
		held, err := os.Open(dir)
		if err != nil {
			continue
		}
		if syscall.Flock(int(held.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = os.RemoveAll(dir) // ours, made by MkdirTemp
		}
		_ = held.Close()
	}
}

// CleanUp removes what the bundles that were opened have been unpacked to.
func CleanUp() { opened.remove(func(string) bool { return true }) }

// remove removes those of our folders that are meant.
func (f *folders) remove(meant func(dir string) bool) {
	f.Lock()
	defer f.Unlock()
	f.held = slices.DeleteFunc(f.held, func(held *os.File) bool {
		if !meant(held.Name()) {
			return false
		}
		_ = os.RemoveAll(held.Name()) // ours, made by MkdirTemp
		_ = held.Close()
		return true
	})
}
