package app

import (
	"os"
	"path/filepath"
	"testing"
)

// This file opens run folders that somebody else wrote.

// received makes a run folder whose run.json holds info.
func received(t *testing.T, info string) string {
	t.Helper()
	dir := t.TempDir()
	receivedFile(t, filepath.Join(dir, infoFile), info)
	if err := os.Mkdir(filepath.Join(dir, traceFile), 0o755); err != nil {
		t.Fatal(err)
	}
	receivedFile(t, filepath.Join(dir, engineLog), "")
	return dir
}

func receivedFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The folder of its program is one by an absolute path or none: names in the trace never
// mean files of the folder in which tcdbg happens to run.
func TestReceivedRunHasNoFolderOfOurs(t *testing.T) {
	for _, dir := range []string{"", ".", "..", "+!touch x/", "-c"} {
		run := received(t, `{"v":1,"id":"a","kind":"run","state":"exited","dir":"`+dir+`"}`)
		src, err := findTraces([]string{run}, false)
		if err != nil {
			t.Fatal(err)
		}
		f := &feed{root: src.root}
		if got, want := f.Path("+!id"), filepath.Join(run, "+!id"); got != want || src.run.dir() != run {
			t.Errorf("dir %q: %q, want %q", dir, got, want)
		}
	}
}
