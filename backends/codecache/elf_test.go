package codecache

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A shared object that lacks its end, as one whose linker met a full disk and has not said so,
// is not kept, wherever it is cut.
func TestPartOfALibraryIsRefused(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler: ", err)
	}
	dir := t.TempDir()
	long := "void g(volatile double*p){" + strings.Repeat("*p=*p*3;", 100) + "}\n"
	source, lib := filepath.Join(dir, "a.c"), filepath.Join(dir, "a.so")
	if err := os.WriteFile(source, []byte("double table[512] = {1}; double f(int i) { return table[i]; }\n"+long), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(cc, "-shared", "-fPIC", "-o", lib, source).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	whole, err := os.ReadFile(lib)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(whole), "\x7fELF") {
		t.Skip("shared objects of this system are no ELF files")
	}
	if err := wholeELF(whole); err != nil {
		t.Errorf("the whole of it: %v", err)
	}
	for n := 4; n < len(whole); n += 1 + len(whole)/300 {
		if wholeELF(whole[:n]) == nil {
			t.Errorf("%d of %d bytes are taken for the whole", n, len(whole))
		}
	}
	if hole := withHole(t, whole, ".text", 256); wholeELF(hole) == nil {
		t.Error("a hole in its code is taken for code")
	}
	if hole := withHole(t, whole, ".data", 256); wholeELF(hole) != nil {
		t.Error("zeros in its data are taken for a hole")
	}
	c := open(t, filepath.Join(dir, "cache"), 0)
	_, err = c.Load(Request{
		Kind: "graph", Parts: []string{"a"},
		Build: func(_, out string) error { return os.WriteFile(out, whole[:len(whole)/2], 0o600) },
		Load:  func(string) error { t.Error("it was loaded"); return nil },
	})
	if err == nil || !strings.Contains(err.Error(), "wrote a part of a file") {
		t.Errorf("error %v", err)
	}
}

// withHole is a shared object whose section has its first n bytes missing.
func withHole(t *testing.T, whole []byte, section string, n uint64) []byte {
	t.Helper()
	f, err := elf.NewFile(bytes.NewReader(whole))
	if err != nil {
		t.Fatal(err)
	}
	s := f.Section(section)
	if s == nil || s.Size < n {
		t.Fatalf("%s has no %d bytes", section, n)
	}
	out := bytes.Clone(whole)
	clear(out[s.Offset : s.Offset+n])
	return out
}
