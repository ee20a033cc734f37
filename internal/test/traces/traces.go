// Package traces opens traces for tests: saved ones, and ones that a test writes. Only
// tests import it; of ours it imports logs. There is one file.
package traces

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"tcdbg/logs"
)

// Files lists the traces below a folder; one of many ranks is a folder itself.
func Files(t testing.TB, root string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "ddp_train":
			out = append(out, path)
			return fs.SkipDir
		case strings.HasSuffix(path, ".zst"):
			out = append(out, path)
		}
		return nil
	})
	if err != nil || len(out) < 30 {
		t.Fatalf("%d traces: %v", len(out), err)
	}
	return out
}

// Unpacked is the text of a saved trace.
func Unpacked(t testing.TB, path string) []byte {
	t.Helper()
	packed, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	text, err := z.DecodeAll(packed, nil)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Open opens traces until the test ends.
func Open(t testing.TB, paths ...string) *logs.Store {
	t.Helper()
	return opened(t, paths, logs.Options{})
}

// OfText is the store of a log that is text.
func OfText(t testing.TB, text string) *logs.Store {
	t.Helper()
	return opened(t, []string{"-"}, logs.Options{Stdin: strings.NewReader(text)})
}

func opened(t testing.TB, paths []string, opt logs.Options) *logs.Store {
	t.Helper()
	st, err := logs.Open(paths, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return st
}

// Title is what a report of these traces is called.
func Title(paths ...string) string {
	return filepath.Base(strings.TrimSuffix(paths[0], ".zst"))
}

// Written is the path of a trace that emit writes, at times a millisecond apart.
func Written(t testing.TB, emit func(w *logs.Writer)) string {
	t.Helper()
	var b bytes.Buffer
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	emit(logs.NewWriter(&b, logs.WriterOptions{PID: 7, Now: func() time.Time { at = at.Add(time.Millisecond); return at }}))
	path := filepath.Join(t.TempDir(), "trace.log")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
