package journal

import (
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// This file is the files of a program that runs again: those that it reads must be as they
// were, those that it writes are others.

// files is what a program that runs again has written and removed. The caller holds Tape.mu.
type files struct {
	scratch string // folder
	gone    []string
	given   map[string]string // what the program calls a path below scratch
	known   map[string]known  // what was in the files that were read
}

// known is a file that was digested, and is as it was then.
type known struct {
	size  int64
	time  time.Time
	whole string
}

// digested is how large a file may be to be compared by what is in it; of larger ones the
// size and the time are compared.
const digested = 64 << 20

// Path is the path to use in place of one that the program gives to a function.
func (t *Tape) Path(p Policy, what, path string) string {
	switch p {
	case Read:
		return t.reads(what, path)
	case Remove:
		return t.removes(path)
	}
	return t.writes(path)
}

// Moves are the paths of a file that gets another name.
func (t *Tape) Moves(from, to string) (string, string) {
	if !t.again {
		return from, to
	}
	t.mu.Lock()
	abs, _ := filepath.Abs(from)
	own := t.files.at(abs)
	t.mu.Unlock()
	if own == "" {
		t.Lose("it renames " + from + ", which it has not made")
		return t.writes(from), t.writes(to)
	}
	return t.removes(from), t.writes(to)
}

// reads is the path to read in place of one that the program names. what is the call that
// reads, for the words.
func (t *Tape) reads(what, path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		abs = path
	}
	if !t.again {
		t.Put("file "+path, []byte(t.identity(abs)))
		return path
	}
	want, ok := t.Take("file " + path)
	if !ok {
		return path
	}
	at := path
	t.mu.Lock()
	if own := t.files.at(abs); own != "" {
		at, abs = own, own
		t.files.name(own, path)
	}
	t.mu.Unlock()
	if got := t.identity(abs); got != string(want) {
		t.Lose(fmt.Sprintf("%s reads %s, which is not what it was then", what, path))
	}
	return at
}

// writes is the path to write in place of one that the program names.
func (t *Tape) writes(path string) string {
	if !t.again {
		return path
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	own := filepath.Join(t.files.scratch, abs)
	t.files.name(own, path)
	_ = os.MkdirAll(filepath.Dir(own), 0o700) // a folder that is missing fails where it is used
	t.files.gone = slices.DeleteFunc(t.files.gone, func(g string) bool { return g == abs })
	return own
}

// removes is the path to remove in place of one that the program names.
func (t *Tape) removes(path string) string {
	own := t.writes(path)
	if t.again {
		if abs, err := filepath.Abs(path); err == nil {
			t.mu.Lock()
			t.files.gone = append(t.files.gone, abs)
			t.mu.Unlock()
			if _, err := os.Lstat(own); err != nil && t.then("well") {
				_ = os.WriteFile(own, nil, 0o600) // what was there before the program is removed in its place
			}
		}
	}
	return own
}

// Given is what the program calls a path that it was given another for.
func (t *Tape) Given(path string) string {
	if !t.again {
		return path
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if name, ok := t.files.given[path]; ok {
		return name
	}
	return strings.TrimPrefix(path, t.files.scratch)
}

func (f *files) name(own, given string) {
	if f.given == nil {
		f.given = map[string]string{}
	}
	f.given[own] = given
}

// then reports whether the next call ended so.
func (t *Tape) then(how string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.next < len(t.data.Entries) && string(t.data.Entries[t.next].Data) == how
}

// at is where a path that the program has written or removed is; "": it has not.
func (f *files) at(abs string) string {
	own := filepath.Join(f.scratch, abs)
	if _, err := os.Lstat(own); err == nil {
		return own
	}
	for _, g := range f.gone {
		if abs == g || strings.HasPrefix(abs, g+string(filepath.Separator)) {
			return own
		}
	}
	return ""
}

// identity says what is at a path, in a text that is the same for the same.
func (t *Tape) identity(path string) string {
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return "none"
	case st.IsDir():
		entries, err := os.ReadDir(path)
		if err != nil {
			return "folder"
		}
		return "folder " + strings.Join(names(entries), "/")
	case !st.Mode().IsRegular():
		return "device"
	case st.Size() > digested:
		return fmt.Sprintf("file %d %d", st.Size(), st.ModTime().UnixNano())
	}
	t.mu.Lock()
	k, ok := t.files.known[path]
	t.mu.Unlock()
	if ok && k.size == st.Size() && k.time.Equal(st.ModTime()) {
		return k.whole
	}
	whole := digestOf(path)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.files.known == nil {
		t.files.known = map[string]known{}
	}
	if time.Since(st.ModTime()) > settled {
		t.files.known[path] = known{st.Size(), st.ModTime(), whole}
	}
	return whole
}

// settled is how old a change must be for the next one to have another time.
const settled = 2 * time.Second

func digestOf(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return "unreadable"
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "unreadable"
	}
	return fmt.Sprintf("file %x", h.Sum(nil))
}

func names(entries []fs.DirEntry) []string {
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}
