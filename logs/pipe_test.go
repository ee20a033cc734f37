//go:build unix

package logs

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

const oneRecord = `V1121 12:00:00.000000 7 torch/a.py:1] {"artifact": {"name": "x", "encoding": "string"}, "has_payload": ` +
	`"d41d8cd98f00b204e9800998ecf8427e"}` + "\n"

// TestNamedPipe: a trace that comes through a pipe, as <(zcat trace.gz) names
// it, is read once and its payloads are still there.
func TestNamedPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, _ = w.WriteString(oneRecord)
	_ = w.Close()
	st, _ := readAll(t, Options{}, fmt.Sprintf("/dev/fd/%d", r.Fd()))
	if st.Len() != 1 || st.Entry(0).Name != "x" {
		t.Fatalf("%d records", st.Len())
	}
	if r, err := st.Record(0); err != nil || r.Place() != "torch/a.py:1" {
		t.Errorf("%v, %v", r, err)
	}
}

// TestPipesAndDevicesAreRefused: nobody may write to a pipe, and a device has no end.
func TestPipesAndDevicesAreRefused(t *testing.T) {
	dir := specialFiles(t)
	pipe, zero := filepath.Join(dir, "a.log"), filepath.Join(dir, "b.log")
	for _, c := range []struct {
		path, want string
		follow     bool
	}{
		{pipe, pipe + ": is a named pipe, not a regular file", false},
		{zero, zero + ": is a device, not a regular file", false},
		{zero, zero + ": is a device, not a regular file", true},
	} {
		st, err := Open([]string{c.path}, Options{Follow: c.follow})
		if err == nil {
			st.Close()
		}
		if err == nil || err.Error() != c.want {
			t.Errorf("%s, followed %v: %v", c.path, c.follow, err)
		}
	}
	st, err := Open([]string{dir}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if err := st.Read(t.Context(), func(*Record) {}); err == nil || err.Error() != pipe+": is a named pipe, not a regular file" {
		t.Errorf("a folder that has nothing else: %v", err)
	}
}

// specialFiles is a folder with a pipe, a device and an archive that is none.
func specialFiles(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "a.log"), 0o600); err != nil {
		t.Skip("no named pipes here:", err)
	}
	if err := os.Symlink("/dev/zero", filepath.Join(dir, "b.log")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/no/such/file", filepath.Join(dir, "c.log")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "d.log.gz"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestSpecialFilesArePassedOver: what cannot be opened in a folder does not keep from what
// can, and is told. In a folder that is followed no less.
func TestSpecialFilesArePassedOver(t *testing.T) {
	dir := specialFiles(t)
	if err := os.WriteFile(filepath.Join(dir, "e.log"), []byte(oneRecord), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, follow := range []bool{false, true} {
		st, err := Open([]string{dir}, Options{Follow: follow})
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		read := func() error { return st.Read(t.Context(), func(*Record) {}) }
		if follow {
			ctx, cancel := context.WithTimeout(t.Context(), 3*pollEvery)
			defer cancel()
			read = func() error { return st.Follow(ctx, func(*Record) {}, nil) }
		}
		if err := read(); err != nil || st.Len() != 1 {
			t.Errorf("followed %v: %d records, %v", follow, st.Len(), err)
		}
		got := map[string]string{}
		for _, s := range st.Sources() {
			if s.Unread {
				got[filepath.Base(s.Path)] = s.Err.Error()
			}
		}
		want := map[string]string{
			"a.log": "is a named pipe, not a regular file", "b.log": "is a device, not a regular file",
			"c.log": "no such file or directory", "d.log.gz": "is no gz archive",
		}
		if !maps.Equal(got, want) || len(st.Sources()) != 5 {
			t.Errorf("followed %v: %v of %d sources", follow, got, len(st.Sources()))
		}
	}
}

// TestFollowedPipe: one that the user names and follows is waited for.
func TestFollowedPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip("no named pipes here:", err)
	}
	st, err := Open([]string{path}, Options{Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	go func() {
		if w, err := os.OpenFile(path, os.O_WRONLY, 0); err == nil {
			_, _ = w.WriteString(oneRecord)
			_ = w.Close()
		}
	}()
	if err := st.Follow(t.Context(), func(*Record) {}, nil); err != nil || st.Len() != 1 {
		t.Errorf("%d records, %v", st.Len(), err)
	}
}
