package torch

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// TestSavedWholeOrNotAtAll: where writing fails, what was there is there still and nothing
// else is; where it does not, mode and link are as before.
func TestSavedWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "weights.pt"), filepath.Join(dir, "latest.pt")
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("weights.pt", link); err != nil {
		t.Fatal(err)
	}
	full := errors.New("no space left")
	fails := func(w io.Writer) error {
		_, _ = w.Write([]byte("half of it"))
		return full
	}
	for _, path := range []string{file, link, filepath.Join(dir, "new.pt")} {
		if err := saveFile(path, fails); !errors.Is(err, full) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if text, err := os.ReadFile(file); string(text) != "old" {
		t.Errorf("the file is %q, %v", text, err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 2 {
		t.Errorf("%v are there", entries)
	}
	x := Ones(3)
	if err := Save(x, link); err != nil {
		t.Fatal(err)
	}
	if err := SaveSafetensors(map[string]*Tensor{"x": x}, filepath.Join(dir, "a.safetensors")); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(link); to != "weights.pt" {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 || info.Size() < 100 {
		t.Errorf("%v, %v", info, err)
	}
	if v, err := Load(link); err != nil || v.(*Tensor).Sum().Item() != 3 {
		t.Errorf("%v, %v", v, err)
	}
	dangling := filepath.Join(dir, "next.pt")
	if err := os.Symlink("to be made.pt", dangling); err != nil {
		t.Fatal(err)
	}
	if err := Save(x, dangling); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "to be made.pt")); !bytes.HasPrefix(text, []byte("PK")) {
		t.Errorf("%.20q, %v", text, err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 5 {
		t.Errorf("%v are there", entries)
	}
}
