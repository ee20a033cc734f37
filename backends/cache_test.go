package backends

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tcdbg/backends/codecache"
	"tcdbg/internal/test"
	"tcdbg/tracer"
)

func TestUnwritableCacheWarnsOnce(t *testing.T) {
	needCompiler(t)
	var said bytes.Buffer
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	set := NewSet(Config{CacheDir: filepath.Join(file, "below"), Stderr: &said})
	b, _ := set.Get("inductor")
	m, in := barModule()
	for range 2 {
		run, err := b.Compile(&tracer.Request{Module: m, Example: in})
		if err != nil {
			t.Fatal(err)
		}
		if err := sameValues(run(in), m.Run(in), 1e-6); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(said.String(), "compiled code is not kept"); n != 1 || strings.Count(said.String(), "\n") != 1 {
		t.Errorf("warned %d times:\n%s", n, said.String())
	}
}

func TestNoCompilerIsSaidOnce(t *testing.T) {
	var said bytes.Buffer
	t.Setenv("PATH", t.TempDir())
	t.Setenv("CC", "")
	set := NewSet(Config{CacheDir: t.TempDir(), Stderr: &said})
	b, _ := set.Get("inductor")
	m, in := barModule()
	for range 2 {
		run, err := b.Compile(&tracer.Request{Module: m, Example: in})
		if err != nil {
			t.Fatal(err)
		}
		if err := sameValues(run(in), m.Run(in), 1e-6); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(said.String(), "in the interpreter"); n != 1 {
		t.Errorf("said %d times:\n%s", n, said.String())
	}
}

func TestUnknownBackendIsRefused(t *testing.T) {
	_, err := NewSet(Config{}).Get("tensorrt")
	if err == nil || !strings.Contains(err.Error(), "aot_eager, eager, inductor") {
		t.Errorf("error: %v", err)
	}
}

func TestModeIsRefusedByName(t *testing.T) {
	m, in := barModule()
	_, err := inductorAt(t, 0).Compile(&tracer.Request{Module: m, Example: in, Mode: "fastest"})
	if err == nil || !strings.Contains(err.Error(), "fastest") {
		t.Errorf("error: %v", err)
	}
}

// TestEqualGraphsShareCode compiles equal graphs under other numbers, in one process and
// then in another, and wants one entry.
func TestEqualGraphsShareCode(t *testing.T) {
	needCompiler(t)
	dir := seeded(t)
	for process := range 2 {
		b, err := NewSet(Config{CacheDir: dir, Threads: 2, Stderr: t.Output()}).Get("inductor")
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			m, in := barModule()
			m.G.Name = fmt.Sprint("__compiled_fn_", 7*process+i)
			run, err := b.Compile(&tracer.Request{Module: m, Example: in})
			if err != nil {
				t.Fatal(err)
			}
			if err := sameValues(run(in), m.Run(in), 1e-6); err != nil {
				t.Fatal(err)
			}
		}
	}
	if found, _ := filepath.Glob(filepath.Join(dir, "graph-*")); len(found) != 1 {
		t.Errorf("entries: %v", found)
	}
}

// TestDamagedCode flips bits of the code of a graph and of the runtime library and cuts
// them off: results stay right, and what is damaged is built again.
func TestDamagedCode(t *testing.T) {
	test.Long(t, "the runtime library is built again for each damage")
	needCompiler(t)
	dir := filepath.Join(t.TempDir(), "cache")
	m, in := barModule()
	want := m.Run(in)
	try := func() string {
		var said bytes.Buffer
		b, err := NewSet(Config{CacheDir: dir, Threads: 2, Stderr: &said}).Get("inductor")
		if err != nil {
			t.Fatal(err)
		}
		run, err := b.Compile(&tracer.Request{Module: m, Example: in})
		if err != nil {
			t.Fatal(err)
		}
		if err := sameValues(run(in), want, 1e-6); err != nil {
			t.Fatal(err)
		}
		return said.String()
	}
	try()
	for _, i := range test.Some(t, 2, []int{0, 1, 2, 3, 4, 5}) {
		files, err := filepath.Glob(filepath.Join(dir, "*.so"))
		if err != nil || len(files) != 2 {
			t.Fatalf("entries: %v, %v", files, err)
		}
		file := files[i%2]
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if i < 4 {
			text[(i+1)*len(text)/5] ^= 1 << i
		} else {
			text = text[:len(text)*(i-3)/3]
		}
		// Another file: what this process has loaded stays mapped.
		if err := errors.Join(os.Remove(file), os.WriteFile(file, text, 0o600)); err != nil {
			t.Fatal(err)
		}
		if said := try(); strings.Count(said, "is built again") != 1 {
			t.Errorf("damage %d of %s: it said %q", i, filepath.Base(file), said)
		}
		if said := try(); said != "" {
			t.Errorf("after it was built again: %q", said)
		}
	}
}

// seeded is a folder for compiled code with the runtime library alone, which the tests of one
// run share.
func seeded(t *testing.T) string {
	t.Helper()
	if err := NewSet(Config{CacheDir: sharedCache, Threads: 2}).engine().err; err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "cache")
	codecache.Seed(dir, sharedCache)
	return dir
}
