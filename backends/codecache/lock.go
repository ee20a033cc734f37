package codecache

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"time"
)

// This file lets several processes build one thing once. A lock is the system's, on one of
// a fixed number of files, so that it ends with its process, however that ends.

const (
	buildPrefix = "build-"
	lockPrefix  = "lock-"
	// patience is how long one waits for another's build; then one builds oneself.
	patience = 10 * time.Minute
)

// lockOf names the lock of an entry: two digits of its hash.
func lockOf(name string) string {
	_, hash, _ := strings.Cut(name, "-")
	return hash[:2]
}

// lock waits until nobody else builds an entry. Where there are no locks it goes on
// without: then two processes may build the same thing.
func (c *Cache) lock(name string) (unlock func()) {
	end := time.Now().Add(patience)
	for {
		f, err := c.tryLock(lockOf(name))
		switch {
		case err == nil:
			return func() { f.Close() }
		case !errors.Is(err, syscall.EWOULDBLOCK) || time.Now().After(end):
			return func() {}
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// tryLock takes a lock; the error is EWOULDBLOCK where somebody holds it.
func (c *Cache) tryLock(digits string) (*os.File, error) {
	f, err := c.root.OpenFile(lockPrefix+digits, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// sweep removes the build folders of processes that ended before they could. Who builds
// holds the lock that the folder's name tells.
func (c *Cache) sweep() {
	for _, e := range c.list() {
		rest, ok := strings.CutPrefix(e.Name(), buildPrefix)
		if !ok || len(rest) < 2 {
			continue
		}
		if f, err := c.tryLock(rest[:2]); err == nil {
			_ = c.root.RemoveAll(e.Name())
			f.Close()
		}
	}
}
