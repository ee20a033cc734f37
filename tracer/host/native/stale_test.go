package native

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// generated runs a generator into a folder of its own.
func generated(t *testing.T, name string, args ...string) {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("SKIPPED: staleness needs the go command")
	}
	cmd := exec.Command("go", append([]string{"run", "tcdbg/cmd/" + name, "-list", "packages.txt", "-o"}, args...)...)
	cmd.Env = append(os.Environ(), "GOFLAGS=") // -race, say, has files of its own
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// TestSymbolsFresh: the symbol tables are what cmd/gensym makes of the packages
// of this tree and release.
func TestSymbolsFresh(t *testing.T) {
	dir := t.TempDir()
	generated(t, "gensym", dir)
	fresh, _ := filepath.Glob(filepath.Join(dir, "sym_*.go"))
	have, _ := filepath.Glob("sym_*.go")
	if len(fresh) != len(have) {
		t.Errorf("%d files, fresh %d: run make generate", len(have), len(fresh))
	}
	for _, f := range fresh {
		want, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := os.ReadFile(filepath.Base(f))
		if !bytes.Equal(got, want) {
			t.Errorf("%s is stale: run make generate", filepath.Base(f))
		}
	}
}

// TestExportFresh is the same for the archive.
func TestExportFresh(t *testing.T) {
	file := filepath.Join(t.TempDir(), "export.zip")
	generated(t, "genexport", file)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want, got := entries(t, data), entries(t, Archive)
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s is stale: run make generate", name)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s is no longer made: run make generate", name)
		}
	}
}

func entries(t *testing.T, data []byte) map[string]string {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		out[f.Name] = string(text)
	}
	return out
}
