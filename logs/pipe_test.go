//go:build unix

package logs

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestNamedPipe: a trace that comes through a pipe, as <(zcat trace.gz) names
// it, is read once and its payloads are still there.
func TestNamedPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip("no named pipes here:", err)
	}
	text := `V1121 12:00:00.000000 7 torch/a.py:1] {"artifact": {"name": "x", "encoding": "string"}, "has_payload": ` +
		`"d41d8cd98f00b204e9800998ecf8427e"}` + "\n"
	go func() {
		if w, err := os.OpenFile(path, os.O_WRONLY, 0); err == nil {
			_, _ = w.WriteString(text)
			_ = w.Close()
		}
	}()
	st, _ := readAll(t, Options{}, path)
	if st.Len() != 1 || st.Entry(0).Name != "x" {
		t.Fatalf("%d records", st.Len())
	}
	if r, err := st.Record(0); err != nil || r.Place() != "torch/a.py:1" {
		t.Errorf("%v, %v", r, err)
	}
}
