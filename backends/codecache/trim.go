package codecache

import (
	"io/fs"
	"slices"
	"strings"
	"time"
)

// This file keeps the folder below its limit: what was not used for the longest time goes.

// usedAgain is how old the mark of an entry's last use is before it is renewed.
const usedAgain = time.Hour

// list is what lies in the folder.
func (c *Cache) list() []fs.DirEntry {
	entries, err := fs.ReadDir(c.root.FS(), ".")
	if err != nil {
		return nil
	}
	return entries
}

// used marks an entry as used now: its time of change is that of its last use.
func (c *Cache) used(name string) {
	st, err := c.root.Lstat(name)
	if now := time.Now(); err == nil && now.Sub(st.ModTime()) > usedAgain {
		_ = c.root.Chtimes(name, now, now)
	}
}

// added counts an entry that has just been made and, where there are too many bytes,
// removes others until nine tenths of the limit are left.
func (c *Cache) added(name string, size int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bytes >= 0 && c.bytes+size <= c.limit {
		c.bytes += size
		return
	}
	files := c.files()
	c.bytes = 0
	for _, f := range files {
		c.bytes += f.Size()
	}
	if c.bytes <= c.limit {
		return
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, f := range files {
		if c.bytes <= c.limit/10*9 {
			return
		}
		if f.Name() != name && c.root.Remove(f.Name()) == nil {
			c.bytes -= f.Size()
		}
	}
}

// files are the entries, whole or not.
func (c *Cache) files() []fs.FileInfo {
	var out []fs.FileInfo
	for _, e := range c.list() {
		if !strings.HasSuffix(e.Name(), codeSuffix) && !strings.HasSuffix(e.Name(), planSuffix) {
			continue
		}
		if st, err := e.Info(); err == nil && st.Mode().IsRegular() {
			out = append(out, st)
		}
	}
	return out
}
