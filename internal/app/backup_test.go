package app

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestBackups wants what a file held before each fix kept, the newest hundred, and no fix
// written without.
func TestBackups(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	dir := t.TempDir()
	path := filepath.Join(dir, "model.go")
	text := "a\n\tif c {\n\t\tx\n\t}\nz\n"
	for i := range backupsKept + 3 {
		if err := os.WriteFile(path, fmt.Append(nil, text, i), 0o640); err != nil {
			t.Fatal(err)
		}
		if err := (&feed{root: dir}).Apply("model.go", neg); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := filepath.Glob(filepath.Join(state, "tcdbg/backups/*-model.go"))
	if err != nil || len(kept) != backupsKept {
		t.Fatalf("%d backups, %v", len(kept), err)
	}
	if got, err := os.ReadFile(kept[0]); err != nil || string(got) != fmt.Sprint(text, 3) {
		t.Errorf("the oldest backup holds %q, %v", got, err)
	}

	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_STATE_HOME", file)
	if err := (&feed{root: dir}).Apply("model.go", neg); err == nil {
		t.Error("a fix was written without a backup")
	}
	if got, _ := os.ReadFile(path); string(got) != text {
		t.Errorf("the file holds %q", got)
	}
}
