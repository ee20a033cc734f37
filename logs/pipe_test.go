//go:build unix

package logs

import (
	"fmt"
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

// TestPipesAndDevicesAreRefused: nobody may write to a pipe, and a device has no end. In a
// folder that is followed no less.
func TestPipesAndDevicesAreRefused(t *testing.T) {
	dir := t.TempDir()
	pipe, zero := filepath.Join(dir, "a.log"), filepath.Join(t.TempDir(), "b.log")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip("no named pipes here:", err)
	}
	if err := os.Symlink("/dev/zero", zero); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path, want string
		follow     bool
	}{
		{pipe, pipe + ": is a named pipe, not a regular file", false},
		{dir, pipe + ": is a named pipe, not a regular file", false},
		{dir, pipe + ": is a named pipe, not a regular file", true},
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
