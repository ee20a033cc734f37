package codecache

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNotes: a note is read back as it was written, only for what it is about, and not where somebody has changed it.
func TestNotes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	var said []string
	c, err := Open(dir, 0, func(format string, _ ...any) { said = append(said, format) })
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	about := []string{"a graph", "a processor"}
	if c.Note(about) != nil {
		t.Error("a note before any was kept")
	}
	if err := c.KeepNote(about, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if got := c.Note(about); string(got) != "{}" {
		t.Errorf("read %q", got)
	}
	if c.Note([]string{"a graph", "another processor"}) != nil {
		t.Error("a note on something else")
	}
	if err := c.KeepNote(about, make([]byte, maxNote)); err == nil {
		t.Error("a note of any size is kept")
	}
	for what, spoil := range map[string]func(path string) error{
		"changed":            func(path string) error { return os.WriteFile(path, []byte(strings.Repeat("0", 64)+"\n{}"), 0o600) },
		"writable by others": func(path string) error { return os.Chmod(path, 0o666) },
		"a link": func(path string) error {
			if err := os.Rename(path, path+".old"); err != nil {
				return err
			}
			return os.Symlink(path+".old", path)
		},
		"without a hash": func(path string) error { return os.WriteFile(path, []byte("{}"), 0o600) },
	} {
		said = nil
		if err := c.KeepNote(about, []byte("{}")); err != nil {
			t.Fatal(err)
		}
		if err := spoil(filepath.Join(dir, noteName(about))); err != nil {
			t.Fatal(err)
		}
		if c.Note(about) != nil || len(said) != 1 {
			t.Errorf("%s: it is used, or nothing is said: %q", what, said)
		}
	}
}

// TestClearTakesNotes, and so do too many of them.
func TestClearTakesNotes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	c, err := Open(dir, 0, func(string, ...any) {})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, s := range []string{"a", "b", "c"} {
		if err := c.KeepNote([]string{s}, []byte(s)); err != nil {
			t.Fatal(err)
		}
	}
	c.dropNotes(2)
	if left, _ := filepath.Glob(filepath.Join(dir, notePrefix+"*")); len(left) != 2 {
		t.Errorf("%d are left of 3, 2 are allowed", len(left))
	}
	if _, err := Clear(dir); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, notePrefix+"*")); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// TestNotesTravel: an archive of a cache, and of what a process used of it, has the notes; another machine takes none of it, and a
// note that somebody has changed is refused.
func TestNotesTravel(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	c, err := Open(dir, 0, func(string, ...any) {})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	about := []string{"a graph", "a processor"}
	if err := c.KeepNote(about, []byte(`{"winner": 2}`)); err != nil {
		t.Fatal(err)
	}
	var all, used bytes.Buffer
	if list, _, err := Export(dir, "m", &all); err != nil || len(list) != 1 || list[0].Kind != "tuned" {
		t.Fatal(list, err)
	}
	if list, err := c.ExportLoaded("m", &used); err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	for _, archive := range [][]byte{all.Bytes(), used.Bytes()} {
		to := filepath.Join(t.TempDir(), "other")
		if _, _, err := Import(to, "another machine", bytes.NewReader(archive), int64(len(archive))); !errors.Is(err, ErrOtherMachine) {
			t.Error(err)
		}
		added, _, err := Import(to, "m", bytes.NewReader(archive), int64(len(archive)))
		if err != nil || len(added) != 1 {
			t.Fatal(added, err)
		}
		o, err := Open(to, 0, func(format string, v ...any) { t.Errorf(format, v...) })
		if err != nil {
			t.Fatal(err)
		}
		if got := o.Note(about); string(got) != `{"winner": 2}` {
			t.Errorf("the note is %q", got)
		}
		o.Close()
	}
	broken := rezip(t, all.Bytes(), func(name string, content []byte) (string, []byte) {
		return name, bytes.Replace(content, []byte("winner\": 2"), []byte("winner\": 3"), 1)
	})
	if _, _, err := Import(filepath.Join(t.TempDir(), "x"), "m", bytes.NewReader(broken), int64(len(broken))); err == nil ||
		!strings.Contains(err.Error(), "is not as it was written") {
		t.Error(err)
	}
}
