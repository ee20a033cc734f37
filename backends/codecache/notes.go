package codecache

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"syscall"
)

// This file keeps notes beside compiled code: what was chosen for a graph by timing. A note is text behind the hash of
// it, in a file that is named after what it is a note on; it is not executed, but what it says is bounded and checked as
// an entry is.

const (
	notePrefix = "tuned-"
	noteSuffix = ".json"
	maxNote    = 4 << 20
	maxNotes   = 2000
)

// noteName is the file of the note on what has these parts.
func noteName(parts []string) string {
	sum := made(parts)
	return notePrefix + hex.EncodeToString(sum[:16]) + noteSuffix
}

// Note is what was kept for what has these parts; nil where there is nothing, or nothing that can be trusted.
func (c *Cache) Note(parts []string) []byte {
	name := noteName(parts)
	content, err := c.readNote(name)
	if err == nil {
		c.used(name)
		c.note(name)
		return content
	}
	if !errors.Is(err, fs.ErrNotExist) {
		c.warn("what was chosen by timing is not used (%v): it is chosen again", err)
		_ = c.root.Remove(name)
	}
	return nil
}

// note remembers that a note was used or made.
func (c *Cache) note(name string) {
	c.mu.Lock()
	c.noted[name] = true
	c.mu.Unlock()
}

var noteFile = regexp.MustCompile("^" + notePrefix + "[0-9a-f]{32}[.]json$")

// isNote reports whether a file is named as a note.
func isNote(name string) bool { return noteFile.MatchString(name) }

func (c *Cache) readNote(name string) ([]byte, error) {
	all, err := c.wholeNote(name)
	if err != nil {
		return nil, err
	}
	return noteOf(name, all)
}

// wholeNote reads the file of a note that is the user's alone, and whole.
func (c *Cache) wholeNote(name string) ([]byte, error) {
	link, err := c.root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !link.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", name)
	}
	f, err := c.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !os.SameFile(link, st) || !mine(st) || st.Mode().Perm()&0o022 != 0:
		return nil, fmt.Errorf("%s is not the user's alone", name)
	}
	all, err := io.ReadAll(io.LimitReader(f, maxNote+1))
	if err != nil {
		return nil, err
	}
	_, err = noteOf(name, all)
	return all, err
}

// noteOf is the text of a note, whose file has the hash that it should.
func noteOf(name string, all []byte) ([]byte, error) {
	sum, content, ok := bytes.Cut(all, []byte("\n"))
	want := sha256.Sum256(content)
	if !ok || len(all) > maxNote || string(sum) != hex.EncodeToString(want[:]) {
		return nil, fmt.Errorf("%s is not as it was written", name)
	}
	return content, nil
}

// KeepNote keeps a note: whole or not at all.
func (c *Cache) KeepNote(parts []string, content []byte) error {
	if len(content) > maxNote-100 {
		return fmt.Errorf("a note of %d bytes is too large", len(content))
	}
	name := noteName(parts)
	dir, err := c.buildDir(name)
	if err != nil {
		return err
	}
	defer func() { _ = c.root.RemoveAll(dir) }()
	sum := sha256.Sum256(content)
	part := dir + "/" + name
	if err := c.root.WriteFile(part, append([]byte(hex.EncodeToString(sum[:])+"\n"), content...), 0o600); err != nil {
		return err
	}
	if err := c.root.Rename(part, name); err != nil {
		return err
	}
	c.note(name)
	c.dropNotes(maxNotes)
	return nil
}

// dropNotes removes the notes that were not used for the longest time until so many are left.
func (c *Cache) dropNotes(most int) {
	notes := c.notes()
	slices.SortFunc(notes, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, n := range notes[:max(0, len(notes)-most)] {
		_ = c.root.Remove(n.Name())
	}
}

// notes are the files of all notes.
func (c *Cache) notes() []fs.FileInfo {
	var notes []fs.FileInfo
	for _, e := range c.list() {
		if !isNote(e.Name()) {
			continue
		}
		if st, err := e.Info(); err == nil && st.Mode().IsRegular() {
			notes = append(notes, st)
		}
	}
	return notes
}
