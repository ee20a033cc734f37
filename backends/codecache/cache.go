// Package codecache keeps compiled code on disk between runs. What it holds is executed,
// so nothing is loaded that was not made by the same user from the same text: the folder
// is the user's alone and no link, each entry carries hashes of its bytes and of what it
// was made of, and both are compared before an entry is loaded.
//
// It imports the standard library alone. Open this file first, then folder.go (what is
// trusted of a folder), entry.go (the format), plans.go (what goes with code), lock.go (several processes), trim.go
// (the size), seed.go (a cache that begins with another's runtime library) and portable.go
// (all of it as one file, for another machine).
package codecache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Cache is a folder of shared objects. Several processes and goroutines may use it.
type Cache struct {
	dir   string
	root  *os.Root
	limit int64
	warn  func(format string, args ...any)

	mu     sync.Mutex
	bytes  int64           // of all entries, as far as this process knows; -1: not counted yet
	loaded map[string]bool // names of the entries that were loaded through it
	noted  map[string]bool // and of the notes that were read or kept
}

// DefaultLimit is how many bytes a cache holds before those go that were not used for the
// longest time.
const DefaultLimit = 1 << 30

// Open opens the cache in dir, an absolute path, and makes the folder where there is
// none. It refuses folders that are not the user's alone. A limit of 0 is the default.
// What happens to entries is told to warn.
func Open(dir string, limit int64, warn func(format string, args ...any)) (*Cache, error) {
	root, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	if limit == 0 {
		limit = DefaultLimit
	}
	c := &Cache{dir: dir, root: root, limit: limit, warn: warn, bytes: -1, loaded: map[string]bool{}, noted: map[string]bool{}}
	c.sweep()
	return c, nil
}

// Sweep removes what processes that are gone have left in the cache in dir, which it does
// not make.
func Sweep(dir string) {
	root, err := openTrusted(dir)
	if err != nil {
		return
	}
	defer func() { _ = root.Close() }()
	(&Cache{dir: dir, root: root}).sweep()
}

// Request is compiled code that somebody wants to load.
type Request struct {
	Kind string // what the name begins with: graph, Runtime
	// Parts are all that the code depends on: text, flags, compiler, processor.
	Parts []string
	// Build writes the shared object to out. dir is a folder for its other files, which
	// goes afterwards.
	Build func(dir, out string) error
	// Load loads the shared object at path. An error means that the file is no code.
	Load func(path string) error

	sum [32]byte // of the parts, once it was asked for
}

// Made is the hash of the parts, by which Found has the code loaded that Load has kept.
func (r *Request) Made() [32]byte { return r.made() }

// made is the hash of the parts.
func (r *Request) made() [32]byte {
	if r.sum == [32]byte{} {
		r.sum = made(r.Parts)
	}
	return r.sum
}

// Close gives the folder up.
func (c *Cache) Close() { _ = c.root.Close() }

// Dir is the folder.
func (c *Cache) Dir() string { return c.dir }

// Load loads what is asked for from the cache, or builds it. An entry that does not hold
// what it should, or that cannot be loaded, is deleted and built again. What cannot be
// loaded just after it was built is an error, and is not kept.
func (c *Cache) Load(r Request) (hit bool, err error) {
	sum := r.made()
	name := entryName(r.Kind, sum)
	defer func() {
		if err == nil {
			c.took(name)
		}
	}()
	if hit, err := c.loadEntry(name, sum, r.Load); hit || err != nil {
		return hit, err
	}
	unlock := c.lock(name)
	defer unlock()
	if hit, err := c.loadEntry(name, sum, r.Load); hit || err != nil { // another process was first
		return hit, err
	}
	if err := c.build(name, sum, r.Build); err != nil {
		return false, err
	}
	if err := r.Load(filepath.Join(c.dir, name)); err != nil {
		_ = c.root.Remove(name)
		return false, err
	}
	return false, nil
}

// Found loads the code of a kind that is made of parts with this hash, where it is there and whole.
func (c *Cache) Found(kind string, sum [32]byte, load func(path string) error) bool {
	name := entryName(kind, sum)
	hit, err := c.loadEntry(name, sum, load)
	if hit && err == nil {
		c.took(name)
	}
	return hit && err == nil
}

// Name is the file of the code of a kind that is made of parts with this hash.
func Name(kind string, sum [32]byte) string { return entryName(kind, sum) }

// took remembers that an entry was loaded or made.
func (c *Cache) took(name string) {
	c.mu.Lock()
	c.loaded[name] = true
	c.mu.Unlock()
}

// buildDir makes a folder of its own in which the file called name is built.
func (c *Cache) buildDir(name string) (string, error) {
	dir := buildPrefix + lockOf(name) + "-" + fmt.Sprint(os.Getpid(), "-", time.Now().UnixNano())
	return dir, c.root.Mkdir(dir, 0o700)
}

// Once builds what is asked for and loads it, whatever the cache holds, and keeps nothing.
func (c *Cache) Once(r Request) (hit bool, err error) {
	dir, err := c.buildDir(entryName(r.Kind, r.made()))
	if err != nil {
		return false, err
	}
	defer func() { _ = c.root.RemoveAll(dir) }()
	full := filepath.Join(c.dir, dir)
	out := filepath.Join(full, "out.so")
	if err := r.Build(full, out); err != nil {
		return false, err
	}
	return false, r.Load(out)
}

// loadEntry loads an entry that is there and whole.
func (c *Cache) loadEntry(name string, sum [32]byte, load func(string) error) (hit bool, err error) {
	err = c.verify(name, sum)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		if err = load(filepath.Join(c.dir, name)); err == nil {
			c.used(name)
			return true, nil
		}
	}
	c.warn("the cached code %s is not used (%v): it is built again", filepath.Join(c.dir, name), err)
	if err := c.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("the cache of compiled code: %w", err)
	}
	return false, nil
}

// build makes an entry: it appears by rename, whole or not at all.
func (c *Cache) build(name string, sum [32]byte, build func(dir, out string) error) error {
	dir, err := c.buildDir(name)
	if err != nil {
		return err
	}
	defer func() { _ = c.root.RemoveAll(dir) }()
	full := filepath.Join(c.dir, dir)
	if err := build(full, filepath.Join(full, "out.so")); err != nil {
		return err
	}
	size, err := c.seal(filepath.Join(dir, "out.so"), sum)
	if err != nil {
		return err
	}
	if err := c.root.Rename(filepath.Join(dir, "out.so"), name); err != nil {
		return err
	}
	c.added(name, size)
	return nil
}
